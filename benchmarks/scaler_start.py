"""From the start of the scaler to the first decision of the last LoadAutoscaler, and the requests to kube-apiserver meanwhile.

Then kube-apiserver is restarted, until all watches are open again and every LoadAutoscaler may have been reconciled. All targets have
the replicas for their metrics when the scaler starts, as after a restart: nothing is scaled.
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
from testbed.programs import LoadlineProcess
from testbed.waiting import elapse

AUTOSCALERS = 10_000
SCRAPE_SECONDS = 15.0
DEADLINE_SECONDS = 180.0
REPORTED_KINDS = 6
DECIDED = "loadline_scaler_desired_replicas"
RESTART = "restart of kube-apiserver"
COPY = re.compile(r'msg="(\S+) is (not kept up to date:|kept up to date again)')


def run(options: Options, report: Report) -> Result:
    """Measure. Raises AssertionError if a target was scaled, or not every autoscaler is decided before the deadline."""
    count = options.autoscalers or AUTOSCALERS
    started = adapter_environment(
        count, SCRAPE_SECONDS, with_pods=True, autoscalers=LOAD_AUTOSCALER
    )
    with started as found:
        report(f"logs: {found.bench.directory}; {count} autoscalers")
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
    period = f"--sync-period={PERIOD_SECONDS:g}s"
    for number in range(options.rounds):
        before, observed = _requests_by_kind(found), _Requests(found)
        began = time.monotonic()
        with found.bench.start_scaler(period, f"--concurrent-syncs={WORKERS}", *flags) as program:
            figures = _started(found, program, observed, began)
            report(f"start: {shown(figures)}")
            sent = _requests_by_kind(found)
            sent.subtract(before)
            report(", ".join(f"{kind} {count}" for kind, count in sent.most_common(REPORTED_KINDS)))
            yield Round(case="start", program=LOADLINE, number=number, figures=figures)
            figures = _after_restart_of_apiserver(found, program)
            report(f"{RESTART}: {shown(figures)}")
            yield Round(case=RESTART, program=LOADLINE, number=number, figures=figures)


def _requests_by_kind(found: AdapterEnvironment) -> Counter[str]:
    """The requests that kube-apiserver has counted, as `GET benchtargets/scale`."""
    port = found.bench.cluster.api_port
    text = scrape.exposition(port, found.bench.targets.tls)
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
            counts[f"{labels['verb']} {resource}"] += int(float(line.rpartition(" ")[2]))
    return counts


class _Requests:
    """Those that kube-apiserver has counted, over time."""

    def __init__(self, found: AdapterEnvironment) -> None:
        self._port = found.bench.cluster.api_port
        self._tls = found.bench.targets.tls
        self._observed: list[tuple[float, float]] = []
        self.observe()

    def observe(self) -> None:
        """Count them now."""
        total = scrape.total(self._port, "apiserver_request_total", tls=self._tls)
        self._observed.append((time.monotonic(), total))

    def figures(self) -> Figures:
        """How many there were, and the most in a second."""
        return {
            "apiserver_requests_per_second_max": max(
                (n - m) / (later - at) for (at, m), (later, n) in itertools.pairwise(self._observed)
            ),
            "apiserver_requests": self._observed[-1][1] - self._observed[0][1],
        }


def _started(
    found: AdapterEnvironment, program: LoadlineProcess, observed: _Requests, began: float
) -> Figures:
    while time.monotonic() < began + DEADLINE_SECONDS:
        elapse(1.0)
        observed.observe()
        text = scrape.exposition(program.port, found.bench.targets.tls)
        seconds = time.monotonic() - began
        if text.count(f"\n{DECIDED}{{") == found.count:
            break
    else:
        raise AssertionError(f"not every autoscaler was decided in {DEADLINE_SECONDS:g} s")
    assert found.bench.targets.have_expected_replicas(), "the start changed correct replicas"
    return {
        "last_decision_seconds": seconds,
        **observed.figures(),
        "cpu_seconds": proc.cpu_seconds(program.process.pid),
        "rss_mib": proc.rss_mib(program.process.pid),
    }


def _after_restart_of_apiserver(found: AdapterEnvironment, program: LoadlineProcess) -> Figures:
    """From when kube-apiserver is ready again."""
    tls = found.bench.targets.tls

    def reconciles() -> float:
        return scrape.total(program.port, "loadline_scaler_reconciliations_total", tls=tls)

    elapse(2 * PERIOD_SECONDS)
    stopping, cpu_seconds = time.monotonic(), proc.cpu_seconds(program.process.pid)
    logged = len(program.process.log())
    found.bench.cluster.restart_apiserver()
    ready, before, observed = time.monotonic(), reconciles(), _Requests(found)
    watched_seconds = None
    while time.monotonic() < ready + DEADLINE_SECONDS:
        elapse(1.0)
        observed.observe()
        seconds = time.monotonic() - ready
        # The last line of each resource; it may be interrupted for one reason after the other.
        copies = dict(COPY.findall(program.process.log()[logged:]))
        if not copies or any(each.startswith("not") for each in copies.values()):
            watched_seconds = None
        elif watched_seconds is None:
            watched_seconds = seconds
        if watched_seconds and reconciles() >= before + found.count:
            break
    else:
        raise AssertionError(f"a watch is not open again after {DEADLINE_SECONDS:g} s")
    assert found.bench.targets.have_expected_replicas(), "the restart changed correct replicas"
    return {
        "unavailable_seconds": ready - stopping,
        "watches_open_seconds": watched_seconds,
        "all_reconciled_seconds": seconds,
        **observed.figures(),
        "cpu_seconds": proc.cpu_seconds(program.process.pid) - cpu_seconds,
        "rss_mib": proc.rss_mib(program.process.pid),
    }
