"""The cost of a reconcile, compared with kube-controller-manager's HPA controller.

The same HorizontalPodAutoscalers on custom resources, with constant metrics from an aggregated API, are scaled by
either controller in turns. Before each turn every target is set to one replica. A turn counts only if every target
reaches the replicas for its metric and keeps them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import msgspec

from benchmarks.instruments import proc, scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
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

    def __init__(self, bench: BenchCluster, count: int) -> None:
        self.directory = bench.directory
        self._bench = bench
        self._cluster = bench.cluster
        self._count = count
        self._targets = bench.targets

    def turn(self, name: str, period_seconds: float, seconds: float) -> Figures:
        """Start the controller, wait until all targets are scaled, measure, check, stop it."""
        self._targets.reset()
        with self._controller(name, period_seconds) as running:
            until(
                self._targets.have_expected_replicas,
                what=f"{name} to scale every target",
                deadline_seconds=DEADLINE_SECONDS,
                every_seconds=0.5,
            )
            enough = running.syncs() + 2 * self._count
            # By then the status updates after the last change are written, too.
            until(
                lambda: running.syncs() >= enough,
                what=f"{name} to reconcile again",
                deadline_seconds=DEADLINE_SECONDS,
                every_seconds=0.2,
            )
            figures = self._measured(running, seconds)
            assert self._targets.have_expected_replicas(), f"{name} changed correct replicas"
        self._targets.check_statuses()
        return figures

    def _measured(self, running: Running, seconds: float) -> Figures:
        pids = (running.pid, self._cluster.components["kube-apiserver"].pid)
        syncs, began = running.syncs(), time.perf_counter()
        before = [proc.cpu_seconds(pid) for pid in pids]
        elapse(seconds)
        own, apiserver = (
            proc.cpu_seconds(pid) - spent for pid, spent in zip(pids, before, strict=True)
        )
        done, taken = running.syncs() - syncs, time.perf_counter() - began
        return {
            "syncs_per_second": done / taken,
            "cpu_ms_per_sync": 1000 * own / done,
            "apiserver_cpu_ms_per_sync": 1000 * apiserver / done,
            "rss_mib": proc.rss_mib(running.pid),
        }

    def _controller(self, name: str, period_seconds: float) -> AbstractContextManager[Running]:
        if name == LOADLINE:
            return self._loadline(period_seconds)
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
    def _loadline(self, period_seconds: float) -> Iterator[Running]:
        with self._bench.start_scaler(
            f"--sync-period={round(1000 * period_seconds)}ms", f"--concurrent-syncs={WORKERS}"
        ) as program:
            port, tls = program.port, self._targets.tls
            metric = "loadline_scaler_reconciliations_total"
            yield Running(
                pid=program.process.pid, syncs=lambda: scrape.total(port, metric, tls=tls)
            )


def _or_zero(count: Callable[[], float]) -> float:
    """0 while a program does not listen yet."""
    try:
        return count()
    except ValueError:
        return 0.0
