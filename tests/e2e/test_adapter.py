"""The adapter behind the real aggregator, used by kubectl and by the stock HPA controller."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from testbed.access import RequestFailed
from testbed.cluster import Cluster, KubectlFailed
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.registered_adapter import CUSTOM, EXTERNAL, registered_adapter

CONFIGURATION = """
rules:
- seriesQuery: 'http_requests_total{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  name: {matches: '^(.*)_total$', as: '${1}_per_second'}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[5s])) by (<<.GroupBy>>)'
- seriesQuery: 'inflight{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'temperature{node!=""}'
  resources: {overrides: {node: {resource: nodes}}}
  metricsQuery: 'max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'hits{namespace!="",ingress!=""}'
  resources:
    overrides: {namespace: {resource: namespace}, ingress: {group: networking.k8s.io, resource: ingress}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
metrics:
- name: inflight_named
  describes: pods
  query: 'sum by (namespace, pod) (inflight)'
"""


@pytest.fixture(scope="module")
def logged_before(cluster: Cluster) -> int:
    """The characters in kube-apiserver's log before the adapter is registered: other tests stop theirs while it is."""
    return len(cluster.components["kube-apiserver"].log_path.read_text())


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster,
    logged_before: int,
    prometheus: PrometheusServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LoadlineProcess]:
    """The adapter of this module, registered for every group version that it serves."""
    directory = tmp_path_factory.mktemp("adapter")
    flags = ("--metrics-max-age=1m", "--v=6")
    with registered_adapter(cluster, prometheus, CONFIGURATION, directory, *flags) as running:
        yield running


class Metrics:
    """The metrics APIs through the aggregator, as kubectl reads them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def raw(self, path: str, kubeconfig: Path | None = None) -> dict:
        return json.loads(self._cluster.kubectl("get", "--raw", path, kubeconfig=kubeconfig))

    def values(self, path: str, version: str = "v1beta2") -> dict[str, str]:
        """Values by object name, as soon as there are any."""

        def values() -> dict[str, str]:
            try:
                items = self._cluster.get(f"/apis/{CUSTOM}/{version}/{path}")["items"]
            except RequestFailed as not_yet:
                raise AssertionError(str(not_yet)) from not_yet
            return {item["describedObject"]["name"]: item["value"] for item in items}

        return until(values, what=path)


@pytest.fixture
def metrics(cluster: Cluster, adapter: LoadlineProcess) -> Metrics:
    return Metrics(cluster)


def pod(namespace: str, name: str, **labels: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "main"}]},
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("metric", ["inflight", "inflight_named"])
def test_values_of_pods_by_name_and_by_selector(
    cluster, exporter, metrics, namespace, version, metric
):
    cluster.apply(*(pod(namespace, f"web-{n}", app="web") for n in (1, 2)))
    cluster.apply(pod(namespace, "db-1", app="db"))
    for name, value in {"web-1": 1.5, "web-2": 2, "db-1": 30}.items():
        exporter.set("inflight", value, namespace=namespace, pod=name)
    pods = f"namespaces/{namespace}/pods"
    # The three series come with one scrape: when one is there, all are.
    assert metrics.values(f"{pods}/web-1/{metric}", version) == {"web-1": "1500m"}
    everything = {"db-1": "30", "web-1": "1500m", "web-2": "2"}
    assert metrics.values(f"{pods}/%2A/{metric}", version) == everything
    selector = quote("app in (web, api),!canary")
    of_web = metrics.values(f"{pods}/%2A/{metric}?labelSelector={selector}", version)
    assert list(of_web.items()) == [("web-1", "1500m"), ("web-2", "2")]


def test_a_metric_selector_restricts_the_series(cluster, exporter, metrics, namespace):
    cluster.apply(pod(namespace, "web-1"))
    for code, value in {"200": 7.0, "500": 1.0}.items():
        exporter.set("inflight", value, namespace=namespace, pod="web-1", code=code)
    path = f"namespaces/{namespace}/pods/web-1/inflight"
    assert metrics.values(path) == {"web-1": "8"}
    assert metrics.values(f"{path}?metricLabelSelector=code%3D500") == {"web-1": "1"}


def test_metrics_of_a_namespace_of_nodes_and_of_another_group(
    exporter, metrics, namespace, cluster
):
    exporter.set("hits", 12, namespace=namespace, ingress="shop")
    exporter.set("temperature", 41.5, node="node-of-" + namespace)
    assert metrics.values(f"namespaces/{namespace}/metrics/hits") == {namespace: "12"}
    ingress = f"namespaces/{namespace}/ingresses.networking.k8s.io/shop/hits"
    assert metrics.values(ingress) == {"shop": "12"}
    described = metrics.raw(f"/apis/{CUSTOM}/v1beta1/{ingress}")["items"][0]["describedObject"]
    assert described == {
        "kind": "Ingress",
        "namespace": namespace,
        "name": "shop",
        "apiVersion": "networking.k8s.io/v1",
    }
    node = f"nodes/node-of-{namespace}/temperature"
    assert metrics.values(node) == {"node-of-" + namespace: "41500m"}


def test_external_metrics_come_with_their_labels(exporter, metrics, namespace):
    exporter.set("queue_length", 3, namespace=namespace, queue="mail")
    exporter.set("queue_length", 4, namespace=namespace, queue="video")
    path = f"/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/queue_length"

    def rows(query: str = "") -> list[tuple[dict[str, str], str]]:
        try:
            items = metrics.raw(path + query)["items"]
        except KubectlFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        return [(item["metricLabels"], item["value"]) for item in items]

    found = until(rows, what="rows of the queue")
    assert found == [({"queue": "mail"}, "3"), ({"queue": "video"}, "4")]
    assert rows("?labelSelector=queue%3Dmail") == [({"queue": "mail"}, "3")]


def test_the_error_for_an_unknown_metric_reaches_the_user(cluster, metrics, namespace):
    with pytest.raises(KubectlFailed, match="could not find the metric nothing for pods"):
        metrics.raw(f"/apis/{CUSTOM}/v1beta2/namespaces/{namespace}/pods/x/nothing")


def test_kubectl_lists_the_metrics_and_the_api_server_logs_no_errors(
    cluster, exporter, logged_before, metrics, namespace
):
    exporter.set("temperature", 1, node="node-of-" + namespace)
    metrics.values(f"nodes/node-of-{namespace}/temperature")
    listed = metrics.raw(f"/apis/{CUSTOM}/v1beta1")["resources"]
    assert "nodes/temperature" in [resource["name"] for resource in listed]
    assert CUSTOM in cluster.kubectl("api-versions")
    merged = metrics.raw("/openapi/v2")["paths"]
    until(
        lambda: (
            any(path.startswith(f"/apis/{EXTERNAL}/") for path in merged)
            or metrics.raw("/openapi/v3")["paths"].get(f"apis/{EXTERNAL}/v1beta1")
        ),
        what="the adapter's OpenAPI document at the API server",
    )
    log = cluster.components["kube-apiserver"].log_path.read_text()
    errors = [
        line
        for line in log[logged_before:].splitlines()
        if line.startswith("E") and "OpenAPI" in line and "metrics.k8s.io" in line
    ]
    assert errors == []


def hpa(namespace: str, metric: dict) -> dict:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 6,
            "metrics": [metric],
        },
    }


PODS_METRIC = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "inflight"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}
EXTERNAL_METRIC = {
    "type": "External",
    "external": {
        "metric": {"name": "queue_length", "selector": {"matchLabels": {"queue": "mail"}}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


def running_pods(cluster: Cluster, namespace: str) -> list[str]:
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [
        each["metadata"]["name"]
        for each in pods
        if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
    ]


def spread(cluster: Cluster, exporter: Exporter, namespace: str, load: float) -> None:
    """Spread the load over the running pods, as a service does."""
    names = running_pods(cluster, namespace)
    exporter.remove("inflight", namespace=namespace)
    for name in names:
        exporter.set("inflight", load / len(names), namespace=namespace, pod=name)


def replicas(cluster: Cluster, namespace: str) -> int:
    return cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")["spec"]["replicas"]


def scaling_active(cluster: Cluster, namespace: str, wanted: str) -> str:
    """The message of the condition ScalingActive; fails until it has this status."""
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/web"
    conditions = cluster.get(path)["status"].get("conditions", ())
    active = next((c for c in conditions if c["type"] == "ScalingActive"), None)
    assert active is not None, "no status is written yet"
    assert active["status"] == wanted, active["message"]
    return active["message"]


def test_the_stock_hpa_scales_on_a_pods_metric_up_and_down(
    cluster, exporter, metrics, namespace, adapter
):
    cluster.kubectl("create", "deployment", "web", "--image=web", "-n", namespace)
    cluster.apply(hpa(namespace, PODS_METRIC))

    def scaled_to(wanted: int, load: float) -> bool:
        spread(cluster, exporter, namespace, load)
        assert replicas(cluster, namespace) == wanted
        assert len(running_pods(cluster, namespace)) == wanted
        return True

    until(lambda: scaled_to(4, 38.0), what="four replicas", deadline_seconds=60, every_seconds=0.5)

    def shown() -> str:
        spread(cluster, exporter, namespace, 38.0)
        line = cluster.kubectl("get", "hpa", "web", "-n", namespace)
        assert "9500m/10" in line
        return line

    line = until(shown, what="the value in kubectl get hpa", every_seconds=0.5)
    assert "Deployment/web" in line
    until(lambda: scaled_to(1, 3.0), what="one replica", deadline_seconds=60, every_seconds=0.5)


def test_the_stock_hpa_scales_on_an_external_metric_and_keeps_its_replicas_without_one(
    cluster, exporter, metrics, namespace
):
    exporter.set("queue_length", 29, namespace=namespace, queue="mail")
    cluster.kubectl("create", "deployment", "web", "--image=web", "-n", namespace)
    cluster.apply(hpa(namespace, EXTERNAL_METRIC))
    until(lambda: replicas(cluster, namespace) == 3, what="three replicas", deadline_seconds=60)
    exporter.remove("queue_length", namespace=namespace)

    message = until(
        lambda: scaling_active(cluster, namespace, "False"),
        what="ScalingActive=False",
        deadline_seconds=60,
    )
    assert "queue_length" in message
    assert replicas(cluster, namespace) == 3


def test_nothing_is_scaled_while_prometheus_is_down(
    cluster, exporter, prometheus, metrics, namespace
):
    exporter.set("queue_length", 35, namespace=namespace, queue="mail")
    cluster.kubectl("create", "deployment", "web", "--image=web", "-n", namespace)
    cluster.apply(hpa(namespace, EXTERNAL_METRIC))
    until(lambda: replicas(cluster, namespace) == 4, what="four replicas", deadline_seconds=60)
    prometheus.kill()
    try:
        message = until(
            lambda: scaling_active(cluster, namespace, "False"),
            what="ScalingActive=False",
            deadline_seconds=60,
        )
    finally:
        prometheus.start()
    assert "unable to fetch metrics" in message
    assert prometheus.url in message
    until(
        lambda: scaling_active(cluster, namespace, "True"),
        what="ScalingActive=True",
        deadline_seconds=60,
    )
    assert replicas(cluster, namespace) == 4


ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: one-metric, namespace: NAMESPACE}
rules:
- {apiGroups: [custom.metrics.k8s.io], resources: [pods/inflight], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one-metric, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one-metric}
subjects: [{kind: ServiceAccount, name: reader, namespace: NAMESPACE}]
"""


def test_permissions_can_be_granted_per_metric(cluster, exporter, metrics, namespace, adapter):
    cluster.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    cluster.apply(ROLE.replace("NAMESPACE", namespace), pod(namespace, "web-1"))
    exporter.set("inflight", 5, namespace=namespace, pod="web-1")
    exporter.increase("http_requests_total", 3, namespace=namespace, pod="web-1")
    pods = f"namespaces/{namespace}/pods/web-1"
    metrics.values(f"{pods}/inflight")
    metrics.values(f"{pods}/http_requests_per_second")

    kubeconfig = cluster.kubeconfig_for_service_account(namespace, "reader")
    token = cluster.token(namespace, "reader")
    allowed = f"/apis/{CUSTOM}/v1beta2/{pods}/inflight"
    denied = f"/apis/{CUSTOM}/v1beta2/{pods}/http_requests_per_second"
    assert metrics.raw(allowed, kubeconfig)["items"][0]["value"] == "5"
    with pytest.raises(KubectlFailed, match=r"[Ff]orbidden"):
        metrics.raw(denied, kubeconfig)
    # Without the aggregator, the adapter itself authorizes by the same permissions.
    with_token = {"Authorization": f"Bearer {token}"}
    assert adapter.get(allowed, **with_token).status == 200
    refused = adapter.get(denied, **with_token)
    assert refused.status == 403
    assert (
        'cannot get resource "pods/http_requests_per_second" in API group "custom.metrics.k8s.io"'
        in json.loads(refused.body)["message"]
    )


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        pytest.param({}, 403, id="no credentials"),
        pytest.param({"Authorization": "Bearer made-up"}, 401, id="an invalid token"),
        pytest.param({"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}, 403, id="a front proxy's headers without its certificate"),
    ],
)  # fmt: skip
def test_a_client_without_valid_credentials_is_refused(adapter, headers, code):
    assert (
        adapter.get(f"/apis/{EXTERNAL}/v1beta1/namespaces/x/queue_length", **headers).status == code
    )
