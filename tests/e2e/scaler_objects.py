"""Objects of the scaler's end-to-end tests: workloads, autoscalers, and waiting for results."""

from collections.abc import Callable
from typing import Any

from testbed.cluster import Cluster
from testbed.programs import CRD
from testbed.waiting import until

MEMORY_CRD = CRD.with_name("scalingmemories.yaml")
HPA, LA = "autoscaling/v2", "loadline.io/v1beta1"
KINDS = {HPA: "HorizontalPodAutoscaler", LA: "LoadAutoscaler"}
PLURALS = {HPA: "horizontalpodautoscalers", LA: "loadautoscalers"}
Json = dict[str, Any]


def workload(kind: str, namespace: str, replicas: int, name: str = "web") -> Json:
    """A scalable workload with pods labelled app=NAME."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            **({"serviceName": name} if kind == "StatefulSet" else {}),
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "main"}]},
            },
        },
    }


def autoscaler(
    namespace: str,
    metric: Json,
    *,
    api_version: str = LA,
    target_version: str = "apps/v1",
    kind: str = "Deployment",
    name: str = "web",
    target: str = "web",
    **spec: Any,
) -> Json:
    """An autoscaler with one metric."""
    return {
        "apiVersion": api_version,
        "kind": KINDS[api_version],
        "metadata": {"name": name, "namespace": namespace, "labels": {"kept": "yes"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": target_version, "kind": kind, "name": target},
            "maxReplicas": 6,
            "metrics": [metric],
            **spec,
        },
    }


def queue(average: str, name: str = "queue_length") -> Json:
    """The length of the queue `mail`, with a target per replica."""
    return {
        "type": "External",
        "external": {
            "metric": {"name": name, "selector": {"matchLabels": {"queue": "mail"}}},
            "target": {"type": "AverageValue", "averageValue": average},
        },
    }


def plain_queue(average: str) -> Json:
    """The External metric `queue` without a selector, with a target per replica."""
    target = {"type": "AverageValue", "averageValue": average}
    return {"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}


# The group and version of the targets.
API_OF_TARGET = {"deployment": "apps/v1", "statefulset": "apps/v1", "workload": "example.com/v1"}


class Workspace:
    """One autoscaler and the target of its name: reads their state and waits for results."""

    def __init__(
        self, cluster: Cluster, namespace: str, api_version: str = LA, name: str = "web"
    ) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self.name = name
        self._path = f"/apis/{api_version}/namespaces/{namespace}/{PLURALS[api_version]}/{name}"

    def replicas(self, resource: str = "deployment") -> int:
        """The replicas in the target's spec."""
        name = resource.lower()
        path = f"/apis/{API_OF_TARGET[name]}/namespaces/{self.namespace}/{name}s/{self.name}"
        return int(self._cluster.get(path)["spec"]["replicas"])

    def reaches(
        self, wanted: int, resource: str = "deployment", *, deadline_seconds: float = 30.0
    ) -> None:
        """Wait until the target has so many replicas."""

        def reached() -> bool:
            found = self.replicas(resource)
            assert found == wanted, f"it has {found}"
            return True

        until(
            reached,
            what=f"{resource} {self.name} to have {wanted} replicas",
            deadline_seconds=deadline_seconds,
        )

    def status(self) -> Json:
        found: Json = self.read().get("status", {})
        return found

    def metric(self, index: int, status: Json | None = None) -> Json:
        """One of the current metrics, of this status or that of now; fails until one is written: an HPA has null before."""
        found = (status or self.status()).get("currentMetrics") or []
        assert len(found) > index, found
        return dict(found[index])

    def read(self) -> Json:
        """Read the autoscaler."""
        found: Json = self._cluster.get(self._path)
        return found

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message by type."""
        return {
            each["type"]: (each["status"], each["reason"], each["message"])
            for each in self.status().get("conditions", [])
        }

    def has_condition(
        self,
        kind: str,
        status: str,
        reason: str,
        message_begins: str = "",
        *,
        deadline_seconds: float = 30.0,
    ) -> str:
        """Wait for the condition; returns its message."""

        def has() -> str:
            found = self.conditions().get(kind, ("", "", ""))
            assert found[:2] == (status, reason), found
            assert found[2].startswith(message_begins), found
            return found[2]

        what = f"condition {kind}={status}/{reason}"
        return until(has, what=what, deadline_seconds=deadline_seconds)

    def events(self) -> list[Json]:
        path = f"/api/v1/namespaces/{self.namespace}/events"
        return [
            event
            for event in self._cluster.get(path)["items"]
            if event["involvedObject"]["name"] == self.name
            and event["source"].get("component") == "loadline-scaler"
        ]

    def has_event(self, reason: str, test: Callable[[str], bool] = bool) -> Json:
        def has() -> Json:
            found = [each for each in self.events() if each["reason"] == reason]
            matching = [each for each in found if test(each["message"])]
            assert matching, found
            return matching[0]

        return until(has, what=f"event {reason}")
