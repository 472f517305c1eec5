"""`loadline-adapter explain` of an autoscaler: each of its metrics, as the HPA controller requests it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from adapter.diagnosis.explanation import LIST_SCHEMA
from testbed.cluster import Cluster
from testbed.prometheus import PrometheusServer
from testbed.waiting import until

CRD = Path(__file__).parents[2] / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"
CONFIGURATION = """
metrics:
- {name: explained_load, describes: pods, query: 'sum by (namespace, pod) (explained_load)'}
- {name: explained_load, describes: deployments.apps, query: 'sum by (namespace, deployment) (explained_load)'}
- {name: explained_queue, query: 'sum by (namespace, queue) (explained_queue)', labels: {namespace: namespace}}
"""


@pytest.fixture
def shop(cluster: Cluster, exporter, prometheus, namespace: str) -> Iterator[str]:
    """A Deployment `web` with a pod, and its HPA with four metrics, of which cpu is not served."""
    cluster.kubectl("create", "deployment", "web", "--image=web", f"-n{namespace}")
    cluster.kubectl("rollout", "status", "deployment/web", f"-n{namespace}", "--timeout=60s")
    [pod] = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    exporter.set(
        "explained_load", 4, namespace=namespace, pod=pod["metadata"]["name"], deployment="web"
    )
    exporter.set("explained_queue", 9, namespace=namespace, queue="mail")
    prometheus.wait_for(f'explained_queue{{namespace="{namespace}"}}')
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    ten = {"type": "AverageValue", "averageValue": "10"}
    queue = {"name": "explained_queue", "selector": {"matchLabels": {"queue": "mail"}}}
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "explained_load"}, "target": ten}},
        {
            "type": "Object",
            "object": {
                "metric": {"name": "explained_load"},
                "describedObject": deployment,
                "target": ten,
            },
        },
        {"type": "External", "external": {"metric": queue, "target": ten}},
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50},
            },
        },
    ]
    spec = {"scaleTargetRef": deployment, "maxReplicas": 3, "metrics": metrics}
    metadata = {"name": "web", "namespace": namespace}
    cluster.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata,
            "spec": spec,
        }
    )
    yield namespace
    for name in ("explained_load", "explained_queue"):
        exporter.remove(name, namespace=namespace)


@pytest.fixture
def explain(cluster: Cluster, prometheus: PrometheusServer, tmp_path: Path):
    (tmp_path / "c.yaml").write_text(CONFIGURATION)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        here = (
            f"--config={tmp_path / 'c.yaml'}",
            f"--kubeconfig={cluster.kubeconfig}",
            f"--prometheus-url={prometheus.url}",
        )
        command = [sys.executable, "-m", "adapter", "explain", *arguments, *here]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_each_metric_of_an_hpa_is_explained(shop, explain):
    output = explain(f"hpa/{shop}/web", "--output=json")
    assert (output.returncode, output.stderr) == (1, ""), "cpu is not served here"
    document = msgspec.json.decode(output.stdout)
    assert (document["schema"], document["target"]) == (LIST_SCHEMA, f"hpa/{shop}/web")
    pods, workload, queue, cpu = document["explanations"]
    root = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{shop}"
    assert pods["path"] == f"{root}/pods/*/explained_load?labelSelector=app%3Dweb"
    assert [value["value"] for value in pods["values"]] == ["4"]
    assert workload["path"] == f"{root}/deployments.apps/web/explained_load"
    assert [value["of"] for value in workload["values"]] == ["web"]
    assert queue["request"]["metricSelector"] == "queue=mail"
    assert [value["value"] for value in queue["values"]] == ["9"]
    assert [finding["reason"] for finding in cpu["findings"]] == ["GroupNotServed"]


def test_the_text_shows_how_each_metric_is_computed(shop, explain):
    output = explain(f"{shop}/web").stdout
    for line in (
        "Pods metric explained_load",
        "Object metric explained_load of Deployment/web",
        "External metric explained_queue",
        "Resource metric cpu",
        "rule     metrics[0]: sum by (namespace, pod) (explained_load)",
        'query    sum by (namespace, queue) (explained_queue{queue="mail"})',
        "GroupNotServed: this adapter does not serve metrics.k8s.io",
    ):
        assert line in output, output


def test_explain_shows_the_value_that_the_controller_uses(
    shop, explain, cluster, aggregated, loadline_process, prometheus, tmp_path
):
    """With the same configuration behind the real aggregator, the HPA's status has the value that explain shows."""
    running = loadline_process(
        "adapter",
        f"--config={tmp_path / 'c.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
    )
    aggregated("custom.metrics.k8s.io", "v1beta2", running.port)
    aggregated("external.metrics.k8s.io", "v1beta1", running.port)

    def current_metrics() -> list[dict]:
        path = f"/apis/autoscaling/v2/namespaces/{shop}/horizontalpodautoscalers/web"
        current = cluster.get(path)["status"].get("currentMetrics") or []
        assert len([each for each in current if each.get("type")]) >= 3, current
        return current

    current = until(current_metrics, what="the HPA's current metrics")
    document = msgspec.json.decode(explain(f"{shop}/web", "--output=json").stdout)
    assert (
        current[0]["pods"]["current"]["averageValue"]
        == document["explanations"][0]["values"][0]["value"]
    )


def test_a_load_autoscaler_is_explained_like_an_hpa(shop, explain, cluster: Cluster):
    cluster.kubectl("apply", "--server-side", "-f", str(CRD))
    cluster.wait_for_crd("loadautoscalers.loadline.io")
    path = f"/apis/autoscaling/v2/namespaces/{shop}/horizontalpodautoscalers/web"
    spec = cluster.get(path)["spec"]
    metadata = {"name": "load", "namespace": shop}
    autoscaler = {
        "apiVersion": "loadline.io/v1beta1",
        "kind": "LoadAutoscaler",
        "metadata": metadata,
    }
    until(lambda: cluster.apply(autoscaler | {"spec": spec}) or True, what="the new kind")
    output = msgspec.json.decode(explain(f"{shop}/load", "--output=json").stdout)
    of_the_hpa = msgspec.json.decode(explain(f"{shop}/web", "--output=json").stdout)
    paths = [
        [each["path"] for each in document["explanations"]] for document in (output, of_the_hpa)
    ]
    assert paths[0] == paths[1]
    assert explain(f"hpa/{shop}/load").returncode == 1


def test_a_missing_autoscaler_is_reported(explain, namespace):
    output = explain(f"{namespace}/none")
    assert output.returncode == 1
    assert f"there is no hpa and no la {namespace}/none" in output.stderr
