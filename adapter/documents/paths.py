"""An HTTP path and its query string to a request: which paths exist, and the error for a bad one.

After custom-metrics-apiserver v1.30.0 pkg/apiserver/{installer,endpoints/handlers} and apiserver's RequestInfo: the
path is split after it is decoded, so an encoded slash separates too. `path` is what follows `/apis/GROUP/VERSION/`.
"""

from collections.abc import Mapping
from typing import Final

from adapter.documents.listoptions import (
    Query,
    check_size,
    check_timeout,
    first,
    is_true,
    read_fields,
    read_selector,
)
from adapter.documents.refusals import bare_failure
from adapter.model import (
    NODES,
    PODS,
    CustomMetricRequest,
    ExternalMetricRequest,
    GroupResource,
    MetricRequest,
    ResourceMetricRequest,
)
from wire.api import custom_metrics, external_metrics, labels, resource_metrics
from wire.api.labels import EVERYTHING, Selector
from wire.api.status import StatusDetails, bad_request, failure, path_not_found

VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    custom_metrics.GROUP: ("v1beta1", "v1beta2"),
    external_metrics.GROUP: ("v1beta1",),
    resource_metrics.GROUP: ("v1beta1",),
}
"""The metrics APIs and their versions."""

_VERBS: Final = ("watch", "proxy")
"""Prefixes that RequestInfo, and so authorization, reads as a verb before the resource."""

_NAMESPACE_SUBRESOURCES: Final = (["status"], ["finalize"])
"""What RequestInfo reads after namespaces/NAME as a part of the namespace itself."""

_WRONG_PATH: Final = (
    "invalid request path: a metric of a namespace is at namespaces/NAMESPACE/metrics/METRIC, "
    "one of other objects at namespaces/NAMESPACE/RESOURCE/NAME/METRIC"
)


def metric(group: str, version: str, path: str, query: Query) -> MetricRequest:
    """A request to any of the APIs; raises `StatusError` as the function of that API."""
    if group == custom_metrics.GROUP:
        return custom_metric(path, query, api_version=version)
    if group == external_metrics.GROUP:
        return external_metric(path, query)
    return resource_metric(path, query)


def custom_metric(path: str, query: Query, *, api_version: str = "v1beta1") -> CustomMetricRequest:
    """A request to custom.metrics.k8s.io; raises `StatusError`: 404 (no such path), 400, or 500 as prometheus-adapter."""
    check_timeout(query)
    match _segments(path):
        case ["namespaces", namespace, "metrics", metric] | [
            "namespaces",
            namespace,
            "metrics",
            metric,
            _,
        ]:
            resource, name, namespace = "namespaces", namespace, ""
        case ["namespaces", namespace, resource, name, metric]:
            pass
        case ["namespaces", _, _]:
            raise bad_request(_WRONG_PATH)
        case [resource, name, metric]:
            namespace = ""
        case _:
            raise path_not_found()
    selector = read_selector(query, name=name)
    return CustomMetricRequest(
        resource=GroupResource.parse(resource),
        name=name,
        metric=metric,
        namespace=namespace,
        selector=selector,
        metric_selector=_metric_selector(first(query, "metricLabelSelector")),
        api_version=api_version,
    )


def external_metric(path: str, query: Query) -> ExternalMetricRequest:
    """A request to external.metrics.k8s.io; raises `StatusError`. Watching is refused."""
    check_timeout(query)
    match _segments(path):
        case ["namespaces", namespace, metric]:
            selector = read_selector(query)
            _refuse_to_watch(query, kind="*", group=external_metrics.GROUP)
            return ExternalMetricRequest(namespace=namespace, metric=metric, selector=selector)
    raise path_not_found()


def resource_metric(path: str, query: Query) -> ResourceMetricRequest:
    """A request to metrics.k8s.io; raises `StatusError`. With the name of an object, selectors are not read."""
    check_timeout(query)
    match _segments(path):
        case ["nodes", name]:
            return ResourceMetricRequest(resource=NODES, selector=EVERYTHING, name=name)
        case ["namespaces", namespace, "pods", name]:
            return ResourceMetricRequest(
                resource=PODS, selector=EVERYTHING, namespace=namespace, name=name
            )
        case ["nodes"]:
            resource, namespace = NODES, ""
        case ["pods"]:
            resource, namespace = PODS, ""
        case ["namespaces", namespace, "pods"]:
            resource = PODS
        case _:
            raise path_not_found()
    selector = read_selector(query)
    _refuse_to_watch(query, kind=resource.resource, group=resource_metrics.GROUP)
    return ResourceMetricRequest(
        resource=resource, selector=selector, fields=read_fields(query), namespace=namespace
    )


def _segments(path: str) -> list[str]:
    segments = path.rstrip("/").split("/")
    # Authorization has read these paths as something else than a metric.
    of_namespace = segments[0] == "namespaces" and segments[2:3] in _NAMESPACE_SUBRESOURCES
    if not all(segments) or segments[0] in _VERBS or of_namespace:
        raise path_not_found()
    return segments


def _refuse_to_watch(query: Query, *, kind: str, group: str) -> None:
    if is_true(query, "watch"):
        message = f'watch is not supported on resources of kind "{kind}.{group}"'
        details = StatusDetails(group=group, kind=kind)
        raise failure(405, f"{message}: repeat the request instead", details)


def _metric_selector(text: str) -> Selector:
    """prometheus-adapter answers 500 for a malformed metricLabelSelector, and clients may rely on it."""
    check_size(text, "metricLabelSelector")
    try:
        return labels.parse(text)
    except ValueError as e:
        raise bare_failure(f"{e} (in metricLabelSelector {text!r})") from None
