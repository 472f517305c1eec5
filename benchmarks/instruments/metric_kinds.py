"""PURE  The four kinds of metrics: what an autoscaler on one has in its spec, and what the metrics API returns.

Each is made so that autoscaler `number` needs `replicas(number)` replicas, with three pods where pods are measured.
A `share` of a few percent less than 1 changes the value, but not the replicas.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

METRIC = "queue_depth"
TARGET = 10
"""The target value per replica."""
PODS = 3
CPU_REQUEST_MILLI, CPU_PERCENT = 600, 50
SHARES = (1.0, 0.99, 0.98, 0.97)
"""Of the value, in turns, while the metrics change."""
SINCE = "2026-01-01T00:00:00Z"


class MetricKind(StrEnum):
    """The type of a metric in `spec.metrics`."""

    EXTERNAL = "External"
    OBJECT = "Object"
    PODS = "Pods"
    RESOURCE = "Resource"

    @property
    def group(self) -> str:
        """The API group that serves it."""
        return _APIS[self][0]

    @property
    def version(self) -> str:
        """The version of that group."""
        return _APIS[self][1]

    @property
    def has_pods(self) -> bool:
        """Whether the targets need pods."""
        return self in (MetricKind.PODS, MetricKind.RESOURCE)


_APIS = {
    MetricKind.EXTERNAL: ("external.metrics.k8s.io", "v1beta1"),
    MetricKind.OBJECT: ("custom.metrics.k8s.io", "v1beta2"),
    MetricKind.PODS: ("custom.metrics.k8s.io", "v1beta2"),
    MetricKind.RESOURCE: ("metrics.k8s.io", "v1beta1"),
}


def replicas(number: int) -> int:
    """The replicas for the value of this autoscaler's metric: few enough for a single scale-up from 1.

    Not as many as there are pods: their average would be at the target, whatever the replicas are.
    """
    return (2, 4, 5)[number % 3]


def depth(number: int) -> int:
    """The value for all pods together."""
    return TARGET * replicas(number)


def metric_spec(kind: MetricKind, number: int, metric: str = METRIC) -> dict[str, Any]:
    """The metric of an autoscaler, which no other one reads."""
    average = {"type": "AverageValue", "averageValue": str(TARGET)}
    match kind:
        case MetricKind.EXTERNAL:
            named = {"name": metric, "selector": {"matchLabels": {"queue": str(number)}}}
            return {"type": kind, "external": {"metric": named, "target": average}}
        case MetricKind.OBJECT:
            described = {"apiVersion": "v1", "kind": "Service", "name": f"web-{number}"}
            source = {"metric": {"name": metric}, "describedObject": described, "target": average}
            return {"type": kind, "object": source}
        case MetricKind.PODS:
            return {"type": kind, "pods": {"metric": {"name": metric}, "target": average}}
        case MetricKind.RESOURCE:
            target = {"type": "Utilization", "averageUtilization": CPU_PERCENT}
            return {"type": kind, "resource": {"name": "cpu", "target": target}}


def response(kind: MetricKind, number: int, share: float) -> bytes:
    """What the metrics API returns for that autoscaler."""
    milli = int(1000 * depth(number) * share)
    match kind:
        case MetricKind.EXTERNAL:
            item = {
                "metricName": METRIC,
                "metricLabels": {"queue": str(number)},
                "timestamp": SINCE,
                "value": f"{milli}m",
            }
            return _list("ExternalMetricValueList", kind, [item])
        case MetricKind.OBJECT:
            return _list("MetricValueList", kind, [_value("Service", f"web-{number}", milli)])
        case MetricKind.PODS:
            each = milli // PODS
            items = [_value("Pod", name, each) for name in pod_names(number)]
            return _list("MetricValueList", kind, items)
        case MetricKind.RESOURCE:
            used = int(CPU_REQUEST_MILLI * CPU_PERCENT / 100 * replicas(number) / PODS * share)
            return _list(
                "PodMetricsList", kind, [_usage(n, number, used) for n in pod_names(number)]
            )


def pod_names(number: int) -> list[str]:
    """The pods of a target."""
    return [f"web-{number}-{index}" for index in range(PODS)]


def is_expected(kind: MetricKind, number: int, status: dict[str, Any]) -> bool:
    """Whether the status of an autoscaler has the value of one of the responses."""
    [metric] = status["currentMetrics"]
    current = metric[kind.lower()]["current"]
    if kind is MetricKind.RESOURCE:
        low, high = (share * CPU_PERCENT * replicas(number) / PODS for share in (SHARES[-1], 1))
        return bool(low - 1 <= current["averageUtilization"] <= high)
    text = current["averageValue"]
    value = float(text[:-1]) / 1000 if text.endswith("m") else float(text)
    per_replica = TARGET * replicas(number) / PODS if kind is MetricKind.PODS else TARGET
    # Rounded up to thousandths.
    return SHARES[-1] * per_replica - 0.01 <= value <= per_replica + 0.001


def _value(of: str, name: str, milli: int) -> dict[str, Any]:
    return {
        "describedObject": {"kind": of, "namespace": "bench", "name": name, "apiVersion": "v1"},
        "metric": {"name": METRIC},
        "timestamp": SINCE,
        "value": f"{milli}m",
    }


def _usage(name: str, number: int, milli: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "bench", "labels": {"app": f"web-{number}"}},
        "timestamp": SINCE,
        "window": "30s",
        "containers": [{"name": "app", "usage": {"cpu": f"{milli}m", "memory": "64Mi"}}],
    }


def _list(name: str, kind: MetricKind, items: Sequence[dict[str, Any]]) -> bytes:
    return msgspec.json.encode(
        {
            "kind": name,
            "apiVersion": f"{kind.group}/{kind.version}",
            "metadata": {},
            "items": items,
        }
    )
