"""Which PromQL has the load of a metric: the adapter explains the request that the scaler sends for it.

Only where the sum of the rows of one query is the load, at any time: a metric of type External or Object. The query of a
Pods metric names the pods of this moment, and usage is two queries and the requests of the pods of that time.
"""

from http import HTTPStatus
from typing import Final

import msgspec

from scaler.algorithm.amounts import milli
from scaler.api.autoscaler import CrossVersionObjectReference, MetricSpec
from scaler.cluster.metrics.custom import (
    EVERY_OBJECT,
    OF_NAMESPACE,
    group_of,
    is_namespace,
    object_path,
    qualified,
)
from scaler.cluster.metrics.external import external_path
from scaler.cluster.metrics.metric_requests import ExternalRequest, ObjectRequest, request_of
from scaler.cluster.metrics.metrics_api import with_selectors
from wire.api.custom_metrics import V1BETA2
from wire.api.labels import NOTHING
from wire.api.quoting import go_quote
from wire.api.status import StatusError, Unavailable
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader

EXPLAIN: Final = "/debug/explain"
DEFAULT_BACKEND: Final = "default"


class NoRecordedLoad(Exception):
    """Prometheus has not recorded the load, or it cannot be read; the message says why."""


class ExplainedQuery(msgspec.Struct, frozen=True, rename="camel"):
    """A query of the adapter, and the labels of those of its rows that belong to the request."""

    backend: str = ""
    query: str = ""
    row_labels: dict[str, str] = {}


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


class Explained(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an explanation that names the query."""

    code: int
    message: str = ""
    request: ExplainedRequest | None = None
    queries: tuple[ExplainedQuery, ...] = ()


def why_not_recorded(metric: MetricSpec) -> str | None:
    """Why recorded history does not have the load of such a metric; None if it has."""
    if metric.external is not None or metric.object is not None:
        return None
    return (
        f"a metric of type {metric.type} has no warm start from recorded history, "
        "only those of type External and Object have"
    )


def per_replica_of(metric: MetricSpec) -> float:
    """The load that one replica is to have, in the unit of the metric."""
    source = metric.external or metric.object
    average = None if source is None else source.target.average_value
    return 0.0 if average is None else milli(average) / 1000


async def load_query(
    adapter: Reader, mapper: RestMapper, namespace: str, metric: MetricSpec
) -> str:
    """PromQL with the load of the metric at any time as its only row. Raises `NoRecordedLoad`."""
    try:
        path = metric_path(mapper, namespace, metric)
        body = await adapter.get(EXPLAIN, {"path": path})
        return query_of(msgspec.json.decode(body, type=Explained), namespace)
    except (StatusError, Unavailable, LookupError, ValueError) as error:
        raise NoRecordedLoad(f"the adapter does not explain the metric: {error}") from error


def query_of(explained: Explained, namespace: str) -> str:
    """The sum of the rows that belong to the request. Raises `NoRecordedLoad`.

    The scaler may read every namespace, and a status shows what it has read: so it is checked that the adapter has explained a request
    within the namespace of the autoscaler. The query or the labels of its rows have that namespace then, as for a GET.
    """
    if explained.code != HTTPStatus.OK or not explained.queries:
        raise NoRecordedLoad(f"the adapter does not explain the metric: {explained.message}")
    if explained.request is None or not explained.request.is_within(namespace):
        raise NoRecordedLoad(
            f"the adapter explains another request than one for a metric within the namespace {namespace!r}"
        )
    found = explained.queries[0]
    if found.backend != DEFAULT_BACKEND:
        raise NoRecordedLoad(
            f"the metric is of the backend {found.backend} of the adapter, and --prometheus-url is the default backend"
        )
    rows = f"({found.query})"
    for label, value in sorted(found.row_labels.items()):
        # PromQL has no other way to select rows of a result by their labels.
        one = f'label_replace(vector(1), {go_quote(label)}, {go_quote(value)}, "", "")'
        rows = f"({rows} and on ({label}) {one})"
    return f"sum({rows})"


def metric_path(mapper: RestMapper, namespace: str, metric: MetricSpec) -> str:
    """The path and parameters of the request for the metric. Raises `LookupError` and `ValueError`."""
    match request_of(namespace, metric, NOTHING):
        case ExternalRequest(metric=name, selector=selector):
            return external_path(namespace, name, selector)
        case ObjectRequest(metric=name, described=described, selector=selector):
            if described.name == EVERY_OBJECT:
                raise ValueError(
                    f"describedObject.name {EVERY_OBJECT!r} stands for every object, and the load is that of one: name it"
                )
            resource = _resource(mapper, described)
            path = f"/apis/{V1BETA2}/{object_path(namespace, resource, described.name, name)}"
            return with_selectors(path, metricLabelSelector=selector)
        case _:
            raise ValueError(why_not_recorded(metric))


def _resource(mapper: RestMapper, described: CrossVersionObjectReference) -> str:
    if is_namespace(described):
        return OF_NAMESPACE
    return qualified(mapper.resources_for_kind(group_of(described), described.kind)[0])
