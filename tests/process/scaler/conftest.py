"""A real adapter, Prometheus and control plane, and scalers that read metrics from the adapter directly."""

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.cluster import Cluster
from testbed.direct_adapter import DirectAdapter, direct_adapter, token_flag
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import CRD, autoscaler, workload

CONFIGURATION = """
metrics:
- name: waiting
  query: sum by (namespace) (direct_waiting)
- name: waiting_here
  query: sum by (namespace) (direct_waiting)
  labels: {namespace: namespace}
- name: load
  describes: pods
  query: sum by (namespace, pod) (direct_load)
"""
# Everything that a scaler needs, except for the metrics.
RULES = [
    {"apiGroups": ["loadline.io", "autoscaling", "apps", ""], "resources": ["*"], "verbs": ["*"]},
    {
        "apiGroups": ["apiregistration.k8s.io"],
        "resources": ["apiservices"],
        "verbs": ["list", "watch"],
    },
]
METRICS_RULES = [
    {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["list"]},
]


class DirectScaler:
    """A scaler with the token of its own ServiceAccount, and one autoscaler on the External metric `waiting`."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        exporter: Exporter,
        start: Callable[[], LoadlineProcess],
    ) -> None:
        self._start = start
        self.program = start()
        self.namespace = namespace
        self._cluster = cluster
        self._exporter = exporter
        self._token = cluster.token(namespace, "prober")

    def restart(self) -> None:
        """Start it again, after it was killed."""
        self.program = self._start()

    def set_waiting(self, value: float) -> None:
        """With a target of 10 per replica."""
        self._exporter.set("direct_waiting", value, namespace=self.namespace)

    def scales_to(self, replicas: int) -> None:
        """Wait until the Deployment has so many."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web"

        def scaled() -> bool:
            assert self._cluster.get(path)["spec"]["replicas"] == replicas
            return True

        until(scaled, what=f"{replicas} replicas")

    def metric(self, name: str) -> float:
        """One sample of the scaler's metrics, by its name and labels, without the prefix."""
        answer = self.program.get("/metrics", Authorization=f"Bearer {self._token}")
        name = f"loadline_scaler_{name} "
        lines = [line for line in answer.text.splitlines() if line.startswith(name)]
        return float(lines[0].split(" ")[1]) if lines else 0.0

    def reaches(self, name: str, value: float) -> None:
        """Wait until the metric has at least that value."""

        def reached() -> bool:
            assert self.metric(name) >= value
            return True

        until(reached, what=f"{name} of {value}")

    def allow_metrics(self, allowed: bool, account: str = "scaler") -> None:
        """Grant or revoke the permission to read metrics."""
        name = f"{self.namespace}-{'metrics' if account == 'scaler' else account}"
        if allowed:
            _grant(self._cluster, name, METRICS_RULES, f"{self.namespace}:{account}")
        else:
            self._cluster.kubectl("delete", "clusterrolebinding", name)


def _grant(cluster: Cluster, name: str, rules: list[dict[str, Any]], account: str) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
    namespace, _, service_account = account.partition(":")
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": service_account}
    cluster.apply(
        {**role, "kind": "ClusterRole", "rules": rules},
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": name,
            },
            "subjects": [subject],
        },
    )


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DirectAdapter]:
    """Registered for custom and external metrics, with a certificate for its Service."""
    directory = tmp_path_factory.mktemp("adapter")
    cluster.apply_crd(CRD.read_text())
    url = f"--prometheus-url={prometheus.url}"
    with direct_adapter(cluster, CONFIGURATION, directory, url) as running:
        yield running


StartDirectScaler = Callable[..., DirectScaler]


@pytest.fixture
def direct_scaler(
    cluster: Cluster, adapter: DirectAdapter, exporter: Exporter, tmp_path: Path
) -> Iterator[StartDirectScaler]:
    """Start a scaler with these flags for one autoscaler, which is at 1 replica."""
    undo: list[Callable[[], object]] = []

    def start(
        *flags: str,
        may_stream: bool = True,
        namespace: str = "",
        forecast: str = "",
        account: str = "scaler",
    ) -> DirectScaler:
        """`forecast`: its mode, with the permission to learn which query has the load. `account`: whose tokens adapters receive."""
        namespace = namespace or f"direct-{uuid.uuid4().hex[:8]}"
        cluster.create_namespace(namespace)
        undo.append(lambda: cluster.stop_work_in(namespace))
        for each in {"scaler", "prober", account}:
            metadata = {"name": each, "namespace": namespace}
            cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        scrape = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        _grant(cluster, f"{namespace}-prober", [scrape], f"{namespace}:prober")
        stream = {"nonResourceURLs": ["/watch/metrics"], "verbs": ["get"]}
        explain = {"nonResourceURLs": ["/debug/explain"], "verbs": ["get"]}
        _grant(cluster, f"{namespace}-scaler", RULES, f"{namespace}:scaler")
        paths = [*([stream] if may_stream else []), *([explain] if forecast else [])]
        _grant(cluster, f"{namespace}-paths", paths, f"{namespace}:{account}")
        _grant(cluster, f"{namespace}-metrics", METRICS_RULES, f"{namespace}:scaler")
        identity = token_flag(cluster, namespace, "scaler", tmp_path)
        if account != "scaler":
            _grant(cluster, f"{namespace}-{account}", METRICS_RULES, f"{namespace}:{account}")
            identity = f"--adapter-token-service-account={namespace}/{account}"
        exporter.set("direct_waiting", 10, namespace=namespace)
        undo.append(lambda: exporter.remove("direct_waiting", namespace=namespace))
        metric = waiting("waiting_here" if forecast else "waiting")
        document = autoscaler(namespace, {**metric, "name": "waiting"})
        if forecast:
            document["spec"]["forecast"] = {"metric": "waiting", "mode": forecast}
        cluster.apply(workload("Deployment", namespace, 1), document)
        started = partial(
            start_program,
            "scaler",
            identity,
            f"--kubeconfig={cluster.kubeconfig_for_service_account(namespace, 'scaler')}",
            f"--authentication-kubeconfig={cluster.kubeconfig}",
            f"--authorization-kubeconfig={cluster.kubeconfig}",
            f"--namespace={namespace}",
            "--downscale-stabilization=0s",
            *(flags or adapter.scaler_flags),
            log_directory=tmp_path,
        )
        scaler = DirectScaler(cluster, namespace, exporter, started)
        undo.append(lambda: scaler.program.stop())
        return scaler

    yield start
    for each in reversed(undo):
        each()


def waiting(name: str) -> dict[str, Any]:
    """The External metric of this name, with a target of 10 per replica."""
    metric = {"name": name}
    target = {"type": "AverageValue", "averageValue": "10"}
    return {"type": "External", "external": {"metric": metric, "target": target}}
