"""The fields that only a LoadAutoscaler has, on a real control plane, with metrics from Prometheus."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scaler.__main__ import main
from testbed.access import RequestFailed
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.registered_adapter import registered_adapter
from tests.e2e.scaler_objects import CRD, HPA, Workspace, autoscaler, queue, workload

CONFIGURATION = """
metrics:
- {name: connections, describes: pods, query: 'sum by (namespace, pod) (connections)'}
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
"""
PAGE = Path(__file__).with_name("scaler_fields.md").read_text()
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SLOW_UP = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1800}]}


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """Both metrics APIs."""
    directory = tmp_path_factory.mktemp("adapter")
    flags = ("--metrics-max-age=1h",)
    with registered_adapter(cluster, prometheus, CONFIGURATION, directory, *flags) as running:
        yield running


@pytest.fixture(scope="module")
def scaler(
    cluster: Cluster, adapter: LoadlineProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """A scaler with a short sync period, for LoadAutoscalers of every namespace."""
    cluster.apply(CRD.read_text())
    running = start_program(
        "scaler",
        f"--kubeconfig={cluster.kubeconfig}",
        "--sync-period=500ms",
        "--downscale-stabilization=1s",
        log_directory=tmp_path_factory.mktemp("scaler"),
    )
    yield running
    assert running.stop() == 0


@pytest.fixture
def workspace(cluster: Cluster, namespace: str, scaler: LoadlineProcess) -> Workspace:
    return Workspace(cluster, namespace)


def applied(cluster: Cluster, workspace: Workspace, *metrics: Any, replicas: int = 1, **spec: Any):
    """A deployment and its LoadAutoscaler on these metrics."""
    first, *others = metrics
    document = autoscaler(workspace.namespace, first, **spec)
    document["spec"]["metrics"] += others
    cluster.apply(workload("Deployment", workspace.namespace, replicas), document)


def changed(cluster: Cluster, workspace: Workspace, **spec: Any) -> None:
    """A merge patch of the LoadAutoscaler's spec."""
    cluster.kubectl(
        "patch", "la", "web", "--namespace", workspace.namespace,
        "--type=merge", "--patch", json.dumps({"spec": spec}),
    )  # fmt: skip


def documented(kind: str, message: str) -> None:
    """The page about the fields shows this condition as it was seen here."""
    assert f"`{kind}`: {message}" in PAGE


def connections_per_pod(average: str, **fields: str) -> dict[str, Any]:
    """A Pods metric."""
    target = {"type": "AverageValue", "averageValue": average}
    pods = {"metric": {"name": "connections"}, "target": target}
    return {"type": "Pods", "pods": pods, **fields}


def test_a_dry_run_beside_an_hpa_shows_what_it_would_do(cluster, exporter, workspace):
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    cluster.apply(autoscaler(workspace.namespace, queue("30"), api_version=HPA))
    applied(cluster, workspace, queue("15"), mode="DryRun")
    workspace.reaches(2)
    documented("DryRun", workspace.has_condition("DryRun", "True", "DryRun"))
    until(
        lambda: (
            (found := workspace.status()).get("desiredReplicas") == 4
            and found["currentReplicas"] == 2
        ),
        what="a proposal of 4 beside 2 replicas",
    )
    row = cluster.kubectl("get", "la", "--namespace", workspace.namespace, "--output=wide")
    assert row.splitlines()[1].split()[6:8] == ["2", "4"]
    assert "DryRun" in row
    assert workspace.has_event("DryRunRescale")["type"] == "Normal"
    cluster.kubectl("delete", "hpa", "web", "--namespace", workspace.namespace)
    changed(cluster, workspace, mode="Enforce")
    workspace.reaches(4)


def test_a_suspension_ends_by_itself(cluster, exporter, workspace):
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    until_ = (datetime.now(UTC) + timedelta(seconds=30)).isoformat(timespec="seconds")
    applied(cluster, workspace, queue("30"), suspend={"direction": "Up", "until": until_})
    message = workspace.has_condition("Suspended", "True", "Suspended")
    documented("Suspended", message.partition(" until ")[0])
    until(
        lambda: workspace.status().get("decision", {}).get("proposedReplicas") == 3,
        what="the proposal",
    )
    assert workspace.status()["decision"]["heldBy"] == "Suspended"
    assert workspace.replicas() == 1
    workspace.reaches(3, deadline_seconds=60)
    workspace.has_condition("Suspended", "False", "SuspensionEnded")


def test_a_target_goes_to_zero_below_the_activation_value_and_leaves_it_above(
    cluster, exporter, workspace
):
    exporter.set("queue_length", 5, namespace=workspace.namespace, queue="mail")
    applied(
        cluster,
        workspace,
        {**queue("30"), "name": "mail", "activationValue": "5"},
        minReplicas=0,
        scaleToZero={"cooldownSeconds": 2},
        behavior={"scaleDown": {"stabilizationWindowSeconds": 0}},
    )
    workspace.reaches(0)
    documented("ScaledToZero", workspace.has_condition("ScaledToZero", "True", "ScaledToZero"))
    exporter.set("queue_length", 6, namespace=workspace.namespace, queue="mail")
    workspace.reaches(1)


def test_a_metric_that_fails_counts_as_its_fallback(cluster, exporter, workspace):
    fallback = {"type": "Replicas", "replicas": 4, "failureDurationSeconds": 2}
    metric = {**queue("30", "not_served"), "name": "mail", "fallback": fallback}
    applied(cluster, workspace, metric)
    workspace.reaches(4)
    message = workspace.has_condition("MetricFallbackActive", "True", "MetricFailing")
    documented("MetricFallbackActive", message)
    workspace.has_event("FailedGetExternalMetric")


@pytest.mark.parametrize(
    ("fallback", "reason"),
    [
        ({"type": "Hold"}, "keeps the replicas"),
        ({"type": "LastValue", "lastValueMaxAgeSeconds": 3600}, "counts with its last value"),
    ],
    ids=["Hold", "LastValue"],
)
def test_a_metric_that_fails_later_keeps_what_it_proposed(
    cluster, exporter, workspace, fallback, reason
):
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    fallback = {"failureDurationSeconds": 1, **fallback}
    applied(cluster, workspace, {**queue("30"), "name": "mail", "fallback": fallback})
    workspace.reaches(3)
    exporter.remove("queue_length", namespace=workspace.namespace, queue="mail")
    message = workspace.has_condition("MetricFallbackActive", "True", "MetricFailing")
    assert message == f"metric mail has failed for too long and {reason}"
    documented("MetricFallbackActive", message)
    assert workspace.replicas() == 3


def test_a_sync_period_of_an_autoscaler_replaces_that_of_the_scaler(cluster, exporter, workspace):
    exporter.set("queue_length", 30, namespace=workspace.namespace, queue="mail")
    external = (
        f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{workspace.namespace}/queue_length"
    )

    def is_served() -> bool:
        try:
            return bool(cluster.get(external)["items"])
        except RequestFailed as not_yet:
            raise AssertionError("the metric is not known yet") from not_yet

    until(is_served, what="a value, before the only reconcile of an hour")
    applied(cluster, workspace, queue("30"), syncPeriodSeconds=3600)
    workspace.has_condition("ScalingActive", "True", "ValidMetricFound")
    reference = Workspace(cluster, workspace.namespace, name="other")
    other = autoscaler(workspace.namespace, queue("30"), name="other", target="other")
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    cluster.apply(workload("Deployment", workspace.namespace, 1, name="other"), other)
    reference.reaches(3)
    assert workspace.replicas() == 1
    changed(cluster, workspace, syncPeriodSeconds=1)
    workspace.reaches(3)


@pytest.mark.parametrize(("rollout", "replicas"), [("Count", 6), ("IgnoreSurge", 5), ("HoldUp", 4)])
def test_the_pods_of_a_rollout_count_as_its_policy_says(
    cluster, exporter, workspace, rollout, replicas
):
    target = workload("Deployment", workspace.namespace, 4)
    # A rollout that creates one pod more and then waits: no new pod counts as available.
    target["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    target["spec"]["minReadySeconds"] = 3600
    target["spec"]["progressDeadlineSeconds"] = 7200
    cluster.apply(target)
    path = f"/api/v1/namespaces/{workspace.namespace}/pods"

    def ready() -> list[str]:
        return [
            each["metadata"]["name"]
            for each in cluster.get(path)["items"]
            if any(
                (condition["type"], condition["status"]) == ("Ready", "True")
                for condition in each.get("status", {}).get("conditions", ())
            )
        ]

    until(lambda: len(ready()) == 4, what="four pods to be ready")
    target["spec"]["template"]["metadata"]["annotations"] = {"revision": "2"}
    cluster.apply(target)
    until(lambda: len(ready()) == 5, what="a fifth pod to be ready")
    for pod in ready():
        exporter.set("connections", 12, namespace=workspace.namespace, pod=pod)
    readiness = {"rollout": rollout}
    cluster.apply(
        autoscaler(workspace.namespace, connections_per_pod("10"), podReadiness=readiness)
    )
    until(
        lambda: (
            workspace.status().get("decision", {}).get("proposedReplicas") == 6
            if rollout == "Count"
            else workspace.has_condition("RolloutHeld", "True", "RolloutInProgress")
        ),
        what="a decision on five pods",
    )
    if rollout != "Count":
        documented("RolloutHeld", workspace.conditions()["RolloutHeld"][2])
    workspace.reaches(replicas)


def test_a_panic_is_not_limited_by_policies(cluster, exporter, workspace):
    exporter.set("queue_length", 30, namespace=workspace.namespace, queue="mail")
    up = {**SLOW_UP, "panic": {"thresholdPercent": 300, "windowSeconds": 1, "holdSeconds": 3600}}
    applied(cluster, workspace, queue("30"), behavior={"scaleUp": up})
    workspace.has_condition("Panicking", "False", "NotPanicking")
    exporter.set("queue_length", 180, namespace=workspace.namespace, queue="mail")
    workspace.reaches(6)
    documented("Panicking", workspace.has_condition("Panicking", "True", "Panicking"))
    exporter.set("queue_length", 30, namespace=workspace.namespace, queue="mail")
    until(
        lambda: workspace.status().get("decision", {}).get("proposedReplicas") == 1,
        what="the lower proposal",
    )
    assert workspace.replicas() == 6


def test_pods_that_do_not_become_ready_stop_the_climb(cluster, exporter, workspace):
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    target = workload("Deployment", workspace.namespace, 1)
    # No node has this label, so the pods stay pending.
    target["spec"]["template"]["spec"]["nodeSelector"] = {"does-not": "exist"}
    up = {"futility": {"readyTimeoutSeconds": 1, "maxUnreadyReplicas": 2}}
    cluster.apply(target, autoscaler(workspace.namespace, queue("30"), behavior={"scaleUp": up}))
    workspace.reaches(2)
    message = workspace.has_condition("FutileScaleUp", "True", "PodsNotReady")
    documented("FutileScaleUp", message.partition(": web-")[0])
    exporter.set("queue_length", 180, namespace=workspace.namespace, queue="mail")
    until(
        lambda: workspace.status().get("decision", {}).get("proposedReplicas") == 6,
        what="the higher proposal",
    )
    assert workspace.replicas() == 2


def test_the_least_busy_pod_is_deleted(cluster, exporter, workspace):
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    connections = connections_per_pod("10", name="connections", use="Input")
    down = {"podDeletionCost": {"metric": "connections"}, "stabilizationWindowSeconds": 0}
    applied(cluster, workspace, queue("30"), connections, replicas=3, behavior={"scaleDown": down})
    path = f"/api/v1/namespaces/{workspace.namespace}/pods"

    def pods() -> list[str]:
        return sorted(each["metadata"]["name"] for each in cluster.get(path)["items"])

    until(lambda: len(pods()) == 3, what="three pods")
    first, idle, third = pods()
    for pod, amount in ((first, 9), (idle, 1), (third, 5)):
        exporter.set("connections", amount, namespace=workspace.namespace, pod=pod)
    until(
        lambda: workspace.metric(1).get("pods", {}).get("current") == {"averageValue": "5"},
        what="the connections of all pods",
    )
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    workspace.reaches(2)
    until(lambda: pods() == [first, third], what="the idle pod to be deleted")


def test_a_deletion_cost_that_a_user_has_set_stays(cluster, exporter, workspace):
    """The least busy pod has one, so the next one is deleted."""
    exporter.set("queue_length", 90, namespace=workspace.namespace, queue="mail")
    connections = connections_per_pod("10", name="connections", use="Input")
    down = {"podDeletionCost": {"metric": "connections"}, "stabilizationWindowSeconds": 0}
    path = f"/api/v1/namespaces/{workspace.namespace}/pods"
    cluster.apply(workload("Deployment", workspace.namespace, 3))
    until(lambda: len(cluster.get(path)["items"]) == 3, what="three pods")
    names = sorted(each["metadata"]["name"] for each in cluster.get(path)["items"])
    idle, quiet, busy = names
    for pod, amount in ((idle, 1), (quiet, 5), (busy, 9)):
        exporter.set("connections", amount, namespace=workspace.namespace, pod=pod)
    cluster.kubectl("annotate", f"pod/{idle}", f"-n{workspace.namespace}", f"{DELETION_COST}=100")
    applied(cluster, workspace, queue("30"), connections, replicas=3, behavior={"scaleDown": down})
    until(
        lambda: workspace.metric(1).get("pods", {}).get("current") == {"averageValue": "5"},
        what="the connections of all pods",
    )
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    workspace.reaches(2)

    def kept() -> bool:
        found = {each["metadata"]["name"]: each["metadata"] for each in cluster.get(path)["items"]}
        assert sorted(found) == [idle, busy]
        assert found[idle]["annotations"] == {DELETION_COST: "100"}
        return True

    until(kept, what="the pod with the second lowest value to be deleted")


def test_a_simulation_decides_like_the_running_scaler(cluster, exporter, workspace, capsys):
    exporter.set("queue_length", 60, namespace=workspace.namespace, queue="mail")
    applied(cluster, workspace, queue("30"))
    workspace.reaches(2)
    key = f"{workspace.namespace}/web"
    flags = [f"--kubeconfig={cluster.kubeconfig}", "--downscale-stabilization=1s"]
    assert main(["simulate", *flags, key]) == 0
    assert capsys.readouterr().out.startswith(f"{key} stays at 2 replicas.")
    assert main(["simulate", *flags, key, "--metric=queue_length=120"]) == 0
    assert capsys.readouterr().out.startswith(f"{key} goes from 2 to 4 replicas.")
    assert main(["simulate", *flags, f"{workspace.namespace}/none"]) == 1
    assert workspace.replicas() == 2
