"""The metrics that exist to discovery documents: `/apis/GROUP/VERSION` of the metrics APIs."""

from collections.abc import Sequence

from adapter.documents.discovery import APIResource, APIResourceList
from adapter.model import MetricEntry
from wire.api import custom_metrics, external_metrics, resource_metrics

_VERBS = ["get"]


def custom_resources(entries: Sequence[MetricEntry], version: str) -> APIResourceList:
    """`pods/http_requests` for each metric of each resource it describes."""
    return APIResourceList(
        group_version=f"{custom_metrics.GROUP}/{version}",
        resources=[
            APIResource(
                name=f"{entry.resource}/{entry.metric}",
                namespaced=entry.namespaced,
                kind="MetricValueList",
                verbs=_VERBS,
            )
            for entry in entries
        ],
    )


def external_resources(metrics: Sequence[str]) -> APIResourceList:
    """Each external metric, listed as namespaced, since it is requested under a namespace."""
    return APIResourceList(
        group_version=external_metrics.V1BETA1,
        resources=[
            APIResource(name=metric, namespaced=True, kind="ExternalMetricValueList", verbs=_VERBS)
            for metric in metrics
        ],
    )


def usage_resources() -> APIResourceList:
    """`nodes` and `pods` of metrics.k8s.io."""
    return APIResourceList(
        group_version=resource_metrics.V1BETA1,
        resources=[
            APIResource(name="nodes", namespaced=False, kind="NodeMetrics", verbs=["get", "list"]),
            APIResource(name="pods", namespaced=True, kind="PodMetrics", verbs=["get", "list"]),
        ],
    )
