"""How the value of a metric depends on the number of replicas, or why that is not known."""

import re
from enum import StrEnum

import msgspec

from scaler.api.autoscaler import MetricSourceType, MetricSpec, MetricTarget


class MetricKind(StrEnum):
    """What the recorded series is, and so what a replay with other replica counts makes of it."""

    LOAD = "load"
    """The whole load, which the ready pods share. It does not depend on their number."""
    SHARE = "share"
    """An average over the ready pods: the load is that times their number."""
    QUEUE = "queue"
    """A backlog: it grows with what arrives and shrinks with what the ready pods complete."""


class NotReplayable(msgspec.Struct, frozen=True):
    """Why nothing is known about a metric at other replica counts, and what the user can do."""

    reason: str


_LATENCY = re.compile(r"latency|duration|response_?time|histogram_quantile|percentile|quantile")
_MEMORY = re.compile(r"memory|heap|resident|rss")
_QUEUE = re.compile(r"queue|backlog|lag\b|_lag|depth|pending|waiting|messages_ready|visible")
_RATE = re.compile(r"\b(rate|irate|increase|deriv)\s*\(|per_?sec|_rate\b|_rps\b|_qps\b")


def kind_of(metric: MetricSpec, given: str, query: str = "") -> MetricKind | NotReplayable:
    """`given` by the user, or else by the metric's type, target, name and query. Raises ValueError for an unknown kind."""
    if given:
        return MetricKind(given)
    name = _described(metric)
    text = f"{name} {query}".lower()
    if _LATENCY.search(text):
        return NotReplayable(
            f"{name} is a latency: what it would be with other replicas is unknown"
        )
    if _MEMORY.search(text):
        return NotReplayable(f"{name} is memory, which does not follow the load")
    target = _target(metric)
    if metric.type in (MetricSourceType.EXTERNAL, MetricSourceType.OBJECT) and (
        target is None or target.average_value is None
    ):
        return NotReplayable(
            f"{name} has no target of type AverageValue: set its kind with --kind NAME=load, share or queue"
        )
    if _QUEUE.search(text) and not _RATE.search(text):
        if metric.type in (MetricSourceType.EXTERNAL, MetricSourceType.OBJECT):
            return MetricKind.QUEUE
        return NotReplayable(
            f"{name} is a backlog per pod: what it would be with other replicas is unknown"
        )
    return MetricKind.LOAD


def _described(metric: MetricSpec) -> str:
    named = metric.external or metric.object or metric.pods
    if named is not None:
        return named.metric.name
    resource = metric.resource or metric.container_resource
    return resource.name if resource is not None else metric.name or metric.type


def _target(metric: MetricSpec) -> MetricTarget | None:
    source = metric.external or metric.object
    return None if source is None else source.target
