"""The metrics APIs of the model: what is measured of the workloads, in the documents of the real ones.

Every load is meant as `UNITS_PER_REPLICA` for one replica, whichever kind of metric shows it.
"""

from typing import Any

import msgspec

from tests.hpa_model.amounts import milli
from tests.simulation.cluster import Document
from tests.simulation.network import Request, Response
from tests.simulation.workloads import Workload

UNITS_PER_REPLICA = 10
CPU_PERCENT = 50
# A candidate has so many times the target of the spec.
CANDIDATE_RATIO = 2

# Of the adapter; the model has a metric for each workload.
QUEUE_METRIC, PODS_METRIC = "queue", "rps"

EXTERNAL = "external.metrics.k8s.io"
CUSTOM = "custom.metrics.k8s.io"
RESOURCE = "metrics.k8s.io"
GROUPS = {EXTERNAL: "v1beta1", CUSTOM: "v1beta2", RESOURCE: "v1beta1"}
KINDS = {EXTERNAL: "ExternalMetricValueList", CUSTOM: "MetricValueList", RESOURCE: "PodMetricsList"}


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Which metric a request is about."""

    group: str
    namespace: str
    workload: str

    @property
    def target(self) -> str:
        """The workload with its namespace."""
        return f"{self.namespace}/{self.workload}"


def metric_of(request: Request) -> Measured | None:
    """None for a request to something else than a metrics API."""
    parts = request.parts
    if len(parts) < 6 or parts[0] != "apis" or parts[1] not in GROUPS or parts[3] != "namespaces":
        return None
    # The name of the metric has that of the workload; where the adapter serves it, the selector has.
    workload = parts[-1].partition("-")[2] if parts[1] != RESOURCE else ""
    if not workload:
        workload = request.params.get("labelSelector", "").removeprefix("app=")
    return Measured(group=parts[1], namespace=parts[4], workload=workload)


def metric_spec(group: str, workload: str, *, by_adapter: bool = False) -> Document:
    """The metric of an autoscaler that follows the workload's load through that API, of the model or `by_adapter`."""
    average = {"type": "AverageValue", "averageValue": str(UNITS_PER_REPLICA)}
    if by_adapter and group == EXTERNAL:
        selected = {"name": QUEUE_METRIC, "selector": {"matchLabels": {"app": workload}}}
        return {"type": "External", "external": {"metric": selected, "target": average}}
    if by_adapter and group == CUSTOM:
        return {"type": "Pods", "pods": {"metric": {"name": PODS_METRIC}, "target": average}}
    if group == EXTERNAL:
        return {
            "type": "External",
            "external": {"metric": {"name": f"queue-{workload}"}, "target": average},
        }
    if group == CUSTOM:
        return {"type": "Pods", "pods": {"metric": {"name": f"rps-{workload}"}, "target": average}}
    target = {"type": "Utilization", "averageUtilization": CPU_PERCENT}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def answer(measured: Measured, workload: Workload, now: float) -> Response:
    """What the API says at this moment."""
    load = workload.load.at(now)
    if measured.group == EXTERNAL:
        item: Document = {
            "metricName": f"queue-{workload.name}", "metricLabels": {}, "timestamp": workload.timeline.timestamp(now),
            "value": f"{round(load * 1000)}m",
        }  # fmt: skip
        return _list("ExternalMetricValueList", f"{EXTERNAL}/v1beta1", [item])
    ready = [pod["metadata"]["name"] for pod in workload.ready_pods]
    share = load / len(ready) if ready else 0.0
    if measured.group == CUSTOM:
        items = [_pod_value(workload, name, share, now) for name in ready]
        return _list("MetricValueList", f"{CUSTOM}/v1beta2", items)
    cpu = f"{round(share / UNITS_PER_REPLICA * CPU_PERCENT * 10)}m"
    usages = [_pod_usage(workload, name, cpu, now) for name in ready]
    return _list("PodMetricsList", f"{RESOURCE}/v1beta1", usages)


def decoded(measured: Measured, body: bytes) -> Document | None:
    """The list in a response; None if it is not one that can be used."""
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
        total(found)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None
    return found if found.get("kind") == KINDS[measured.group] else None


def total(document: Document | None) -> float | None:
    """The sum of the values in a list, None of an empty one. Raises KeyError, TypeError and ValueError."""
    if document is None or not document["items"]:
        return None
    return sum(value_milli(each) for each in document["items"]) / 1000


def value_milli(item: Document) -> int:
    """That of an item of a list, in thousandths. Raises KeyError, TypeError and ValueError."""
    if "value" in item:
        return milli(item["value"])
    return sum(milli(each["usage"]["cpu"]) for each in item["containers"])


def _pod_value(workload: Workload, pod: str, value: float, now: float) -> Document:
    return {
        "describedObject": {
            "kind": "Pod",
            "namespace": workload.namespace,
            "name": pod,
            "apiVersion": "/v1",
        },
        "metric": {"name": f"rps-{workload.name}", "selector": None},
        "timestamp": workload.timeline.timestamp(now),
        "value": f"{round(value * 1000)}m",
    }


def _pod_usage(workload: Workload, pod: str, cpu: str, now: float) -> Document:
    return {
        "metadata": {"name": pod, "namespace": workload.namespace, "labels": workload.labels},
        "timestamp": workload.timeline.timestamp(now),
        "window": "30s",
        "containers": [{"name": "app", "usage": {"cpu": cpu, "memory": "64Mi"}}],
    }


def _list(kind: str, api_version: str, items: list[Any]) -> Response:
    document = {"kind": kind, "apiVersion": api_version, "metadata": {}, "items": items}
    return Response(body=msgspec.json.encode(document))
