"""Which PromQL has the load of a metric: the adapter explains the request that the scaler sends for it.

Only where the sum of the rows of one query is the load, at any time: a metric of type External or Object, and one of type
Pods if its rule has a query for all pods, whose rows can be chosen by their names. Most queries of Pods metrics name the
pods of this moment, those of usage too.
"""

from http import HTTPStatus
from typing import Final

import msgspec

from scaler.algorithm.amounts import milli
from scaler.api.autoscaler import CrossVersionObjectReference, MetricSpec
from scaler.cluster.forecast.pods_of_target import label_of_pods, name_pattern
from scaler.cluster.metrics.custom import (
    EVERY_OBJECT,
    OF_NAMESPACE,
    group_of,
    is_namespace,
    object_path,
    qualified,
)
from scaler.cluster.metrics.external import external_path
from scaler.cluster.metrics.metric_requests import (
    ExternalRequest,
    ObjectRequest,
    PodsRequest,
    request_of,
)
from scaler.cluster.metrics.metrics_api import with_selectors
from wire.api import kube_json
from wire.api.custom_metrics import V1BETA2
from wire.api.debug_paths import EXPLAIN
from wire.api.labels import NOTHING
from wire.api.quoting import go_quote
from wire.api.status import StatusError, Unavailable
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader

DEFAULT_BACKEND: Final = "default"
PODS: Final = "pods"
MARK: Final = "loadline_pod_of_target"
"""A label that only the rows of the pods of the target have."""


class NoRecordedLoad(Exception):
    """Prometheus has not recorded the load, or it cannot be read; the message says why."""


class ExplainedRow(msgspec.Struct, frozen=True):
    """A row of the result."""

    labels: dict[str, str] = {}


class ExplainedValue(msgspec.Struct, frozen=True):
    """A value of the response: `of` is the name of its object."""

    of: str = ""


class ExplainedQuery(msgspec.Struct, frozen=True, rename="camel"):
    """A query of the adapter, and the labels of those of its rows that belong to the request."""

    backend: str = ""
    query: str = ""
    row_labels: dict[str, str] = {}
    rows: tuple[ExplainedRow, ...] = ()
    """The first ones that belong to the request."""


class ExplainedRequest(msgspec.Struct, frozen=True):
    """What the adapter has read from the path. The metric of a namespace has it as its `name`."""

    resource: str = ""
    namespace: str = ""
    name: str = ""

    def is_within(self, namespace: str) -> bool:
        """Whether it is for one object of the namespace, for the namespace itself, or for an external metric there."""
        if self.namespace:
            return self.namespace == namespace and self.name != EVERY_OBJECT
        return self.resource == "namespaces" and self.name == namespace

    def is_for_pods_of(self, namespace: str) -> bool:
        """Whether it is for the pods of the namespace, whose rows are then chosen."""
        return (self.resource, self.namespace) == (PODS, namespace)


class Explained(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an explanation that names the query."""

    code: int
    message: str = ""
    request: ExplainedRequest | None = None
    queries: tuple[ExplainedQuery, ...] = ()
    values: tuple[ExplainedValue, ...] = ()


def why_not_recorded(metric: MetricSpec, target: CrossVersionObjectReference) -> str | None:
    """Why recorded history does not have the load of such a metric; None if it may have it."""
    if metric.external is not None or metric.object is not None:
        return None
    if metric.pods is None:
        return (
            f"a metric of type {metric.type} cannot be learned from recorded history: "
            "only metrics of type External, Object and Pods can"
        )
    try:
        name_pattern(target)
    except ValueError as error:
        return f"a metric of type Pods cannot be learned from recorded history: {error}"
    return None


def per_replica_of(metric: MetricSpec) -> float:
    """The load that one replica is to have, in the unit of the metric."""
    source = metric.external or metric.object or metric.pods
    average = None if source is None else source.target.average_value
    return 0.0 if average is None else milli(average) / 1000


async def load_query(
    adapter: Reader,
    mapper: RestMapper,
    namespace: str,
    metric: MetricSpec,
    target: CrossVersionObjectReference,
) -> str:
    """PromQL with the load of the metric at any time as its only row; of a Pods metric, of the pods of the target.

    Raises `NoRecordedLoad`.
    """
    try:
        path = metric_path(mapper, namespace, metric)
        body = await adapter.get(EXPLAIN, {"path": path})
        explained = kube_json.decode(body, Explained)
        if metric.pods is not None:
            return query_of_pods(explained, namespace, target)
        return query_of(explained, namespace)
    except (StatusError, Unavailable, LookupError, ValueError) as error:
        raise NoRecordedLoad(f"the adapter does not explain the metric: {error}") from error


def query_of(explained: Explained, namespace: str) -> str:
    """The sum of the rows that belong to the request. Raises `NoRecordedLoad`.

    The scaler may read every namespace, and a status shows what it has read: so it is checked that the adapter has explained a request
    within the namespace of the autoscaler. The query or the labels of its rows have that namespace then, as for a GET.
    """
    request = explained.request
    return (
        f"sum({_rows(explained, namespace, request is not None and request.is_within(namespace))})"
    )


def query_of_pods(explained: Explained, namespace: str, target: CrossVersionObjectReference) -> str:
    """The sum of the rows of the pods of the target, at any time. Raises `NoRecordedLoad`, and ValueError for a target without.

    The query must have a row for each pod that there was. So it may not name pods, as the queries of rules with a `seriesQuery` do,
    and the labels of its rows must have the namespace and the pod.
    """
    request = explained.request
    rows = _rows(explained, namespace, request is not None and request.is_for_pods_of(namespace))
    found, names = explained.queries[0], {each.of for each in explained.values}
    if any(name in found.query for name in names):
        raise NoRecordedLoad(
            "the query of the metric lists the pods that exist now by name, so it cannot return earlier pods: "
            "use a rule with `query` and `describes: pods`"
        )
    if namespace not in found.row_labels.values():
        raise NoRecordedLoad("the rows of the query have no label with the namespace of the pods")
    label = label_of_pods([each.labels for each in found.rows], names)
    if label is None:
        raise NoRecordedLoad("the rows of the query have no label that names one pod each")
    pattern = go_quote(name_pattern(target))
    marked = f'label_replace({rows}, "{MARK}", "1", {go_quote(label)}, {pattern})'
    return f"sum({_with_label(marked, MARK, '1')})"


def _rows(explained: Explained, namespace: str, is_own: bool) -> str:
    """The rows that belong to the request. Raises `NoRecordedLoad`."""
    if explained.code != HTTPStatus.OK or not explained.queries:
        raise NoRecordedLoad(f"the adapter does not explain the metric: {explained.message}")
    if not is_own:
        raise NoRecordedLoad(
            f"the adapter explained a request that is not for a metric in the namespace {namespace!r}"
        )
    found = explained.queries[0]
    if found.backend != DEFAULT_BACKEND:
        raise NoRecordedLoad(
            f"the metric is read from the adapter's backend {found.backend}, but --prometheus-url is the adapter's default "
            "backend, which does not have its history"
        )
    rows = f"({found.query})"
    for label, value in sorted(found.row_labels.items()):
        rows = _with_label(rows, label, value)
    return rows


def _with_label(rows: str, label: str, value: str) -> str:
    """PromQL has no other way to select rows of a result by their labels."""
    one = f'label_replace(vector(1), {go_quote(label)}, {go_quote(value)}, "", "")'
    return f"({rows} and on ({label}) {one})"


def metric_path(mapper: RestMapper, namespace: str, metric: MetricSpec) -> str:
    """The path and parameters of the request for the metric. Raises `LookupError` and `ValueError`."""
    match request_of(namespace, metric, NOTHING):
        case ExternalRequest(metric=name, selector=selector):
            return external_path(namespace, name, selector)
        case ObjectRequest(metric=name, described=described, selector=selector):
            if described.name == EVERY_OBJECT:
                raise ValueError(
                    f"describedObject.name {EVERY_OBJECT!r} matches every object, but a forecast needs the load of one: "
                    "set its name"
                )
            resource = _resource(mapper, described)
            path = f"/apis/{V1BETA2}/{object_path(namespace, resource, described.name, name)}"
            return with_selectors(path, metricLabelSelector=selector)
        case PodsRequest(metric=name, selector=selector):
            path = f"/apis/{V1BETA2}/{object_path(namespace, PODS, EVERY_OBJECT, name)}"
            return with_selectors(path, metricLabelSelector=selector)
        case _:
            raise ValueError(f"a metric of type {metric.type} is not one query")


def _resource(mapper: RestMapper, described: CrossVersionObjectReference) -> str:
    if is_namespace(described):
        return OF_NAMESPACE
    return qualified(mapper.resources_for_kind(group_of(described), described.kind)[0])
