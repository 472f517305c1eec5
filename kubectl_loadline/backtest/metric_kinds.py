"""How the value of a metric depends on the number of replicas, or why that is not known."""

import re
from enum import StrEnum

import msgspec

from kubectl_loadline.backtest.query_names import names_in
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
_MEMORY = re.compile(r"memory|(?<!c)heap|resident|(?<![a-z])rss")
_QUEUE = re.compile(
    r"queue|backlog|(?<!f)lags?(?![a-z])|depth|pending|waiting|messages_ready|visible"
)
_RATE = re.compile(r"per_?sec|_rate\b|_rps\b|_qps\b")


def kind_of(metric: MetricSpec, given: str, query: str = "") -> MetricKind | NotReplayable:
    """`given` by the user, or else by the metric's type, target, name and query. Raises ValueError for an unknown kind."""
    if given:
        return MetricKind(given)
    name = _described(metric)
    read = names_in(query)
    # The rate of a counter is a load, also of one that a histogram of durations has.
    counters = {each for each in read.rated if each.endswith(("_count", "_total"))}
    text = " ".join(sorted(({name} | read.others | read.rated) - counters)).lower()
    fix = f"if it is a load, set --kind {name}=load"
    if _LATENCY.search(text):
        return NotReplayable(
            f"{name} is a latency: what it would be with other replicas is unknown; {fix}"
        )
    if _MEMORY.search(text):
        return NotReplayable(f"{name} is memory, which does not follow the load; {fix}")
    target = _target(metric)
    if metric.type in (MetricSourceType.EXTERNAL, MetricSourceType.OBJECT) and (
        target is None or target.average_value is None
    ):
        return NotReplayable(
            f"{name} has no target of type AverageValue: set its kind with --kind {name}=load, share or queue"
        )
    if _QUEUE.search(text) and not read.rated and not _RATE.search(text):
        if metric.type in (MetricSourceType.EXTERNAL, MetricSourceType.OBJECT):
            return MetricKind.QUEUE
        return NotReplayable(
            f"{name} is a backlog per pod: what it would be with other replicas is unknown; {fix}"
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
