"""The cost of a reconcile, compared with kube-controller-manager's HPA controller.

The same HorizontalPodAutoscalers on custom resources, with constant metrics from an aggregated API, are scaled by
either controller in turns. Before each turn every target is set to one replica. A turn counts only if every target
reaches the replicas for its metric and keeps them.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import MappingProxyType

import msgspec

from benchmarks.instruments import metrics_api, proc, scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from benchmarks.scaler_hanging_metric import DELAY_BUCKETS, quantile
from testbed.cluster_options import HPA_CONTROLLERS, ClusterOptions, HPAOptions
from testbed.waiting import elapse, until

UPSTREAM, THROTTLED, LOADLINE = (
    "kube-controller-manager",
    "kube-controller-manager, default throttling",
    "Loadline",
)
AUTOSCALERS = 200
WORKERS = 20
DEFAULT_QPS, DEFAULT_WORKERS = 20, 5
LIFTED_QPS = 10_000
NO_FLAGS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
DEADLINE_SECONDS = 180.0  # a throttled program needs more than a minute


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A sync period, and the programs that run with it."""

    name: str
    period_seconds: float
    programs: tuple[str, ...]


CASES = (
    # Shorter than either can keep: the rate is the maximum.
    Case(name="maximum rate", period_seconds=0.1, programs=(UPSTREAM, LOADLINE, THROTTLED)),
    # The same work for both: the cost per reconcile is comparable.
    Case(name="every 2 s", period_seconds=2.0, programs=(UPSTREAM, LOADLINE)),
    # The default. Use it with thousands of autoscalers: `--autoscalers 10000`.
    Case(name="every 15 s", period_seconds=15.0, programs=(UPSTREAM, LOADLINE)),
)


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A running controller."""

    pid: int
    syncs: Callable[[], float]  # the number of reconciles, by its own counter
    delays: Callable[[], dict[str, float]] = (
        dict  # buckets of the delay of reconciles, if it has that
    )


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded if a controller does not reach the right replicas."""
    rounds: list[Round] = []
    with ExitStack() as undo:
        count = options.autoscalers or AUTOSCALERS
        environment = Environment(undo.enter_context(bench_cluster(count)), count)
        report(f"logs: {environment.directory}; {count} autoscalers")
        for case in CASES:
            for number in range(options.rounds):
                for name in case.programs:
                    if name == THROTTLED and number:
                        continue  # its throughput does not vary
                    figures = environment.turn(name, case.period_seconds, options.seconds)
                    report(
                        f"{case.name}: round {number + 1}, {name}: {figures['syncs_per_second']:.0f}/s"
                    )
                    rounds.append(
                        Round(case=case.name, program=name, number=number, figures=figures)
                    )
    return Result(
        benchmark="scaler_syncs",
        setting={
            "rounds": options.rounds,
            "seconds per turn": options.seconds,
            "autoscalers": count,
            "workers": WORKERS,
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


class Environment:
    """The cluster with its autoscalers, and the controller that scales them."""

    def __init__(
        self,
        bench: BenchCluster,
        count: int,
        *,
        metrics_pid: int | None = None,
        set_changing: Callable[[bool], None] | None = None,
        flags: Mapping[str, tuple[str, ...]] = NO_FLAGS,
    ) -> None:
        """`metrics_pid`, `set_changing`: of the program that serves the metrics, by default the API of `bench`.

        `flags`: programs that are Loadline with further flags.
        """
        self.directory = bench.directory
        self._bench = bench
        self._metrics_pid = metrics_pid or bench.metrics_api_pid
        self._set_changing = set_changing or _changing_api(bench.metrics_api_port)
        self._flags = flags
        self._cluster = bench.cluster
        self._count = count
        self._targets = bench.targets

    def turn(
        self, name: str, period_seconds: float, seconds: float, *, changing: bool = False
    ) -> Figures:
        """Start the controller, wait until all targets are scaled, measure, check, stop it.

        `changing`: every metric has another value in each reconcile, which needs the same replicas.
        """
        deadline_seconds = DEADLINE_SECONDS + self._count / 20
        self._targets.reset()
        self._set_changing(changing)
        with self._controller(name, period_seconds) as running:
            until(
                self._targets.have_expected_replicas,
                what=f"{name} to scale every target",
                deadline_seconds=deadline_seconds,
                # Reading all targets must not take a large part of the machine.
                every_seconds=max(0.5, self._count / 1000),
            )
            enough = running.syncs() + 2 * self._count
            # By then the status updates after the last change are written, too.
            until(
                lambda: running.syncs() >= enough,
                what=f"{name} to reconcile again",
                deadline_seconds=deadline_seconds,
                every_seconds=0.2,
            )
            figures = self._measured(running, seconds)
            assert self._targets.have_expected_replicas(), f"{name} changed correct replicas"
        self._targets.check_statuses()
        return figures

    def _measured(self, running: Running, seconds: float) -> Figures:
        apiserver_pid = self._cluster.components["kube-apiserver"].pid
        pids = (running.pid, apiserver_pid, self._metrics_pid)
        syncs, requests, began = running.syncs(), self._requests(), time.perf_counter()
        delays = running.delays()
        before = [proc.cpu_seconds(pid) for pid in pids]
        elapse(seconds)
        own, apiserver, metrics = (
            proc.cpu_seconds(pid) - spent for pid, spent in zip(pids, before, strict=True)
        )
        done, taken = running.syncs() - syncs, time.perf_counter() - began
        figures = {
            "syncs_per_second": done / taken,
            "cpu_ms_per_sync": 1000 * own / done,
            "apiserver_cpu_ms_per_sync": 1000 * apiserver / done,
            "metrics_api_cpu_ms_per_sync": 1000 * metrics / done,
            "requests_per_sync": (self._requests() - requests) / done,
            "rss_mib": proc.rss_mib(running.pid),
        }
        if delays:
            figures["delay_p99_seconds"] = quantile(delays, running.delays(), 0.99)
        return figures

    def _requests(self) -> float:
        """All requests to kube-apiserver; those of this benchmark and of the other components are few."""
        port = self._cluster.api_port
        return scrape.total(port, "apiserver_request_total", tls=self._targets.tls)

    def _controller(self, name: str, period_seconds: float) -> AbstractContextManager[Running]:
        if name == LOADLINE or name in self._flags:
            return self._loadline(period_seconds, self._flags.get(name, ()))
        qps, workers = (
            (DEFAULT_QPS, DEFAULT_WORKERS) if name == THROTTLED else (LIFTED_QPS, WORKERS)
        )
        hpa = HPAOptions(sync_period_seconds=period_seconds, concurrent_syncs=workers)
        return self._kube_controller_manager(
            ClusterOptions(
                controllers=HPA_CONTROLLERS,
                scheduler=False,
                kwok=False,
                hpa=hpa,
                kube_api_qps=qps,
                # Its default is less than twice the rate.
                controller_manager_flags=("--kube-api-burst=30",) if name == THROTTLED else (),
            )
        )

    @contextmanager
    def _kube_controller_manager(self, options: ClusterOptions) -> Iterator[Running]:
        self._cluster.options = options
        self._cluster.start_controller_manager()
        try:
            process = self._cluster.components["kube-controller-manager"]
            port, tls = self._cluster.controller_manager_port, self._targets.tls
            metric = "horizontal_pod_autoscaler_controller_reconciliations_total"
            yield Running(
                pid=process.pid,
                syncs=lambda: _or_zero(lambda: scrape.total(port, metric, tls=tls)),
            )
        finally:
            self._cluster.stop_component("kube-controller-manager")

    @contextmanager
    def _loadline(self, period_seconds: float, flags: tuple[str, ...]) -> Iterator[Running]:
        period = f"--sync-period={round(1000 * period_seconds)}ms"
        with self._bench.start_scaler(period, f"--concurrent-syncs={WORKERS}", *flags) as program:
            port, tls = program.port, self._targets.tls
            metric = "loadline_scaler_reconciliations_total"
            yield Running(
                pid=program.process.pid,
                syncs=lambda: scrape.total(port, metric, tls=tls),
                delays=lambda: scrape.by_label(port, DELAY_BUCKETS, "le", tls=tls),
            )


def _changing_api(port: int) -> Callable[[bool], None]:
    return lambda changing: metrics_api.set_changing(port, changing=changing)


def _or_zero(count: Callable[[], float]) -> float:
    """0 while a program does not listen yet."""
    try:
        return count()
    except ValueError:
        return 0.0
