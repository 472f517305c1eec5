"""Both programs with exactly the arguments, files, ServiceAccount and RBAC of their installed charts.

They run as local processes, because kwok nodes do not run containers.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices, ports
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster, KubectlFailed
from testbed.exporter import Exporter
from testbed.helm import Helm
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import autoscaler

HPA_CONTROLLER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
APIS = (
    "v1beta1.custom.metrics.k8s.io",
    "v1beta2.custom.metrics.k8s.io",
    "v1beta1.external.metrics.k8s.io",
)
METRICS = [
    {"name": "load", "describes": "pods", "query": "sum by (namespace, pod) (chart_load)"},
    {
        "name": "load",
        "describes": "deployments.apps",
        "query": "sum by (namespace, deployment) (chart_load)",
    },
    {"name": "waiting", "query": "sum by (namespace) (chart_waiting)"},
]


class Installed(msgspec.Struct, frozen=True):
    """Both charts in one namespace, and their programs."""

    cluster: Cluster
    namespace: str
    adapter: LoadlineProcess
    scaler: LoadlineProcess

    def items(self, path: str, *, user: str = HPA_CONTROLLER) -> list[dict]:
        """The items of a metrics list, requested through the aggregation layer."""
        text = self.cluster.kubectl("get", "--raw", f"/apis/{path}", f"--as={user}")
        return msgspec.json.decode(text)["items"]

    def token(self, account: str) -> str:
        """A token of a ServiceAccount."""
        return self.cluster.token(self.namespace, account)


@pytest.fixture(scope="module")
def installed(
    cluster: Cluster,
    prometheus: PrometheusServer,
    namespace_of_module: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installed]:
    namespace = namespace_of_module
    cluster.kubectl("create", "serviceaccount", "scraper", f"-n{namespace}")
    port = ports.reserve()
    helm = Helm(cluster, namespace)
    scrapers = {"scrapers": [{"name": "scraper", "namespace": namespace}]}
    values = {
        "service": {"type": "ExternalName", "externalName": "localhost", "port": port},
        "tls": {"generate": True},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
        "rules": {"metrics": METRICS},
        "serviceMonitor": scrapers,
    }
    helm.install("adapter", release="a", values=values)
    quick = {"replicas": 2, "syncPeriod": "1s", "downscaleStabilization": "1s"}
    helm.install("scaler", release="s", values=quick | {"serviceMonitor": scrapers})
    directory: Path = tmp_path_factory.mktemp("installed")
    place = {"namespace": namespace, "directory": directory}
    with (
        start_chart_program(cluster, "adapter", release="a", port=port, **place) as adapter,
        start_chart_program(cluster, "scaler", release="s", **place) as scaler,
    ):
        for api in APIS:
            apiservices.wait_until_available(cluster, api)
        yield Installed(cluster, namespace, adapter, scaler)
    for release in helm.releases():
        helm.uninstall(release)


@pytest.fixture
def pods(cluster: Cluster, namespace: str, exporter: Exporter) -> Iterator[list[str]]:
    """Two ready pods of a Deployment `shop`, each with a load of 7."""
    cluster.kubectl(
        "create", "deployment", "shop", "--image=shop", "--replicas=2", f"-n{namespace}"
    )
    cluster.kubectl("rollout", "status", "deployment/shop", f"-n{namespace}", "--timeout=60s")
    listed = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    names = sorted(pod["metadata"]["name"] for pod in listed)
    for name in names:
        exporter.set("chart_load", 7, namespace=namespace, pod=name, deployment="shop")
    exporter.set("chart_waiting", 40, namespace=namespace)
    yield names
    exporter.remove("chart_load", namespace=namespace)
    exporter.remove("chart_waiting", namespace=namespace)


def test_the_hpa_controller_reads_metrics_of_pods_and_other_objects(
    installed, prometheus, namespace, pods
):
    prometheus.wait_for(f'count(chart_load{{namespace="{namespace}"}}) == 2')
    root = f"custom.metrics.k8s.io/v1beta2/namespaces/{namespace}"

    def answers(path: str, expected: dict[str, str]) -> bool:
        try:
            items = installed.items(f"{root}/{path}?labelSelector=app%3Dshop")
        except KubectlFailed as not_yet:
            raise AssertionError("the adapter has read the series a moment earlier") from not_yet
        assert {i["describedObject"]["name"]: i["value"] for i in items} == expected
        return True

    until(lambda: answers("pods/*/load", dict.fromkeys(pods, "7")), what="the load of the pods")
    until(lambda: answers("deployments.apps/*/load", {"shop": "14"}), what="the load of the shop")


def test_an_unprivileged_user_may_not_read_metrics(installed, namespace, pods):
    path = f"custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/*/load"
    with pytest.raises(KubectlFailed, match="Forbidden"):
        installed.items(path, user="unprivileged")


def test_the_aggregation_layer_verifies_the_generated_certificate(installed):
    for api in APIS:
        spec = installed.cluster.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{api}")["spec"]
        assert "insecureSkipTLSVerify" not in spec
        assert spec["caBundle"]


def test_the_scaler_scales_reports_and_holds_the_lease(
    installed, cluster, prometheus, namespace, pods
):
    prometheus.wait_for(f'chart_waiting{{namespace="{namespace}"}} == 40')
    external = {
        "metric": {"name": "waiting", "selector": {"matchLabels": {"namespace": namespace}}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }
    metric = {"type": "External", "external": external}
    cluster.apply(autoscaler(namespace, metric, name="shop", target="shop", maxReplicas=9))

    def scaled() -> bool:
        shop = cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/shop")
        assert shop["spec"]["replicas"] == 4
        path = f"/apis/loadline.io/v1beta1/namespaces/{namespace}/loadautoscalers/shop"
        # The status follows its scale.
        assert cluster.get(path).get("status", {}).get("desiredReplicas") == 4
        reasons = cluster.kubectl("get", "events", f"-n{namespace}", "-ojsonpath={..reason}")
        assert "SuccessfulRescale" in reasons
        return True

    until(scaled, what="four replicas, status and event")
    path = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/s-loadline-scaler"
    assert cluster.get(path.format(installed.namespace))["spec"]["holderIdentity"]


def test_the_scaler_may_read_which_deployment_owns_a_pod(
    installed, cluster, prometheus, namespace, pods
):
    prometheus.wait_for(f'count(chart_load{{namespace="{namespace}"}}) == 2')
    cluster.kubectl("run", "unrelated", "--image=shop", "--labels=app=shop", f"-n{namespace}")
    load = {"metric": {"name": "load"}, "target": {"type": "AverageValue", "averageValue": "4"}}
    of = {"name": "shop", "target": "shop", "maxReplicas": 9, "podSelection": "Owned"}
    cluster.apply(autoscaler(namespace, {"type": "Pods", "pods": load}, **of))

    def ignored() -> bool:
        path = f"/apis/loadline.io/v1beta1/namespaces/{namespace}/loadautoscalers/shop"
        status = cluster.get(path).get("status", {})
        reasons = {each["type"]: each["reason"] for each in status.get("conditions", ())}
        assert reasons.get("PodsNotOwned") == "OtherPods"
        assert status["desiredReplicas"] == 4
        return True

    until(ignored, what="four replicas for the two pods of the Deployment")


@pytest.mark.parametrize("program", ["adapter", "scaler"])
def test_only_a_scraper_may_read_the_metrics_of_the_programs(installed, program):
    process = getattr(installed, program)

    def status(account: str) -> int:
        return process.get("/metrics", Authorization=f"Bearer {installed.token(account)}").status

    assert status("scraper") == 200
    assert status("default") == 403


def test_nothing_was_forbidden_to_either_program(installed, namespace, pods):
    """Runs last, after all other tests have used both programs."""
    for process in (installed.adapter.process, installed.scaler.process):
        assert process.exit_code is None
        assert "forbidden" not in process.log().lower(), process.log_tail()
