"""metrics.k8s.io from Prometheus: `kubectl top` and an HPA on cpu utilization."""

from collections.abc import Iterator

import pytest

from testbed.cluster import Cluster, KubectlFailed
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.registered_adapter import RESOURCE, registered_adapter

CONFIGURATION = """
resourceRules:
  cpu:
    containerQuery: 'sum(cpu_usage{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    nodeQuery: 'sum(node_cpu_usage{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    resources: {overrides: {node: {resource: node}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: 'sum(memory_usage{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    nodeQuery: 'sum(node_memory_usage{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    resources: {overrides: {node: {resource: node}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 1m
"""
MEBIBYTE = 2**20


@pytest.fixture(scope="module", autouse=True)
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The adapter of this module, behind the aggregator."""
    directory = tmp_path_factory.mktemp("adapter-usage")
    served = ((RESOURCE, "v1beta1"),)
    with registered_adapter(cluster, prometheus, CONFIGURATION, directory, served=served):
        yield


def top(cluster: Cluster, *arguments: str) -> dict[str, list[str]]:
    """The lines of `kubectl top` by their first word, as soon as there are any."""

    def lines() -> dict[str, list[str]]:
        try:
            output = cluster.kubectl("top", *arguments, "--no-headers")
        except KubectlFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        return {words[0]: words[1:] for words in map(str.split, output.splitlines())}

    return until(lines, what=f"kubectl top {' '.join(arguments)}")


def deployment(namespace: str) -> dict:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "200m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container]},
            },
        },
    }


def pods(cluster: Cluster, namespace: str) -> list[str]:
    items = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [pod["metadata"]["name"] for pod in items if pod["status"].get("phase") == "Running"]


def use(exporter, namespace: str, pod: str, *, cpu: float, mebibytes: int) -> None:
    own = {"namespace": namespace, "pod": pod, "container": "main"}
    exporter.set("cpu_usage", cpu, **own)
    exporter.set("memory_usage", mebibytes * MEBIBYTE, **own)


def test_kubectl_top_shows_pods_and_nodes(cluster, exporter, namespace):
    cluster.apply(deployment(namespace))
    [pod] = until(lambda: pods(cluster, namespace), what="a running pod")
    use(exporter, namespace, pod, cpu=0.25, mebibytes=64)
    exporter.set("node_cpu_usage", 1.5, node="node-0")
    exporter.set("node_memory_usage", 512 * MEBIBYTE, node="node-0")
    assert top(cluster, "pods", "-n", namespace) == {pod: ["250m", "64Mi"]}
    assert top(cluster, "pods", "-n", namespace, "-l", "app=web") == {pod: ["250m", "64Mi"]}
    assert top(cluster, "nodes")["node-0"][0] == "1500m"


def test_the_stock_hpa_scales_on_cpu_utilization(cluster, exporter, namespace):
    cluster.apply(deployment(namespace))
    cluster.kubectl(
        "autoscale", "deployment", "web", "--cpu=50%", "--min=1", "--max=4", "-n", namespace
    )

    def scaled() -> bool:
        for pod in pods(cluster, namespace):
            use(exporter, namespace, pod, cpu=0.1 * 3 / len(pods(cluster, namespace)), mebibytes=32)
        spec = cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")["spec"]
        assert spec["replicas"] == 3
        return True

    until(scaled, what="three replicas", deadline_seconds=60, every_seconds=0.5)
