"""The discovery documents, as bytes that are made anew only when the catalog changed.

They say what prometheus-adapter's say, so that nobody who looks sees a difference: the group document of
custom.metrics.k8s.io names v1beta1 alone although both versions are served, every external metric is namespaced, and
the aggregated document is empty, which keeps thousands of metrics out of the cluster's own.
"""

from collections.abc import Sequence

import msgspec

from adapter.model import MetricEntry
from wire import custom_metrics, discovery, external_metrics, resource_metrics

_encode = msgspec.json.Encoder().encode

EMPTY_AGGREGATED_V2 = _encode(discovery.APIGroupDiscoveryList())
EMPTY_AGGREGATED_V2BETA1 = _encode(
    discovery.APIGroupDiscoveryList(api_version="apidiscovery.k8s.io/v2beta1")
)


def groups_document(groups: Sequence[str]) -> bytes:
    """The answer of `/apis`."""
    listed = [discovery.group(name=name, versions=["v1beta1"]) for name in groups]
    return _encode(discovery.APIGroupList(groups=listed))


def group_document(name: str) -> bytes:
    """The answer of `/apis/<group>`."""
    group = discovery.group(name=name, versions=["v1beta1"])
    return _encode(msgspec.structs.replace(group, kind="APIGroup", api_version="v1"))


def custom_document(version: str, entries: Sequence[MetricEntry]) -> bytes:
    """The answer of `/apis/custom.metrics.k8s.io/<version>`."""
    return _resources(
        f"{custom_metrics.GROUP}/{version}",
        [
            discovery.APIResource(
                name=f"{entry.resource}/{entry.metric}",
                namespaced=entry.namespaced,
                kind="MetricValueList",
                verbs=["get"],
            )
            for entry in entries
        ],
    )


def external_document(metrics: Sequence[str]) -> bytes:
    """The answer of `/apis/external.metrics.k8s.io/v1beta1`."""
    return _resources(
        external_metrics.V1BETA1,
        [
            discovery.APIResource(
                name=metric, namespaced=True, kind="ExternalMetricValueList", verbs=["get"]
            )
            for metric in metrics
        ],
    )


def resource_document() -> bytes:
    """The answer of `/apis/metrics.k8s.io/v1beta1`, as metrics-server's."""
    listed = [("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True)]
    return _resources(
        resource_metrics.V1BETA1,
        [
            discovery.APIResource(
                name=name, namespaced=namespaced, kind=kind, verbs=["get", "list"]
            )
            for name, kind, namespaced in listed
        ],
    )


def _resources(group_version: str, resources: list[discovery.APIResource]) -> bytes:
    return _encode(discovery.APIResourceList(group_version=group_version, resources=resources))
