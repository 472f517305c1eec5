"""The real scaler is killed in the middle of a burst, after it has scaled targets and before it has written their statuses."""

from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.scaler_objects import autoscaler, workload
from tests.process.scaler.conftest import waiting

TARGETS = 60
FLAGS = ("--stream-metrics", "--reconcile-on-change")


class Namespace:
    """The targets and autoscalers of a namespace, read in one request each."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def _listed(self, resource: str):
        group, version, plural = resource.split("/")
        path = f"/apis/{group}/{version}/namespaces/{self._namespace}/{plural}"
        return self._cluster.get(path)["items"]

    def scaled_to(self, replicas: int) -> set[str]:
        """The targets with so many."""
        found = self._listed("apps/v1/deployments")
        return {each["metadata"]["name"] for each in found if each["spec"]["replicas"] == replicas}

    def changes(self) -> dict[str, int]:
        """How often the spec of each target was changed since it was created."""
        found = self._listed("apps/v1/deployments")
        return {each["metadata"]["name"]: each["metadata"]["generation"] - 1 for each in found}

    def reported(self, replicas: int) -> set[str]:
        """The autoscalers whose status wants so many."""
        found = self._listed("loadline.io/v1beta1/loadautoscalers")
        return {
            each["metadata"]["name"]
            for each in found
            if each.get("status", {}).get("desiredReplicas") == replicas
        }


def test_targets_that_were_scaled_without_a_status_are_not_scaled_again(
    direct_scaler, adapter, cluster
):
    scaler = direct_scaler("--sync-period=15s", *adapter.scaler_flags, *FLAGS)
    documents = []
    names = ["web", *(f"web-{number}" for number in range(1, TARGETS))]
    for name in names[1:]:
        documents.append(workload("Deployment", scaler.namespace, 1, name))
        documents.append(autoscaler(scaler.namespace, waiting("waiting"), name=name, target=name))
    cluster.apply(*documents)
    found = Namespace(cluster, scaler.namespace)
    until(lambda: found.reported(1) == set(names), what="the first statuses", deadline_seconds=60)
    scaler.set_waiting(40)
    until(lambda: len(found.scaled_to(4)) >= 5, what="the first scales", every_seconds=0.001)
    scaler.program.kill()
    without_a_status = found.scaled_to(4) - found.reported(4)
    assert len(without_a_status) > 1, "it was killed between the scales and the statuses"
    scaler.restart()
    until(lambda: found.reported(4) == set(names), what="the last statuses", deadline_seconds=60)
    assert found.changes() == dict.fromkeys(names, 1)
