"""The scaler in place of the built-in controller, restarts of other components, and two scalers with leader election."""

import pytest

from scaler.api.upstream import minor_of, upstream_of
from testbed import apiservices, assets
from testbed.metrics_api_server import EXTERNAL
from testbed.waiting import until
from tests.e2e.scaler_objects import (
    HPA,
    LA,
    PLURALS,
    Json,
    Workspace,
    plain_queue,
    workload,
)
from tests.e2e.scaler_objects import autoscaler as any_autoscaler


def autoscaler(namespace: str, api_version: str, **spec: int) -> Json:
    """An autoscaler with a target of 10 per replica for a metric whose value the test sets."""
    limits = {"maxReplicas": 9, **spec}
    return any_autoscaler(namespace, plain_queue("10"), api_version=api_version, **limits)


@pytest.mark.deviation("event-source")
def test_an_hpa_is_scaled_in_place_of_the_built_in_controller(
    cluster, metrics_api, namespace, start_scaler
):
    start_scaler("--watch=horizontalpodautoscalers", "--downscale-stabilization=1s")
    workspace = Workspace(cluster, namespace, HPA)
    metrics_api.values[f"{namespace}/queue"] = "40"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, HPA))
    workspace.reaches(4)
    event = workspace.has_event("SuccessfulRescale")
    assert event["source"]["component"] == event["reportingComponent"] == "loadline-scaler"

    until(
        lambda: workspace.metric(0)["external"]["current"] == {"averageValue": "10"},
        what="the status of four replicas",
    )
    written = workspace.read()
    assert written["metadata"]["labels"] == {"kept": "yes"}
    assert written["status"]["currentReplicas"] == 4
    assert "decision" not in written["status"]
    assert "4" in cluster.kubectl("get", "hpa", "web", "--namespace", namespace)
    metrics_api.values[f"{namespace}/queue"] = "1"
    workspace.reaches(1)


@pytest.mark.parametrize("api_version", [HPA, LA], ids=["HPA", "LoadAutoscaler"])
def test_an_idle_workload_is_scaled_to_zero_and_back(
    cluster, metrics_api, namespace, start_scaler, api_version
):
    start_scaler(
        f"--watch={PLURALS[api_version]}",
        "--downscale-stabilization=1s",
        "--feature-gates=HPAScaleToZero=true",
    )
    workspace = Workspace(cluster, namespace, api_version)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(
        workload("Deployment", namespace, 1), autoscaler(namespace, api_version, minReplicas=0)
    )
    workspace.reaches(2)
    metrics_api.values[f"{namespace}/queue"] = "0"
    workspace.reaches(0)
    until(lambda: workspace.read()["status"].get("desiredReplicas") == 0, what="the status")
    # The controller of 1.35 has no such condition.
    marks_zero = upstream_of(minor_of(assets.chosen_kubernetes())).marks_zero
    expected = "True" if api_version == LA or marks_zero else ""
    until(
        lambda: workspace.conditions().get("ScaledToZero", [""])[0] == expected,
        what=f"ScaledToZero={expected}",
    )
    metrics_api.values[f"{namespace}/queue"] = "30"
    workspace.reaches(3)


def test_a_loadautoscaler_that_is_created_again_leaves_the_zero_of_the_scaler_and_keeps_that_of_a_user(
    cluster, metrics_api, namespace, start_scaler
):
    start_scaler("--downscale-stabilization=1s")
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "0"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA, minReplicas=0))
    workspace.reaches(0)
    workspace.has_condition("ScaledToZero", "True", "ScaledToZero")
    cluster.kubectl("delete", "loadautoscaler", "web", "--namespace", namespace)
    cluster.apply(autoscaler(namespace, LA, minReplicas=2))
    workspace.reaches(2)

    cluster.apply(autoscaler(namespace, LA, minReplicas=0))
    workspace.reaches(0)
    cluster.kubectl("delete", "loadautoscaler", "web", "--namespace", namespace)
    for replicas in (1, 0):
        cluster.kubectl(
            "scale", "deployment", "web", f"--replicas={replicas}", "--namespace", namespace
        )
    cluster.apply(autoscaler(namespace, LA, minReplicas=2))
    workspace.has_condition("ScalingActive", "False", "ScalingDisabled")
    assert workspace.replicas() == 0


@pytest.mark.deviation("zero-disables")
def test_scaling_to_zero_by_hand_disables_autoscaling(
    cluster, metrics_api, namespace, start_scaler
):
    start_scaler()
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 0), autoscaler(namespace, LA))
    until(
        lambda: workspace.conditions().get("ScalingActive", ["", ""])[1] == "ScalingDisabled",
        what="disabled",
    )
    assert workspace.replicas() == 0


def test_only_the_given_namespaces_are_scaled(cluster, metrics_api, namespace, start_scaler):
    cluster.create_namespace(f"{namespace}-other")
    start_scaler(f"--namespace={namespace}")
    for each in (namespace, f"{namespace}-other"):
        metrics_api.values[f"{each}/queue"] = "20"
        cluster.apply(workload("Deployment", each, 1), autoscaler(each, LA))
    Workspace(cluster, namespace, LA).reaches(2)
    assert "status" not in Workspace(cluster, f"{namespace}-other", LA).read()
    assert Workspace(cluster, f"{namespace}-other", LA).replicas() == 1


def test_a_restarted_scaler_keeps_the_stabilization_window(
    cluster, metrics_api, namespace, start_scaler
):
    """Within the window a low value must not undo an earlier high recommendation, even after a restart."""
    flags = ("--downscale-stabilization=10m",)
    first = start_scaler(*flags)
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "60"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    workspace.reaches(6)
    metrics_api.values[f"{namespace}/queue"] = "10"
    until(
        lambda: workspace.conditions().get("AbleToScale", ["", ""])[1] == "ScaleDownStabilized",
        what="stabilized",
    )
    first.stop()
    # Without the stored recommendations the second scaler would start from three replicas.
    cluster.kubectl("scale", "deployment", "web", "--replicas=3", "--namespace", namespace)
    start_scaler(*flags)
    workspace.reaches(6)


def test_scaling_continues_after_a_restart_of_the_api_server(
    cluster, metrics_api, namespace, start_scaler
):
    running = start_scaler("--downscale-stabilization=1s")
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    workspace.reaches(2)
    cluster.restart_apiserver()
    apiservices.wait_until_available(cluster, f"v1beta1.{EXTERNAL}")
    assert workspace.replicas() == 2
    metrics_api.values[f"{namespace}/queue"] = "50"
    workspace.reaches(5)
    assert running.get("/readyz").status == 200


def test_scale_writes_are_retried_after_conflicts(cluster, metrics_api, namespace, start_scaler):
    """Another writer of the target causes many conflicts."""
    start_scaler("--downscale-stabilization=1s")
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    workspace.reaches(2)
    for number in range(10):
        metrics_api.values[f"{namespace}/queue"] = str(10 * (3 + number % 2))
        cluster.kubectl(
            "annotate",
            "deployment",
            "web",
            f"touched={number}",
            "--overwrite",
            "--namespace",
            namespace,
        )
    workspace.reaches(4)


def test_a_standby_scaler_takes_over_when_the_leader_is_killed(
    cluster, metrics_api, namespace, start_scaler
):
    flags = (
        "--leader-elect",
        f"--leader-elect-resource-namespace={namespace}",
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=500ms",
        "--downscale-stabilization=1s",
    )
    workspace = Workspace(cluster, namespace, LA)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    first = start_scaler(*flags)
    workspace.reaches(2)
    second = start_scaler(*flags)
    assert second.get("/readyz").status == 200
    first.kill()
    metrics_api.values[f"{namespace}/queue"] = "40"
    workspace.reaches(4)
