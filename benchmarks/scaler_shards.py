"""What thousands of LoadAutoscalers cost one replica, and several that share the namespaces.

As the charts install both programs: metrics are streamed from the real adapter. While nothing changes, the CPU time and the memory of
all replicas are added up. Every target has the replicas for its metric from the beginning, and a turn counts only if it still has them
in the end.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.instruments import proc, scrape
from benchmarks.instruments.adapter_environment import AdapterEnvironment, adapter_environment
from benchmarks.instruments.bench_targets import LOAD_AUTOSCALER
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from benchmarks.scaler_hanging_metric import DELAY_BUCKETS, quantile
from benchmarks.scaler_sizes import PERIOD_SECONDS, shown
from scaler.cluster.shards.assignment import SHARDS
from testbed.programs import LoadlineProcess
from testbed.waiting import elapse, until

AUTOSCALERS = 30_000
SCRAPE_SECONDS = 15.0
SECONDS_MIN = 2 * PERIOD_SECONDS
DEADLINE_SECONDS = 300.0
AUTOSCALERS_PER_SECOND_MIN = 30
EVENTS_PAUSE_SECONDS = 5.0
ON_TIME_SECONDS = 1.0
ONE, THREE = "one replica", "three replicas with shards"
REPLICAS = {ONE: 1, THREE: 3}
# Reading the series of all autoscalers would cost more than everything else.
FLAGS = (
    "--adapter-connection=auto",
    "--stream-metrics=auto",
    "--autoscaler-metrics=false",
    f"--sync-period={PERIOD_SECONDS:g}s",
)


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded or AssertionError for wrong replicas."""
    count = options.autoscalers or AUTOSCALERS
    started = adapter_environment(
        count, SCRAPE_SECONDS, with_pods=True, autoscalers=LOAD_AUTOSCALER
    )
    with started as found:
        report(f"logs: {found.bench.directory}; {count} autoscalers")
        rounds: list[Round] = []
        found.bench.targets.scale()
        for number in range(options.rounds):
            for program in options.programs or REPLICAS:
                figures = _turn(found, program, max(options.seconds, SECONDS_MIN))
                report(f"{program}: {shown(figures)}")
                case = f"{count} autoscalers, {3 * count} pods"
                rounds.append(Round(case=case, program=program, number=number, figures=figures))
    return Result(
        benchmark="scaler_shards",
        setting={"rounds": options.rounds, "period s": PERIOD_SECONDS},
        reference=ONE,
        rounds=tuple(rounds),
    )


def _turn(found: AdapterEnvironment, program: str, seconds: float) -> Figures:
    targets, count = found.bench.targets, found.count
    deadline_seconds = DEADLINE_SECONDS + count / AUTOSCALERS_PER_SECOND_MIN
    started_at = time.monotonic()
    with _replicas(found, REPLICAS[program]) as replicas:
        enough = replicas.reconciles() + 3 * count
        until(
            lambda: replicas.reconciles() >= enough,
            what=f"{program} to reconcile each several times",
            deadline_seconds=deadline_seconds,
            every_seconds=1.0,
        )
        until(
            lambda: _is_on_time(replicas),
            what=f"{program} to reconcile each in its period",
            deadline_seconds=deadline_seconds,
            every_seconds=0.0,
        )
        settled_seconds = time.monotonic() - started_at
        _wait_for_events(found, deadline_seconds)
        figures = {"settled_seconds": settled_seconds, **_measured(found, replicas, seconds)}
        assert targets.have_expected_replicas(), f"{program} changed correct replicas"
    targets.check_statuses()
    return figures


def _is_on_time(replicas: "_Replicas") -> bool:
    """Whether the reconciles of a whole period begin when they are due, and not after the backlog of the start."""
    before = replicas.delays()
    elapse(PERIOD_SECONDS)
    return quantile(before, replicas.delays(), 0.99) <= ON_TIME_SECONDS


def _wait_for_events(found: AdapterEnvironment, deadline_seconds: float) -> None:
    """Those of the scales are written at a limited rate, long after the scales."""
    port, counts = found.bench.cluster.api_port, [-1.0]

    def are_written() -> bool:
        metric, having = "apiserver_request_total", ('resource="events"',)
        # While it is busy, kube-apiserver may not respond in time.
        with contextlib.suppress(ValueError):
            counts.append(scrape.total(port, metric, having=having, tls=found.bench.targets.tls))
            return counts[-1] == counts[-2]
        return False

    until(
        are_written,
        what="the events to be written",
        deadline_seconds=deadline_seconds,
        every_seconds=EVENTS_PAUSE_SECONDS,
    )


def _measured(found: AdapterEnvironment, replicas: "_Replicas", seconds: float) -> Figures:
    pids = {
        "apiserver_cores": (found.bench.cluster.components["kube-apiserver"].pid,),
        "adapter_cores": (found.adapter.process.process.pid,),
        "own_cores": replicas.pids,
    }

    def cpu_seconds() -> dict[str, float]:
        return {name: sum(map(proc.cpu_seconds, some)) for name, some in pids.items()}

    reconciles, delays = replicas.reconciles(), replicas.delays()
    reads, rounds, spent = replicas.reads(), _rounds(found), cpu_seconds()
    elapse(seconds)
    cores = {name: (each - spent[name]) / seconds for name, each in cpu_seconds().items()}
    memory = [proc.rss_mib(pid) for pid in replicas.pids]
    evaluated = {name: each - rounds[name] for name, each in _rounds(found).items()}
    return {
        "reconciles_per_second": (replicas.reconciles() - reconciles) / seconds,
        "delay_p99_seconds": quantile(delays, replicas.delays(), 0.99),
        "requests_per_second": (replicas.reads() - reads) / seconds,
        "round_seconds": evaluated["sum"] / max(1.0, evaluated["count"]),
        **cores,
        "rss_mib": sum(memory),
        "rss_mib_max": max(memory),
    }


def _rounds(found: AdapterEnvironment) -> dict[str, float]:
    """How long the adapter has evaluated streamed metrics, and how often."""
    return {
        name: scrape.total(
            found.adapter.port,
            f"loadline_adapter_round_duration_seconds_{name}",
            tls=found.bench.targets.tls,
        )
        for name in ("sum", "count")
    }


class _Replicas:
    """Running scalers."""

    def __init__(self, found: AdapterEnvironment, programs: list[LoadlineProcess]) -> None:
        self._tls = found.bench.targets.tls
        self._ports = [each.port for each in programs]
        self.pids = tuple(each.process.pid for each in programs)

    def total(self, metric: str, *, having: tuple[str, ...] = ()) -> float:
        found = (scrape.total(port, metric, having=having, tls=self._tls) for port in self._ports)
        return sum(found)

    def reconciles(self) -> float:
        return self.total("loadline_scaler_reconciliations_total")

    def reads(self) -> float:
        """Metrics that were requested, since the stream had no response that is new enough."""
        return self.total("loadline_scaler_metrics_api_requests_total", having=('result="sent"',))

    def delays(self) -> dict[str, float]:
        found: Counter[str] = Counter()
        for port in self._ports:
            found.update(scrape.by_label(port, DELAY_BUCKETS, "le", tls=self._tls))
        return dict(found)


@contextmanager
def _replicas(found: AdapterEnvironment, count: int) -> Iterator[_Replicas]:
    flags = (*found.scaler_flags, *FLAGS, *(("--sharding",) if count > 1 else ()))
    with ExitStack() as stack:
        programs = [stack.enter_context(found.bench.start_scaler(*flags)) for _ in range(count)]
        replicas = _Replicas(found, programs)
        if count > 1:
            until(
                lambda: replicas.total("loadline_scaler_shards_owned") == SHARDS,
                what="every shard to be owned",
                deadline_seconds=DEADLINE_SECONDS,
            )
        yield replicas
