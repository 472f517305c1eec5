"""The cost of a reconcile, compared with kube-controller-manager's HPA controller.

The same HorizontalPodAutoscalers on custom resources, with constant metrics from an aggregated API, are scaled by
either controller in turns. Before each turn every target is set to one replica. A turn counts only if every target
reaches the replicas for its metric and keeps them.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import msgspec

from benchmarks.instruments import metrics_api, proc, scrape
from benchmarks.instruments.bench_targets import (
    NAMESPACE,
    SCALER_ACCOUNT,
    Targets,
    manifests,
)
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed import apiservices
from testbed.cluster import Cluster
from testbed.cluster_options import HPA_CONTROLLERS, ClusterOptions, HPAOptions
from testbed.programs import start_program
from testbed.waiting import until

UPSTREAM, THROTTLED, LOADLINE = (
    "kube-controller-manager",
    "kube-controller-manager, default throttling",
    "Loadline",
)
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
)


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A running controller."""

    pid: int
    syncs: Callable[[], float]  # the number of reconciles, by its own counter


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded if a controller does not reach the right replicas."""
    rounds: list[Round] = []
    with ExitStack() as undo:
        environment = _start(undo, options.autoscalers)
        report(f"logs: {environment.directory}; {options.autoscalers} autoscalers are there")
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
            "autoscalers": options.autoscalers,
            "workers": WORKERS,
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


class Environment:
    """The cluster with its autoscalers, and the controller that scales them."""

    def __init__(self, cluster: Cluster, directory: Path, count: int) -> None:
        self.directory = directory
        self._cluster = cluster
        self._count = count
        self._targets = Targets(cluster, count)
        self._kubeconfig = cluster.kubeconfig_for_service_account(NAMESPACE, SCALER_ACCOUNT)

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
        until(
            lambda: time.perf_counter() - began >= seconds,
            what="the end of the turn",
            deadline_seconds=seconds + 5,
        )
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
        with start_program(
            "scaler",
            f"--kubeconfig={self._kubeconfig}",
            "--watch=horizontalpodautoscalers",
            f"--sync-period={round(1000 * period_seconds)}ms",
            f"--concurrent-syncs={WORKERS}",
            log_directory=self.directory,
        ) as program:
            port, tls = program.port, self._targets.tls
            metric = "loadline_scaler_reconciliations_total"
            yield Running(
                pid=program.process.pid, syncs=lambda: scrape.total(port, metric, tls=tls)
            )


def _start(undo: ExitStack, count: int) -> Environment:
    directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
    no_controllers = ClusterOptions(controllers=(), scheduler=False, kwok=False)
    cluster = undo.enter_context(Cluster(no_controllers, directory=directory / "cluster"))
    certificate, key = cluster.serving_certificate("metrics-api")
    port = undo.enter_context(metrics_api.serving(certificate, key, count, directory))
    name = apiservices.register(cluster, metrics_api.GROUP, metrics_api.VERSION, port)
    apiservices.wait_until_available(cluster, name)
    definition, *rest = manifests(count)
    cluster.apply(definition)
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
    cluster.kubectl("create", "--filename=-", input="\n---\n".join(rest))
    return Environment(cluster, directory, count)


def _or_zero(count: Callable[[], float]) -> float:
    """0 while a program does not listen yet."""
    try:
        return count()
    except ValueError:
        return 0.0
