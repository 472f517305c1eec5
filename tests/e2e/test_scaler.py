"""The scaler on a real control plane, with metrics from Prometheus through Loadline's adapter."""

import json
from collections.abc import Iterator

import pytest

from scaler.__main__ import main
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.registered_adapter import registered_adapter
from tests.e2e.scaler_objects import CRD, HPA, Json, Workspace, autoscaler, queue, workload

CONFIGURATION = """
metrics:
- {name: inflight, describes: pods, query: 'sum by (namespace, pod) (inflight)'}
- {name: hits, describes: services, query: 'sum by (namespace, service) (hits)'}
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
"""
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
    directory = tmp_path_factory.mktemp("adapter")
    flags = ("--metrics-max-age=1h",)
    with registered_adapter(cluster, prometheus, CONFIGURATION, directory, *flags) as running:
        yield running


@pytest.fixture(scope="module")
def scaler(
    cluster: Cluster, adapter: LoadlineProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """A scaler with a short sync period, for LoadAutoscalers of every namespace."""
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
def workspace(cluster: Cluster, namespace: str, scaler: LoadlineProcess) -> Workspace:
    return Workspace(cluster, namespace)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_an_external_metric_scales_up_and_down(cluster, exporter, workspace, kind):
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    exporter.set("queue_length", 5000, namespace=workspace.namespace, queue="other")
    cluster.apply(
        workload(kind, workspace.namespace, 1),
        autoscaler(workspace.namespace, queue("30"), kind=kind),
    )
    workspace.reaches(3, kind)
    event = workspace.has_event("SuccessfulRescale")
    assert event["message"].startswith(
        "New size: 3; reason: external metric queue_length(&LabelSelector{MatchLabels:map[string]string{queue: mail,},"
    )
    assert event["message"].endswith(" above target")
    assert event["type"] == "Normal"
    assert event["involvedObject"]["apiVersion"] == "loadline.io/v1beta1"
    exporter.set("queue_length", 30, namespace=workspace.namespace, queue="mail")
    workspace.reaches(1, kind)
    workspace.has_event("SuccessfulRescale", "New size: 1; reason: All metrics below target".__eq__)


def test_an_object_metric_scales_up_and_down(cluster, exporter, workspace):
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "front", "namespace": workspace.namespace},
            "spec": {"ports": [{"port": 80}]},
        }
    )
    exporter.set("hits", 40, namespace=workspace.namespace, service="front")
    cluster.apply(
        workload("Deployment", workspace.namespace, 1),
        autoscaler(workspace.namespace, HITS, maxReplicas=3),
    )
    workspace.reaches(3)
    assert workspace.has_condition("ScalingLimited", "True", "TooManyReplicas")
    exporter.set("hits", 2, namespace=workspace.namespace, service="front")
    workspace.reaches(1)


def test_a_pods_metric_scales_up_and_down(cluster, exporter, workspace):
    """All pods have a value at each step: a pod without one would limit how far it is scaled down."""
    cluster.apply(
        workload("Deployment", workspace.namespace, 2), autoscaler(workspace.namespace, INFLIGHT)
    )

    def set_inflight(value: float, pods: int) -> None:
        path = f"/api/v1/namespaces/{workspace.namespace}/pods"
        until(lambda: len(cluster.get(path)["items"]) == pods, what=f"{pods} pods")
        for pod in cluster.get(path)["items"]:
            exporter.set(
                "inflight", value, namespace=workspace.namespace, pod=pod["metadata"]["name"]
            )

    set_inflight(20, pods=2)
    workspace.reaches(4)
    set_inflight(1, pods=4)
    workspace.reaches(1)


def test_a_custom_resource_is_scaled_by_its_scale_subresource(cluster, exporter, workspace):
    exporter.set("queue_length", 120, namespace=workspace.namespace, queue="mail")
    workload_object = {
        "apiVersion": "example.com/v1",
        "kind": "Workload",
        "metadata": {"name": "web", "namespace": workspace.namespace},
        "spec": {"replicas": 1},
    }
    cluster.apply(
        workload_object,
        autoscaler(
            workspace.namespace, queue("30"), target_version="example.com/v1", kind="Workload"
        ),
    )
    message = workspace.has_condition("ScalingActive", "False", "InvalidSelector")
    assert message == "the HPA target's scale is missing a selector"
    patch = json.dumps({"status": {"replicas": 1, "selector": "app=web"}})
    cluster.kubectl(
        "patch",
        "workload",
        "web",
        "--namespace",
        workspace.namespace,
        "--subresource=status",
        "--type=merge",
        "--patch",
        patch,
    )
    workspace.reaches(4, "workload")
    exporter.set("queue_length", 0, namespace=workspace.namespace, queue="mail")
    workspace.reaches(1, "workload")


def test_the_status_has_the_fields_of_an_hpa_and_more(cluster, exporter, workspace):
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", workspace.namespace, 1), autoscaler(workspace.namespace, queue("30"))
    )
    workspace.reaches(2)
    workspace.has_condition("AbleToScale", "True", "ReadyForNewScale")

    def of_both_replicas() -> Json:
        found = workspace.status()
        assert found["currentReplicas"] == 2
        assert workspace.metric(0, found)["external"]["current"] == {"averageValue": "30"}
        return found

    status = until(of_both_replicas, what="the status of a reconcile with both replicas")
    assert status["desiredReplicas"] == 2
    assert status["observedGeneration"] == 1
    assert status["history"]["recommendations"]
    row = cluster.kubectl("get", "la", "--namespace", workspace.namespace).splitlines()[1].split()
    assert row[:7] == ["web", "Deployment/web", "30/30", "(avg)", "1", "6", "2"]
    assert "decision" in status


def test_a_missing_metric_keeps_the_replicas_and_sets_a_condition(cluster, workspace):
    missing = queue("30", "not_served")
    cluster.apply(
        workload("Deployment", workspace.namespace, 3), autoscaler(workspace.namespace, missing)
    )
    message = workspace.has_condition("ScalingActive", "False", "FailedGetExternalMetric")
    prefix = "the HPA was unable to compute the replica count: unable to get external metric "
    assert message.startswith(f"{prefix}{workspace.namespace}/not_served/")
    assert "unable to fetch metrics from external metrics API: " in message
    assert workspace.has_event("FailedComputeMetricsReplicas")["type"] == "Warning"
    assert workspace.replicas() == 3


def test_a_deleted_target_is_reported_and_scaled_again_once_it_is_back(
    cluster, exporter, workspace
):
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", workspace.namespace, 1), autoscaler(workspace.namespace, queue("30"))
    )
    workspace.reaches(2)
    cluster.kubectl("delete", "deployment", "web", "--namespace", workspace.namespace)
    message = workspace.has_condition("AbleToScale", "False", "FailedGetScale")
    assert message.startswith("the HPA controller was unable to get the target's current scale: ")
    assert message.endswith('"web" not found')
    cluster.apply(workload("Deployment", workspace.namespace, 1))
    workspace.reaches(2)
    workspace.has_condition("AbleToScale", "True", "ReadyForNewScale")


def test_an_unknown_kind_is_reported(cluster, workspace):
    cluster.apply(
        autoscaler(
            workspace.namespace, queue("30"), target_version="nowhere.example.com/v1", kind="Thing"
        )
    )
    message = workspace.has_condition("AbleToScale", "False", "FailedGetScale")
    assert message == (
        "the HPA controller was unable to get the target's current scale: "
        'no matches for kind "Thing" in group "nowhere.example.com"'
    )


def test_two_autoscalers_on_the_same_pods_are_both_disabled(cluster, exporter, workspace):
    exporter.set("queue_length", 180, namespace=workspace.namespace, queue="mail")
    twin = autoscaler(workspace.namespace, queue("30"), minReplicas=2)
    twin["metadata"]["name"] = "twin"
    cluster.apply(
        workload("Deployment", workspace.namespace, 2),
        autoscaler(workspace.namespace, queue("90")),
        twin,
    )
    message = workspace.has_condition("ScalingActive", "False", "AmbiguousSelector")
    assert message == (
        f"Deployment/web is scaled by LoadAutoscaler {workspace.namespace}/twin as well: "
        "delete one of them"
    )


def test_the_target_of_an_hpa_is_not_scaled(cluster, exporter, workspace):
    exporter.set("queue_length", 180, namespace=workspace.namespace, queue="mail")
    hpa = autoscaler(workspace.namespace, queue("90"), api_version=HPA)
    cluster.apply(workload("Deployment", workspace.namespace, 1), hpa)
    workspace.reaches(2)
    cluster.apply(autoscaler(workspace.namespace, queue("30"), minReplicas=4))
    message = workspace.has_condition("ScalingActive", "False", "AmbiguousSelector")
    assert message == (
        f"Deployment/web is scaled by HorizontalPodAutoscaler {workspace.namespace}/web as well: "
        "delete one of them"
    )
    assert workspace.replicas() == 2
    cluster.kubectl("delete", "hpa", "web", "--namespace", workspace.namespace)
    workspace.reaches(6)


def test_why_explains_a_decision_of_the_running_scaler(
    cluster, exporter, workspace, scaler, capsys
):
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    cluster.apply(
        workload("Deployment", workspace.namespace, 1), autoscaler(workspace.namespace, queue("30"))
    )
    workspace.reaches(3)
    # The decision is kept when its reconcile has ended, after the scale.
    workspace.has_condition("AbleToScale", "True", "ReadyForNewScale")
    key = f"{workspace.namespace}/web"
    flags = [
        f"--server={scaler.url}",
        f"--kubeconfig={cluster.kubeconfig}",
        "--insecure-skip-tls-verify",
    ]
    assert main(["why", *flags, key]) == 0
    assert capsys.readouterr().out.startswith(key)
    assert main(["why", *flags, "--output=json", key]) == 0
    assert json.loads(capsys.readouterr().out)["autoscaler"] == key
    assert main(["why", *flags, "default/none"]) == 1
    assert "no decision on default/none" in capsys.readouterr().err
