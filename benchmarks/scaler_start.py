"""From the start of the scaler to the first decision of the last LoadAutoscaler, and the requests to kube-apiserver meanwhile.

All targets have the replicas for their metrics when the scaler starts, as after a restart: nothing is scaled.
"""

import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator

from benchmarks.instruments import proc, scrape
from benchmarks.instruments.adapter_environment import AdapterEnvironment, adapter_environment
from benchmarks.instruments.bench_targets import LOAD_AUTOSCALER
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from benchmarks.scaler_sizes import PERIOD_SECONDS, shown
from benchmarks.scaler_syncs import LOADLINE, WORKERS, Environment
from testbed.waiting import elapse

AUTOSCALERS = 10_000
SCRAPE_SECONDS = 15.0
DEADLINE_SECONDS = 180.0
REPORTED_KINDS = 6
DECIDED = "loadline_scaler_desired_replicas"


def run(options: Options, report: Report) -> Result:
    """Measure. Raises AssertionError if a target was scaled, or not every autoscaler is decided before the deadline."""
    count = options.autoscalers or AUTOSCALERS
    with adapter_environment(count, SCRAPE_SECONDS, with_pods=True) as found:
        report(f"logs: {found.bench.directory}; {count} autoscalers")
        found.bench.apply_crds()
        found.bench.targets.replace_autoscalers(LOAD_AUTOSCALER)
        # Reading the series of all autoscalers each second would cost more than the start.
        connection = ("--adapter-connection=auto", "--stream-metrics=auto")
        flags = (*found.scaler_flags, *connection, "--autoscaler-metrics=false")
        environment = Environment(
            found.bench,
            count,
            metrics_pid=found.adapter.process.process.pid,
            set_changing=lambda changing: found.load.reset(changing=changing),
            flags={LOADLINE: flags},
        )
        environment.turn(LOADLINE, PERIOD_SECONDS, options.seconds)
        rounds = tuple(_rounds(found, flags, options, report))
    return Result(
        benchmark="scaler_start",
        setting={"autoscalers": count, "pods": 3 * count, "period s": PERIOD_SECONDS},
        reference=LOADLINE,
        rounds=rounds,
    )


def _rounds(
    found: AdapterEnvironment, flags: tuple[str, ...], options: Options, report: Report
) -> Iterator[Round]:
    for number in range(options.rounds):
        before = _requests_by_kind(found)
        figures = _started(found, flags)
        report(shown(figures))
        sent = _requests_by_kind(found)
        sent.subtract(before)
        report(", ".join(f"{kind} {count}" for kind, count in sent.most_common(REPORTED_KINDS)))
        yield Round(case="start", program=LOADLINE, number=number, figures=figures)


def _requests_by_kind(found: AdapterEnvironment) -> Counter[str]:
    """The requests that kube-apiserver has counted, as `GET benchtargets/scale`."""
    port = int(found.bench.cluster.api_url.rsplit(":", 1)[1])
    text = scrape.exposition(port, found.bench.targets.tls)
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
            counts[f"{labels['verb']} {resource}"] += int(float(line.rpartition(" ")[2]))
    return counts


def _started(found: AdapterEnvironment, flags: tuple[str, ...]) -> Figures:
    bench, tls = found.bench, found.bench.targets.tls
    api_port = int(bench.cluster.api_url.rsplit(":", 1)[1])

    def requests() -> tuple[float, float]:
        return time.monotonic(), scrape.total(api_port, "apiserver_request_total", tls=tls)

    observed = [requests()]
    began = time.monotonic()
    period = f"--sync-period={PERIOD_SECONDS:g}s"
    with bench.start_scaler(period, f"--concurrent-syncs={WORKERS}", *flags) as program:
        while time.monotonic() < began + DEADLINE_SECONDS:
            elapse(1.0)
            observed.append(requests())
            text = scrape.exposition(program.port, tls)
            seconds = time.monotonic() - began
            if text.count(f"\n{DECIDED}{{") == found.count:
                break
        else:
            raise AssertionError(f"not every autoscaler was decided in {DEADLINE_SECONDS:g} s")
        cpu_seconds = proc.cpu_seconds(program.process.pid)
        rss_mib = proc.rss_mib(program.process.pid)
        assert bench.targets.have_expected_replicas(), "the start changed correct replicas"
    return {
        "last_decision_seconds": seconds,
        "apiserver_requests_per_second_max": max(
            (n - m) / (later - at) for (at, m), (later, n) in itertools.pairwise(observed)
        ),
        "apiserver_requests": observed[-1][1] - observed[0][1],
        "cpu_seconds": cpu_seconds,
        "rss_mib": rss_mib,
    }
