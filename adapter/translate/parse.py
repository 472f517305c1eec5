"""An HTTP path and its query string to a request: which paths exist, and what a bad one is answered with.

After custom-metrics-apiserver v1.30.0 pkg/apiserver/{installer,endpoints/handlers} and apiserver's RequestInfo: the
path is split after decoding, so an encoded slash separates too. `path` is what follows `/apis/GROUP/VERSION/`.
"""

from collections.abc import Sequence
from typing import Final

from adapter.model import (
    EVERY_OBJECT,
    NODES,
    PODS,
    CustomMetricRequest,
    ExternalMetricRequest,
    GroupResource,
    ResourceMetricRequest,
)
from wire import labels
from wire.labels import Selector
from wire.status import StatusError, bad_request, failure, method_not_allowed, not_found

Query = Sequence[tuple[str, str]]

_WRONG_PATH: Final = (
    "invalid request path: a metric of a namespace is at namespaces/NAMESPACE/metrics/METRIC, "
    "one of other objects at namespaces/NAMESPACE/RESOURCE/NAME/METRIC"
)
_NO_WATCH: Final = (
    'watch is not supported on resources of kind "*.external.metrics.k8s.io": ask again instead'
)
_FALSE: Final = ("false", "0")


def custom_metric(path: str, query: Query, *, api_version: str = "v1beta1") -> CustomMetricRequest:
    """A question to custom.metrics.k8s.io; raises `StatusError`: 404 no such path, 400, or 500 as the peer."""
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
            raise _no_such_path()
    selector = _list_options(query, name)
    return CustomMetricRequest(
        resource=GroupResource.parse(resource),
        name=name,
        metric=metric,
        namespace=namespace,
        selector=selector,
        metric_selector=_metric_selector(_first(query, "metricLabelSelector")),
        api_version=api_version,
    )


def external_metric(path: str, query: Query) -> ExternalMetricRequest:
    """A question to external.metrics.k8s.io; raises `StatusError`. There is nothing to watch."""
    match _segments(path):
        case ["namespaces", namespace, metric]:
            if _is_true(_first(query, "watch")):
                raise method_not_allowed(_NO_WATCH)
            return ExternalMetricRequest(
                namespace=namespace, metric=metric, selector=_list_options(query, EVERY_OBJECT)
            )
    raise _no_such_path()


def resource_metric(path: str, query: Query) -> ResourceMetricRequest:
    """A question to metrics.k8s.io; raises `StatusError`."""
    selector = _list_options(query, EVERY_OBJECT)
    match _segments(path):
        case ["nodes"]:
            return ResourceMetricRequest(resource=NODES, selector=selector)
        case ["nodes", name]:
            return ResourceMetricRequest(resource=NODES, selector=selector, name=name)
        case ["pods"]:
            return ResourceMetricRequest(resource=PODS, selector=selector)
        case ["namespaces", namespace, "pods"]:
            return ResourceMetricRequest(resource=PODS, selector=selector, namespace=namespace)
        case ["namespaces", namespace, "pods", name]:
            return ResourceMetricRequest(
                resource=PODS, selector=selector, namespace=namespace, name=name
            )
    raise _no_such_path()


def _segments(path: str) -> list[str]:
    segments = path.strip("/").split("/")
    if not all(segments):
        raise _no_such_path()
    return segments


def _no_such_path() -> StatusError:
    return not_found("the server could not find the requested resource")


def _first(query: Query, key: str) -> str:
    return next((value for known, value in query if known == key), "")


def _list_options(query: Query, name: str) -> Selector:
    """The label selector, after what apiserver checks of the other list options."""
    for number in ("limit", "timeoutSeconds"):
        text = _first(query, number)
        if text and not text.removeprefix("-").removeprefix("+").isdecimal():
            raise bad_request(f"{number}={text!r} is not a whole number")
    fields = _first(query, "fieldSelector")
    if fields and name != EVERY_OBJECT and fields.replace("==", "=") != f"metadata.name={name}":
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return _selector(_first(query, "labelSelector"))


def _is_true(text: str) -> bool:
    """As apimachinery reads a boolean parameter: present and not `false` or `0`."""
    return bool(text) and text.lower() not in _FALSE


def _selector(text: str) -> Selector:
    try:
        return labels.parse(text)
    except ValueError as e:
        raise bad_request(f"{e} (in labelSelector {text!r})") from None


def _metric_selector(text: str) -> Selector:
    """The peer answers 500 for a malformed metricLabelSelector, and clients may have learned to expect it."""
    try:
        return labels.parse(text)
    except ValueError as e:
        raise failure(500, f"{e} (in metricLabelSelector {text!r})") from None
