"""`python -m testbed.differential.adapter`: the comparison by hand, with every difference printed.

`--against peer` compares the real one with itself, which shows what it leaves to chance.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from testbed.cluster import Cluster
from testbed.differential.adapter import run, world
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer


def main() -> int:
    """Exit code 1 when something differs that nobody meant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", choices=("ours", "peer"), default="ours")
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configuration", action="append", choices=tuple(run.WEIGHTS))
    parser.add_argument("--show", type=int, default=40, help="how many groups to print")
    parser.add_argument("--examples", type=int, default=3, help="how many of each group")
    parser.add_argument("--faults", type=int, default=0, help="ask so many while Prometheus fails")
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="loadline-differential-"))
    with (
        Cluster(directory=directory / "cluster") as cluster,
        Exporter() as exporter,
        PrometheusServer(
            PrometheusOptions(scrape_interval_seconds=0.5), directory=directory / "prometheus"
        ) as prometheus,
    ):
        prometheus.add_target(exporter.target)
        world.expose(exporter)
        world.install(cluster)
        comparison = run.Comparison(
            cluster=cluster,
            prometheus=prometheus,
            at_unix_seconds=run.frozen_moment(prometheus),
            directory=directory,
            seed=asked.seed,
            against=asked.against,
        )
        unexplained = 0
        for name, count in run.shares(asked.requests).items():
            if asked.configuration and name not in asked.configuration:
                continue
            started = time.monotonic()
            if asked.faults:
                for fault, found in comparison.under_faults(name, asked.faults).items():
                    unmeant = [each for each in found if each.deviation is None]
                    print(f"{name} while Prometheus {fault}: {len(unmeant)} not meant")
                    for each in unmeant[: asked.examples]:
                        print(f"- {each}")
                continue
            outcome = comparison.run(name, count)
            unexplained += len(outcome.unexplained)
            print(f"{name}: {outcome.asked} asked, {time.monotonic() - started:.1f} s")
            print(
                f"  statuses {outcome.statuses}; different {len(outcome.different)}, "
                f"not meant {len(outcome.unexplained)}",
                flush=True,
            )
            print(f"  meant {outcome.deviations}")
            for alike in grouped(outcome.unexplained)[: asked.show]:
                print(f"  {len(alike)} like this:")
                for pair in alike[: asked.examples]:
                    print(f"- {pair}", flush=True)
    print(f"logs: {directory}")
    return 1 if unexplained else 0


def grouped(pairs: Sequence[run.Difference]) -> list[list[run.Difference]]:
    """Differences in the same places together, the most frequent first."""
    groups: dict[tuple[object, ...], list[run.Difference]] = {}
    for pair in pairs:
        places = {re.sub(r"\d+", "", each.split(":")[0]) for each in pair.places}
        key = (pair.theirs.status, pair.ours.status, *sorted(places))
        groups.setdefault(key, []).append(pair)
    return sorted(groups.values(), key=len, reverse=True)


if __name__ == "__main__":
    sys.exit(main())
