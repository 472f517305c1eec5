"""The state of a workload in the cluster: pods, replicas, its autoscaler's status and last event."""

from typing import Any

import msgspec

from testbed.demo.load_plan import NAMESPACE, WEB, WORKER, Workload
from wire.api.loadline import API_VERSION as LOADLINE
from wire.api.quantity import Quantity
from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient

AUTOSCALERS = {
    WEB.name: f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers/{WEB.name}",
    WORKER.name: f"/apis/{LOADLINE}/namespaces/{NAMESPACE}/loadautoscalers/{WORKER.name}",
}
NEEDED_CONDITIONS = ("AbleToScale", "ScalingActive")


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One workload at one moment."""

    pods: tuple[str, ...] = ()  # ready and not terminating
    replicas: int = 0  # of the Deployment's spec
    metric_per_replica: float | None = (
        None  # from the autoscaler's status; None before the first reconcile
    )
    desired_replicas: int | None = None
    trouble: str = ""  # a condition that is False, with its reason
    event: str = ""  # the last one of the autoscaler


async def observe(client: KubeClient, workload: Workload, before: Observation) -> Observation:
    """Read the state from the API server. When it does not respond, `before` is returned with the error in `trouble`."""
    try:
        pods = await _get(
            client, f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app%3D{workload.name}"
        )
        deployment = await _get(
            client, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{workload.name}"
        )
        autoscaler = await _get(client, AUTOSCALERS[workload.name])
        events = await _get(
            client,
            f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.name%3D{workload.name}"
            f"%2CinvolvedObject.kind%3D{workload.kind}",
        )
    except (StatusError, Unavailable) as error:
        return msgspec.structs.replace(before, trouble=str(error))
    status = autoscaler.get("status", {})
    return Observation(
        pods=tuple(sorted(pod["metadata"]["name"] for pod in pods["items"] if _serves(pod))),
        replicas=deployment["spec"]["replicas"],
        metric_per_replica=_metric(status),
        desired_replicas=status.get("desiredReplicas"),
        trouble=_trouble(status),
        event=_last(events["items"]),
    )


async def _get(client: KubeClient, path: str) -> Any:
    return msgspec.json.decode(await client.get(path))


def _serves(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _metric(status: dict[str, Any]) -> float | None:
    for metric in status.get("currentMetrics") or ():
        source = metric.get("pods") or metric.get("external") or {}
        average = source.get("current", {}).get("averageValue")
        if average is not None:
            return Quantity.parse(average).milli_value() / 1000
    return None


def _trouble(status: dict[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] in NEEDED_CONDITIONS and condition["status"] == "False":
            return f"{condition['type']}=False {condition['reason']}: {condition['message']}"
    return ""


def _last(events: list[dict[str, Any]]) -> str:
    if not events:
        return ""
    latest = max(events, key=lambda e: e.get("lastTimestamp") or e["metadata"]["creationTimestamp"])
    return f"{latest['reason']}: {latest['message']}"
