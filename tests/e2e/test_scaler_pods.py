"""Which pods count for a LoadAutoscaler, and as what, on a real control plane with metrics from Prometheus."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.programs import CRD, LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.registered_adapter import CUSTOM, RESOURCE, registered_adapter
from tests.e2e.scaler_objects import Workspace, autoscaler, workload
from tests.e2e.test_scaler_fields import connections_per_pod, documented

CONFIGURATION = """
metrics:
- {name: connections, describes: pods, query: 'sum by (namespace, pod) (connections)'}
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
SERVED = ((CUSTOM, "v1beta1"), (CUSTOM, "v1beta2"), (RESOURCE, "v1beta1"))


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """Custom metrics, and the usage of pods."""
    directory = tmp_path_factory.mktemp("adapter")
    options = ("--metrics-max-age=1h",)
    with registered_adapter(
        cluster, prometheus, CONFIGURATION, directory, *options, served=SERVED
    ) as running:
        yield running


@pytest.fixture(scope="module")
def scaler(
    cluster: Cluster, adapter: LoadlineProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """A scaler with a short sync period, for which new pods count at once."""
    cluster.apply(CRD.read_text())
    running = start_program(
        "scaler",
        f"--kubeconfig={cluster.kubeconfig}",
        "--sync-period=500ms",
        "--downscale-stabilization=1s",
        "--cpu-initialization-period=1s",
        "--initial-readiness-delay=1s",
        log_directory=tmp_path_factory.mktemp("scaler"),
    )
    yield running
    assert running.stop() == 0


@pytest.fixture
def workspace(cluster: Cluster, namespace: str, scaler: LoadlineProcess) -> Workspace:
    return Workspace(cluster, namespace)


class Pods:
    """The pods of a namespace, and the metrics of each."""

    def __init__(self, cluster: Cluster, exporter: Exporter, namespace: str) -> None:
        self._cluster = cluster
        self._exporter = exporter
        self._namespace = namespace

    def named(self, prefix: str, phase: str, count: int) -> list[str]:
        """Wait until so many pods whose names begin like this have this phase."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"

        def found() -> list[str]:
            names = [
                each["metadata"]["name"]
                for each in self._cluster.get(path)["items"]
                if each["metadata"]["name"].startswith(prefix)
                and each["status"].get("phase") == phase
            ]
            assert len(names) == count, names
            return names

        return until(found, what=f"{count} pods {prefix}* to be {phase}")

    def have_connections(self, count: int, *names: str) -> None:
        """Each of them."""
        for name in names:
            self._exporter.set("connections", count, namespace=self._namespace, pod=name)

    def use_cpu(self, cores: float, *names: str) -> None:
        """Each of them, in its only container."""
        for name in names:
            own = {"namespace": self._namespace, "pod": name, "container": "main"}
            self._exporter.set("cpu_usage", cores, **own)
            self._exporter.set("memory_usage", 2**20, **own)

    def patch(self, name: str, subresource: str, document: dict[str, Any]) -> None:
        """A strategic merge patch of a subresource."""
        self._cluster.kubectl(
            "patch", "pod", name, "--namespace", self._namespace, f"--subresource={subresource}",
            "--type=strategic", "--patch", json.dumps(document),
        )  # fmt: skip


@pytest.fixture
def pods(cluster: Cluster, exporter: Exporter, namespace: str) -> Pods:
    return Pods(cluster, exporter, namespace)


def test_pods_that_have_succeeded_do_not_count(cluster, workspace, pods):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "report", "namespace": workspace.namespace},
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "main"}],
                },
            },
        },
    }
    cluster.apply(job, workload("Deployment", workspace.namespace, 3))
    pods.named("report", "Succeeded", 3)
    pods.have_connections(20, *pods.named("web", "Running", 3))
    cluster.apply(autoscaler(workspace.namespace, connections_per_pod("10")))
    workspace.reaches(6)


def test_an_overloaded_canary_is_scaled_although_the_average_is_at_the_target(
    cluster, workspace, pods
):
    target = workload("Deployment", workspace.namespace, 4)
    # A rollout that creates one pod more and then waits: no new pod counts as available.
    target["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    target["spec"]["minReadySeconds"] = 3600
    target["spec"]["progressDeadlineSeconds"] = 7200
    cluster.apply(target)
    stable = pods.named("web", "Running", 4)
    target["spec"]["template"]["metadata"]["annotations"] = {"revision": "2"}
    cluster.apply(target)
    [canary] = set(pods.named("web", "Running", 5)) - set(stable)
    pods.have_connections(7, *stable)
    pods.have_connections(20, canary)
    of = {"maxReplicas": 9, "podReadiness": {"rollout": "HottestRevision"}}
    cluster.apply(autoscaler(workspace.namespace, connections_per_pod("10"), **of))
    workspace.reaches(8)
    message = workspace.has_condition("HottestRevision", "True", "RolloutInProgress")
    documented("HottestRevision", message)


def test_pods_that_are_not_resized_yet_count_with_the_requests_that_they_have(
    cluster, workspace, pods
):
    target = workload("Deployment", workspace.namespace, 2)
    [container] = target["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "100m"}}
    cluster.apply(target)
    names = pods.named("web", "Running", 2)
    for name in names:
        applied = {"name": "main", "resources": {"requests": {"cpu": "100m"}}}
        pods.patch(name, "status", {"status": {"containerStatuses": [applied]}})
        wanted = {"name": "main", "resources": {"requests": {"cpu": "400m"}}}
        pods.patch(name, "resize", {"spec": {"containers": [wanted]}})
    pods.use_cpu(0.09, *names)
    cpu = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    of = {"minReplicas": 1, "podReadiness": {"requests": "Actual"}}
    cluster.apply(autoscaler(workspace.namespace, cpu, **of))
    workspace.reaches(4)
    message = workspace.has_condition("ActualRequests", "True", "ResizeInProgress")
    documented("ActualRequests", message)


def test_pods_of_another_deployment_with_the_same_labels_do_not_count(cluster, workspace, pods):
    other = workload("Deployment", workspace.namespace, 3, name="other")
    other["spec"]["template"]["metadata"]["labels"] |= {"app": "web", "role": "other"}
    other["spec"]["selector"] = {"matchLabels": {"role": "other"}}
    cluster.apply(other, workload("Deployment", workspace.namespace, 2))
    pods.have_connections(90, *pods.named("other", "Running", 3))
    pods.have_connections(20, *pods.named("web", "Running", 2))
    of = {"podSelection": "Owned"}
    cluster.apply(autoscaler(workspace.namespace, connections_per_pod("10"), **of))
    message = workspace.has_condition("PodsNotOwned", "True", "OtherPods")
    documented("PodsNotOwned", message)
    workspace.reaches(4)

    def of_its_own_pods() -> bool:
        # The status is written after the scale.
        assert workspace.status()["decision"].get("proposedReplicas") == 4
        return True

    until(of_its_own_pods, what="a decision on the connections of two pods")
