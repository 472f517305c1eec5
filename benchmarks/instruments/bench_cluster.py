"""A cluster with scalable targets, their HorizontalPodAutoscalers and a metrics API, for benchmarks of scalers."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.instruments import metrics_api, scrape
from benchmarks.instruments.bench_targets import (
    HPA,
    LOAD_AUTOSCALER,
    NAMESPACE,
    SCALER_ACCOUNT,
    Kind,
    Targets,
    prerequisites,
)
from benchmarks.instruments.metric_kinds import METRIC, MetricKind
from testbed import apiservices
from testbed.as_in_a_pod import PodIdentity, pod_identity
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from testbed.programs import CRD, REPOSITORY, LoadlineProcess, start_program
from testbed.waiting import until

GAUGES = {
    "--adapter-service": "loadline_scaler_direct_connection",
    "--stream-metrics": "loadline_scaler_stream_connected",
}
"""What is 1 while the scaler does what a flag asks for. Otherwise it would read metrics through kube-apiserver."""


READY_DEADLINE_SECONDS = 300.0
"""The first LISTs of tens of thousands of objects take longer than those of tests."""

OF_LOAD_AUTOSCALERS = (CRD.name, "scalingcalendars.yaml")
"""The CRDs that the scaler's chart installs for them."""


class BenchCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The running cluster."""

    cluster: Cluster
    targets: Targets
    directory: Path
    identity: PodIdentity  # with the permissions of the scaler's chart
    metrics_api_port: int
    metrics_api_pid: int

    def apply_crds(self) -> None:
        """Those of LoadAutoscalers, as the scaler's chart installs them."""
        _apply_crds(self.cluster, *OF_LOAD_AUTOSCALERS)

    def start_scaler(self, *flags: str, repository: Path = REPOSITORY) -> LoadlineProcess:
        """Loadline's scaler for the autoscalers, as in a pod; `repository` may be another checkout.

        Raises DeadlineExceeded if it does not read metrics as the flags say.
        """
        started = start_program(
            "scaler",
            f"--watch={self.targets.autoscalers.plural}",
            *flags,
            log_directory=self.directory,
            repository=repository,
            identity=self.identity,
            ready_deadline_seconds=READY_DEADLINE_SECONDS,
        )
        for flag, gauge in GAUGES.items():
            values = {name: value for name, _, value in (each.partition("=") for each in flags)}
            if values.get(flag, "never") != "never":
                self._wait_for(gauge, started.port)
        return started

    def _wait_for(self, gauge: str, port: int) -> None:
        until(lambda: scrape.total(port, gauge, tls=self.targets.tls) == 1, what=f"{gauge} to be 1")


@contextmanager
def bench_cluster(
    count: int,
    metric_of: Callable[[int], str] = lambda _: METRIC,
    *,
    kind: MetricKind = MetricKind.EXTERNAL,
    with_pods: bool = False,
    autoscalers: Kind = HPA,
) -> Iterator[BenchCluster]:
    """Start it with `count` autoscalers on the metrics `metric_of(number)`; no controller runs yet.

    `with_pods`: also for metrics that do not need them. Then the targets are spread over namespaces, since kube-controller-manager
    searches all pods of a namespace in each reconcile.
    """
    options = ClusterOptions(controllers=(), scheduler=False, kwok=False)
    with (
        tempfile.TemporaryDirectory(prefix="loadline-bench-") as name,
        Cluster(options, directory=Path(name) / "cluster") as cluster,
        metrics_api.serving(*cluster.serving_certificate("metrics-api"), count, Path(name)) as (
            port,
            pid,
        ),
    ):
        api = apiservices.register(cluster, kind.group, kind.version, port)
        apiservices.wait_until_available(cluster, api)
        definition, *others = prerequisites()
        cluster.apply_crd(msgspec.json.encode(definition).decode())
        cluster.apply(*others)
        _apply_crds(cluster, "scalingmemories.yaml")  # those of HPAs
        if autoscalers == LOAD_AUTOSCALER:
            _apply_crds(cluster, *OF_LOAD_AUTOSCALERS)
        targets = Targets(cluster, count, kind, spread=with_pods, autoscalers=autoscalers)
        targets.create(metric_of, with_pods=with_pods or kind.has_pods)
        yield BenchCluster(
            cluster=cluster,
            targets=targets,
            directory=Path(name),
            identity=pod_identity(cluster, NAMESPACE, SCALER_ACCOUNT, Path(name) / "pod"),
            metrics_api_port=port,
            metrics_api_pid=pid,
        )


def _apply_crds(cluster: Cluster, *file_names: str) -> None:
    for name in file_names:
        for text in CRD.with_name(name).read_text("utf-8").split("\n---\n"):
            cluster.apply_crd(text)
