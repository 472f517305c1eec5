"""The points of one load: the plain policies by the short replay, the forecast by the decisions of the scaler.

Loads are scaled so that a full pod has a load of 100: quantities of a spec have three decimals, and a load that is
counted in hundredths would otherwise have no more than a few values.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from benchmarks.forecast import (
    DELAY_SECONDS,
    FULL_PODS,
    LEARNING_SECONDS,
    MARGIN_SECONDS,
    SERVED_SHARE,
    START_REPLICAS,
    TARGET,
)
from benchmarks.forecast_policies import MAX_REPLICAS, Policy, policies
from benchmarks.frontier.measured import Measured, Point, days_of
from benchmarks.frontier.plain_replay import Counts, Plain, Seen, plain_counts, seen
from benchmarks.frontier.shapes import shape_of
from benchmarks.traces.replay import Setup, replay
from benchmarks.traces.trace import STEP_SECONDS, Trace
from kubectl_loadline.backtest.score import demand
from scaler.api.forecast import ForecastSpec
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

HPA, FORECAST = "HPA", "Loadline forecast"
RIVALS = (
    "seasonal naive",
    "Crane DSP, highest of 1 h",
    "Holt-Winters (PHPA)",
    "hourly floor (AWS)",
)
PERFECT = "perfect knowledge"
"""Knows the highest load of the lead: what no forecast can exceed by much. It does not count as a rival."""
HPA_TARGETS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
# What the rivals expect, times: Crane's margin is such a knob, and the others can be tuned by their targets only.
MARGINS = (0.8, 1.0, 1.2)
FORECAST_TARGETS = (0.5, 0.6, 0.7, 0.8, 0.9)
DEFAULT = "default"
PLAIN_KNOB = "x 1"
BUDGETS_PERCENT = (10, 80)
FULL_LOAD = 100.0
# A longer load costs an hour, and says little more.
DAYS_MAX = 35


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """A load that is ready to be replayed: scaled, with what it needs at each minute."""

    trace: Trace
    start_up_minutes: int
    demands: tuple[int | None, ...]

    @property
    def lead_seconds(self) -> int:
        """How far ahead a forecast must be."""
        return 60 * self.start_up_minutes + DELAY_SECONDS + MARGIN_SECONDS

    def point(self, policy: str, target: float, counts: Counts, knob: str = "") -> Point:
        """Scored after the days in which a forecast learns."""
        days = days_of(counts, self.demands, LEARNING_SECONDS // STEP_SECONDS)
        return Point(policy=policy, target=target, knob=knob, days=days)


def prepared(trace: Trace, start_up_minutes: int) -> Replayed:
    """Raises ValueError for a load that is zero in 99% of the time: no pod can be full of it."""
    loads = trace.loads[: DAYS_MAX * MINUTES_PER_DAY]
    first = msgspec.structs.replace(trace, loads=loads)
    full = first.percentile(99) / FULL_PODS
    if full <= 0:
        raise ValueError(f"{trace.name} has no load in 99% of the time")
    factor = FULL_LOAD / full
    scaled = tuple(None if each is None else each * factor for each in loads)
    served = FULL_LOAD * SERVED_SHARE
    return Replayed(
        trace=msgspec.structs.replace(first, loads=scaled),
        start_up_minutes=start_up_minutes,
        demands=tuple(None if each is None else demand(each, served) for each in scaled),
    )


def measured(
    trace: Trace, start_up_minutes: int, forecast_targets: Sequence[float] = FORECAST_TARGETS
) -> Measured:
    """All points of a load."""
    load = prepared(trace, start_up_minutes)
    points = [*plain_points(load), *forecast_points(load, forecast_targets)]
    return Measured(
        load=trace.name,
        shape=shape_of(trace),
        start_up_minutes=start_up_minutes,
        points=tuple(points),
    )


def plain_points(load: Replayed) -> Iterator[Point]:
    """Of the HPA and its rivals."""
    of_load = seen_by_minute(load.trace.loads)
    for target in HPA_TARGETS:
        yield load.point(HPA, target, _plain(load, target, seen([of_load])))
    yield perfect_point(load)
    for policy in policies(load.lead_seconds):
        if policy.name not in RIVALS:
            continue
        ahead = list(ahead_by_minute(load, policy))
        for margin in MARGINS:
            expected = [None if each is None else round(each * margin) for each in ahead]
            both = seen([of_load, expected])
            for target in HPA_TARGETS:
                knob = f"x {margin:g}"
                yield load.point(policy.name, target, _plain(load, target, both), knob)


def perfect_point(load: Replayed) -> Point:
    """At the usual target, with the highest load of the lead in place of an expected one."""
    loads, minutes = load.trace.loads, load.lead_seconds // STEP_SECONDS
    highest = [
        max(
            (round(each * 1000) for each in loads[at : at + minutes + 1] if each is not None),
            default=None,
        )
        for at in range(len(loads))
    ]
    both = seen([seen_by_minute(loads), highest])
    return load.point(PERFECT, TARGET, _plain(load, TARGET, both), PLAIN_KNOB)


def seen_by_minute(loads: Sequence[float | None]) -> list[int | None]:
    """In milli-units, as late as the metric is."""
    late = DELAY_SECONDS // STEP_SECONDS
    known = [*[None] * late, *loads[: len(loads) - late]]
    return [None if each is None else round(each * 1000) for each in known]


def ahead_by_minute(load: Replayed, policy: Policy) -> Iterator[int | None]:
    """What a rival expects, in milli-units."""
    autoscaler = policy.autoscaler(FULL_LOAD)
    metric = (autoscaler.spec.metrics or ())[-1]
    reading = policy.others(load.trace, load.lead_seconds)["ahead"]
    start = load.trace.start_unix_seconds - DELAY_SECONDS
    for minute in range(len(load.trace.loads)):
        value = reading(metric, start + STEP_SECONDS * minute)
        yield None if value is None else round(value * 1000)


def _plain(load: Replayed, target: float, values: Seen) -> Counts:
    plain = Plain(
        target_milli=round(FULL_LOAD * target * 1000),
        tolerance=Policy(name=HPA).tolerance,
        max_replicas=MAX_REPLICAS,
        start_up_minutes=load.start_up_minutes,
        replicas=START_REPLICAS,
    )
    return plain_counts(plain, values)


def knobs() -> Mapping[str, Mapping[str, int]]:
    """Fields of `spec.forecast` by a name: the default, and others."""
    budgets = {f"budget {each}%": {"budget_percent": each} for each in BUDGETS_PERCENT}
    return {DEFAULT: {}, **budgets}


def forecast_points(load: Replayed, targets: Sequence[float]) -> Iterator[Point]:
    """The default with each target, and every other set of knobs with the usual one."""
    for knob, fields in knobs().items():
        for target in targets if knob == DEFAULT else (TARGET,):
            yield forecast_point(load, target, knob, fields)


def forecast_point(load: Replayed, target: float, knob: str, fields: Mapping[str, Any]) -> Point:
    """Through the decisions of the scaler."""
    spec = ForecastSpec(metric="load", mode="Add", lead_seconds=load.lead_seconds, **fields)
    policy = Policy(name=FORECAST, forecast=spec)
    setup = Setup(
        start_up_seconds=60 * load.start_up_minutes,
        delay_seconds=DELAY_SECONDS,
        replicas=START_REPLICAS,
    )
    counts = Counts(requested=array("i"), ready=array("i"))
    acts: list[bool] = []
    wastes: list[float] = []
    for step in replay(policy.autoscaler(FULL_LOAD * target), policy.settings, load.trace, setup):
        counts.requested.append(step.requested)
        counts.ready.append(step.ready)
        found = step.derivation.steps.get("forecast")
        if found is not None and len(counts.ready) > LEARNING_SECONDS // STEP_SECONDS:
            acts.append(found.acts)
            wastes.append(found.day.wasted_percent)
    return msgspec.structs.replace(
        load.point(FORECAST, target, counts, knob),
        reliable_percent=100.0 * sum(acts) / max(1, len(acts)),
        # The first day has seen no waste of its own.
        waste_percent_max=max(wastes[MINUTES_PER_DAY:], default=0.0),
    )
