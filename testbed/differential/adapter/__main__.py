"""`python -m testbed.differential.adapter`: run the comparison and print every difference.

`--against prometheus-adapter` compares prometheus-adapter with itself, which shows what is random in it.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from testbed.cluster import Cluster
from testbed.differential.adapter import adapter_comparison, cluster_and_series
from testbed.differential.adapter.adapter_instances import LOADLINE, UPSTREAM
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.soak.regressions import Regression, record, today


def main() -> int:
    """Exit code 1 if there are unexplained differences."""
    arguments = _parser().parse_args()
    directory = Path(tempfile.mkdtemp(prefix="loadline-differential-"))
    with (
        Cluster(directory=directory / "cluster") as cluster,
        Exporter() as exporter,
        PrometheusServer(
            PrometheusOptions(scrape_interval_seconds=0.5), directory=directory / "prometheus"
        ) as prometheus,
    ):
        prometheus.add_target(exporter.target)
        cluster_and_series.expose(exporter)
        cluster_and_series.install(cluster)
        comparison = adapter_comparison.Comparison(
            cluster=cluster,
            prometheus=prometheus,
            at_unix_seconds=adapter_comparison.frozen_moment(prometheus),
            directory=directory,
            seed=arguments.seed,
            against=arguments.against,
        )
        unexplained = 0
        for name, count in adapter_comparison.shares(arguments.requests).items():
            if arguments.configuration and name not in arguments.configuration:
                continue
            started = time.monotonic()
            if arguments.faults:
                for fault, found in comparison.under_faults(name, arguments.faults).items():
                    unexplained_here = [each for each in found if each.deviation is None]
                    print(f"{name} while Prometheus {fault}: {len(unexplained_here)} unexplained")
                    for each in unexplained_here[: arguments.examples]:
                        print(f"- {each}")
                continue
            result = comparison.run(name, count)
            unexplained += len(result.unexplained)
            if arguments.record and result.unexplained:
                case = f"{arguments.seed} {name} {count}"
                finding = str(result.unexplained[0].request)
                record(Regression(source="adapter", case=case, finding=finding, date=today()))
            print(f"{name}: {result.request_count} requests, {time.monotonic() - started:.1f} s")
            print(
                f"  statuses {result.statuses}; different {len(result.different)}, "
                f"unexplained {len(result.unexplained)}",
                flush=True,
            )
            print(f"  deviations {result.deviations}")
            for group in grouped(result.unexplained)[: arguments.show]:
                print(f"  {len(group)} of this form:")
                for each in group[: arguments.examples]:
                    print(f"- {each}", flush=True)
    print(f"logs: {directory}")
    return 1 if unexplained else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", choices=(LOADLINE, UPSTREAM), default=LOADLINE)
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--configuration", action="append", choices=tuple(adapter_comparison.WEIGHTS)
    )
    parser.add_argument(
        "--show", type=int, default=40, help="number of groups to print (%(default)s)"
    )
    parser.add_argument(
        "--examples", type=int, default=3, help="number of examples per group (%(default)s)"
    )
    parser.add_argument(
        "--faults",
        type=int,
        default=0,
        help="send so many requests per fault of Prometheus instead",
    )
    parser.add_argument(
        "--record", action="store_true",
        help="record a configuration with differences, so that `make test` repeats the requests",
    )  # fmt: skip
    return parser


def grouped(
    found: Sequence[adapter_comparison.Difference],
) -> list[list[adapter_comparison.Difference]]:
    """Group the differences by their paths, the most frequent first."""
    groups: dict[tuple[object, ...], list[adapter_comparison.Difference]] = {}
    for difference in found:
        places = {re.sub(r"\d+", "", each.split(":")[0]) for each in difference.places}
        key = (difference.upstream.status, difference.loadline.status, *sorted(places))
        groups.setdefault(key, []).append(difference)
    return sorted(groups.values(), key=len, reverse=True)


if __name__ == "__main__":
    sys.exit(main())
