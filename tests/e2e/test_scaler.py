"""The scaler on a real control plane: figures from Prometheus through our adapter, replicas through the Scale subresource."""

import json
from collections.abc import Iterator

import pytest

from scaler.__main__ import main
from testbed import apiservices
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import CRD, HPA, Scene, autoscaler, queue, workload

CONFIGURATION = """
metrics:
- {name: inflight, describes: pods, query: 'sum by (namespace, pod) (inflight)'}
- {name: hits, describes: services, query: 'sum by (namespace, service) (hits)'}
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
"""
SERVED = [
    ("custom.metrics.k8s.io", "v1beta1"),
    ("custom.metrics.k8s.io", "v1beta2"),
    ("external.metrics.k8s.io", "v1beta1"),
]
WORKLOADS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "workloads.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Workload", "plural": "workloads", "singular": "workload"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """Both metrics APIs, with a metric of each kind."""
    folder = tmp_path_factory.mktemp("adapter")
    (folder / "config.yaml").write_text(CONFIGURATION)
    running = start_program(
        "adapter",
        f"--config={folder / 'config.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
        "--metrics-relist-interval=1s",
        "--metrics-max-age=1h",
        log_directory=folder,
    )
    names = [
        apiservices.register(cluster, group, version, running.port) for group, version in SERVED
    ]
    for name in names:
        apiservices.wait_until_available(cluster, name)
    yield running
    for name in names:
        apiservices.unregister(cluster, name)
    running.stop()


@pytest.fixture(scope="module")
def scaler(
    cluster: Cluster, adapter: LoadlineProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """A scaler in a hurry, for LoadAutoscalers of every namespace."""
    cluster.apply(CRD.read_text(), WORKLOADS)
    running = start_program(
        "scaler",
        f"--kubeconfig={cluster.kubeconfig}",
        "--sync-period=500ms",
        "--downscale-stabilization=2s",
        "--v=4",
        log_directory=tmp_path_factory.mktemp("scaler"),
    )
    yield running
    assert running.stop() == 0


HITS = {
    "type": "Object",
    "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "front"},
        "metric": {"name": "hits"},
        "target": {"type": "Value", "value": "10"},
    },
}
INFLIGHT = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "inflight"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


@pytest.fixture
def scene(cluster: Cluster, namespace: str, scaler: LoadlineProcess) -> Scene:
    return Scene(cluster, namespace)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_an_external_metric_scales_up_and_down(cluster, exporter, scene, kind):
    exporter.set("queue_length", 90, namespace=scene.namespace, queue="mail")
    exporter.set("queue_length", 5000, namespace=scene.namespace, queue="other")
    cluster.apply(
        workload(kind, scene.namespace, 1), autoscaler(scene.namespace, queue("30"), kind=kind)
    )
    scene.reaches(3, kind)
    event = scene.has_event("SuccessfulRescale")
    assert event["message"].startswith(
        "New size: 3; reason: external metric queue_length(&LabelSelector{MatchLabels:map[string]string{queue: mail,},"
    )
    assert event["message"].endswith(" above target")
    assert event["type"] == "Normal"
    assert event["involvedObject"]["apiVersion"] == "loadline.io/v1beta1"
    exporter.set("queue_length", 30, namespace=scene.namespace, queue="mail")
    scene.reaches(1, kind)
    scene.has_event("SuccessfulRescale", "New size: 1; reason: All metrics below target".__eq__)


def test_an_object_metric_scales_up_and_down(cluster, exporter, scene):
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "front", "namespace": scene.namespace},
            "spec": {"ports": [{"port": 80}]},
        }
    )
    exporter.set("hits", 40, namespace=scene.namespace, service="front")
    cluster.apply(
        workload("Deployment", scene.namespace, 1), autoscaler(scene.namespace, HITS, maxReplicas=3)
    )
    scene.reaches(3)
    assert scene.has_condition("ScalingLimited", "True", "TooManyReplicas")
    exporter.set("hits", 2, namespace=scene.namespace, service="front")
    scene.reaches(1)


def test_a_pods_metric_scales_up_and_down(cluster, exporter, scene):
    cluster.apply(workload("Deployment", scene.namespace, 2), autoscaler(scene.namespace, INFLIGHT))

    def measured(value: float) -> None:
        for pod in cluster.get(f"/api/v1/namespaces/{scene.namespace}/pods")["items"]:
            exporter.set("inflight", value, namespace=scene.namespace, pod=pod["metadata"]["name"])

    def both_run() -> bool:
        pods = cluster.get(f"/api/v1/namespaces/{scene.namespace}/pods")["items"]
        return len(pods) == 2

    until(both_run, what="two pods")
    measured(20)
    scene.reaches(4)
    measured(1)
    scene.reaches(1)


def test_a_custom_resource_is_scaled_by_its_scale_subresource(cluster, exporter, scene):
    exporter.set("queue_length", 120, namespace=scene.namespace, queue="mail")
    workload_object = {
        "apiVersion": "example.com/v1",
        "kind": "Workload",
        "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {"replicas": 1},
    }
    cluster.apply(
        workload_object,
        autoscaler(scene.namespace, queue("30"), target_version="example.com/v1", kind="Workload"),
    )
    message = scene.has_condition("ScalingActive", "False", "InvalidSelector")
    assert message == "the HPA target's scale is missing a selector"
    patch = json.dumps({"status": {"replicas": 1, "selector": "app=web"}})
    cluster.kubectl(
        "patch",
        "workload",
        "web",
        "--namespace",
        scene.namespace,
        "--subresource=status",
        "--type=merge",
        "--patch",
        patch,
    )
    scene.reaches(4, "workload")
    exporter.set("queue_length", 0, namespace=scene.namespace, queue="mail")
    scene.reaches(1, "workload")


def test_the_status_is_that_of_an_hpa_and_more(cluster, exporter, scene):
    exporter.set("queue_length", 60, namespace=scene.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", scene.namespace, 1), autoscaler(scene.namespace, queue("30"))
    )
    scene.reaches(2)
    scene.has_condition("AbleToScale", "True", "ReadyForNewScale")
    status = until(
        lambda: (found := scene.status()).get("currentReplicas") == 2 and found, what="status"
    )
    assert status["desiredReplicas"] == 2
    assert status["currentMetrics"][0]["external"]["current"] == {"averageValue": "30"}
    assert status["observedGeneration"] == 1
    assert status["history"]["recommendations"]
    row = cluster.kubectl("get", "la", "--namespace", scene.namespace).splitlines()[1].split()
    assert row[:7] == ["web", "Deployment/web", "30/30", "(avg)", "1", "6", "2"]
    assert "decision" in status


def test_a_metric_that_cannot_be_had_keeps_the_replicas_and_says_why(cluster, scene):
    lost = queue("30", "nobody_serves_this")
    cluster.apply(workload("Deployment", scene.namespace, 3), autoscaler(scene.namespace, lost))
    message = scene.has_condition("ScalingActive", "False", "FailedGetExternalMetric")
    prefix = "the HPA was unable to compute the replica count: unable to get external metric "
    assert message.startswith(f"{prefix}{scene.namespace}/nobody_serves_this/")
    assert "unable to fetch metrics from external metrics API: " in message
    assert scene.has_event("FailedComputeMetricsReplicas")["type"] == "Warning"
    assert scene.replicas() == 3


def test_a_target_that_vanishes_is_told_and_scaled_again_when_it_is_back(cluster, exporter, scene):
    exporter.set("queue_length", 60, namespace=scene.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", scene.namespace, 1), autoscaler(scene.namespace, queue("30"))
    )
    scene.reaches(2)
    cluster.kubectl("delete", "deployment", "web", "--namespace", scene.namespace)
    message = scene.has_condition("AbleToScale", "False", "FailedGetScale")
    assert message.startswith("the HPA controller was unable to get the target's current scale: ")
    assert message.endswith('"web" not found')
    cluster.apply(workload("Deployment", scene.namespace, 1))
    scene.reaches(2)
    scene.has_condition("AbleToScale", "True", "ReadyForNewScale")


def test_a_kind_that_is_not_there_is_told_and_scaled_once_it_is(cluster, scene):
    cluster.apply(
        autoscaler(
            scene.namespace, queue("30"), target_version="nowhere.example.com/v1", kind="Thing"
        )
    )
    message = scene.has_condition("AbleToScale", "False", "FailedGetScale")
    assert message == (
        "the HPA controller was unable to get the target's current scale: "
        'no matches for kind "Thing" in group "nowhere.example.com"'
    )


def test_two_autoscalers_on_the_same_pods_are_both_refused(cluster, exporter, scene):
    exporter.set("queue_length", 180, namespace=scene.namespace, queue="mail")
    twin = autoscaler(scene.namespace, queue("30"), minReplicas=2)
    twin["metadata"]["name"] = "twin"
    cluster.apply(
        workload("Deployment", scene.namespace, 2), autoscaler(scene.namespace, queue("90")), twin
    )
    message = scene.has_condition("ScalingActive", "False", "AmbiguousSelector")
    both = f"[{scene.namespace}/twin {scene.namespace}/web]"
    assert message == f"pods by selector app=web are controlled by multiple HPAs: {both}"


def test_a_target_of_an_hpa_is_left_alone(cluster, exporter, scene):
    exporter.set("queue_length", 180, namespace=scene.namespace, queue="mail")
    hpa = autoscaler(scene.namespace, queue("90"), api_version=HPA)
    cluster.apply(workload("Deployment", scene.namespace, 1), hpa)
    scene.reaches(2)
    cluster.apply(autoscaler(scene.namespace, queue("30"), minReplicas=4))
    message = scene.has_condition("ScalingActive", "False", "AmbiguousSelector")
    assert message == (
        f"Deployment/web is scaled by HorizontalPodAutoscaler {scene.namespace}/web as well: "
        "delete one of them"
    )
    assert scene.replicas() == 2
    cluster.kubectl("delete", "hpa", "web", "--namespace", scene.namespace)
    scene.reaches(6)


def test_why_answers_from_the_running_scaler(cluster, exporter, scene, scaler, capsys):
    exporter.set("queue_length", 90, namespace=scene.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", scene.namespace, 1), autoscaler(scene.namespace, queue("30"))
    )
    scene.reaches(3)
    key = f"{scene.namespace}/web"
    flags = [f"--server={scaler.url}", f"--kubeconfig={cluster.kubeconfig}"]
    assert main(["why", *flags, key]) == 0
    assert capsys.readouterr().out.startswith(key)
    assert main(["why", *flags, "--output=json", key]) == 0
    assert json.loads(capsys.readouterr().out)["autoscaler"] == key
    assert main(["why", *flags, "default/nobody"]) == 1
    assert "no decision on default/nobody yet" in capsys.readouterr().err
