"""Replays a load through the decisions of the running scaler: `plan`, `decide` and `settle`, minute by minute.

The load does not depend on the replicas. A pod is ready `start_up_seconds` after it was requested. The scaler sees each
value `delay_seconds` late, and never one of the future.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from benchmarks.traces.trace import STEP_SECONDS, Trace
from kubectl_loadline.backtest.loop import decisions
from kubectl_loadline.backtest.pods import SimulatedPods
from kubectl_loadline.backtest.score import Point, Score, demand, score_of
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.readings import ExternalValues, MetricFailed, Reading
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, MetricSpec

NO_SAMPLE = MetricFailed("no metrics returned from external metrics API")

Readings = Callable[[MetricSpec, float], float | None]
"""The value of a metric as it is seen at a time; None if there is none."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The target, and how late its metric is. `replicas` is the count at the start."""

    start_up_seconds: int
    delay_seconds: int = 60
    replicas: int = 1


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One minute: the load of the target, its replicas as requested, those of them that were ready, and the decision."""

    unix_seconds: int
    load: float | None
    requested: int
    ready: int
    derivation: Derivation


def replay(
    autoscaler: Autoscaler,
    settings: Settings,
    trace: Trace,
    setup: Setup,
    *,
    others: Mapping[str, Readings] | None = None,
) -> Iterator[Step]:
    """All minutes of the trace. Every metric must be External with an average value.

    `others` are the values of metrics by name; every other metric is the load of the trace.
    """
    known = others or {}

    def reading(metric: MetricSpec, now: float) -> Reading:
        other, seen = known.get(metric.name), now - setup.delay_seconds
        value = trace.at(seen) if other is None else other(metric, seen)
        return NO_SAMPLE if value is None else ExternalValues((round(value * 1000),))

    start = trace.start_unix_seconds
    pods = SimulatedPods(
        setup.replicas,
        # What is requested at one minute is ready at the next one, at the earliest.
        start_up_seconds=max(STEP_SECONDS, setup.start_up_seconds // STEP_SECONDS * STEP_SECONDS),
        at_unix_seconds=start,
        spec=PodSpec(),
    )
    times = range(start, start + STEP_SECONDS * len(trace.loads), STEP_SECONDS)
    for each in decisions(autoscaler, settings, pods, reading, times):
        yield Step(
            unix_seconds=each.unix_seconds,
            load=trace.at(each.unix_seconds),
            requested=each.requested,
            ready=each.ready,
            derivation=each.derivation,
        )


def score(steps: Iterable[Step], served_per_replica: float) -> Score:
    """Minutes without a recorded load do not count."""
    points = [
        Point(each.load, demand(each.load, served_per_replica), each.ready, each.requested)
        for each in steps
        if each.load is not None
    ]
    return score_of(points, STEP_SECONDS, served_per_replica)
