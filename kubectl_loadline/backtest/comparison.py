"""Several policies over the same recorded time, their scores, and how well the current spec explains what was recorded."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from kubectl_loadline.backtest.fidelity import Fidelity
from kubectl_loadline.backtest.loop import Decided, decisions
from kubectl_loadline.backtest.metric_models import MetricModel, Models, replayable
from kubectl_loadline.backtest.pods import SimulatedPods
from kubectl_loadline.backtest.readings import SimulatedReadings
from kubectl_loadline.backtest.recording import Recording
from kubectl_loadline.backtest.score import Point, Score, demand, score_of
from kubectl_loadline.backtest.targets import with_targets_times
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.schedules import FoundCalendar
from scaler.extensions.forecast.stage import FORECAST

RECORDED = "recorded"
ORACLE = "oracle"
PRESENT = "current spec"
CENSORED_SHARE = 0.95 / 0.9
"""From 95% of what a pod can serve at all, its load may be cut off; `served` is 90% of that."""

OnDecision = Callable[[Decided], None]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """An autoscaler under a name, and the flags of the scaler that decides on it."""

    name: str
    autoscaler: Autoscaler
    settings: Settings


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """The time that is replayed, and from when on it is scored. Times are multiples of the step; the end is not included."""

    start_unix_seconds: int
    end_unix_seconds: int
    step_seconds: int
    scored_from_unix_seconds: int

    def times(self) -> range:
        """Of the decisions."""
        return range(self.start_unix_seconds, self.end_unix_seconds, self.step_seconds)


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for all policies."""

    recording: Recording
    models: Models
    range: Range
    pod_spec: PodSpec = PodSpec()
    calendars: tuple[FoundCalendar, ...] = ()


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """The replica counts of one policy, by step. `bounds` of a forecast, NaN without one."""

    name: str
    start_up_seconds: float
    times: "array[int]"
    requested: "array[int]"
    ready: "array[int]"
    bounds: "array[float]"


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The score of one policy. `warning`: why not to rely on it, empty if there is no reason."""

    policy: str
    start_up_seconds: float
    score: Score
    warning: str = ""


def known_times(scenario: Scenario) -> Iterator[int]:
    """The times at which something is known: during a gap the clock stands still."""
    models = scenario.models.by_column.values()
    for now in scenario.range.times():
        if any(model.values.at(now) is not None for model in models):
            yield now


def play(
    policy: Policy,
    scenario: Scenario,
    start_up_seconds: float,
    on_decision: OnDecision | None = None,
) -> Played:
    """Replay one policy. Raises ValueError if none of its metrics can be replayed."""
    autoscaler = replayable(
        policy.autoscaler, scenario.recording, scenario.models, scenario.calendars
    )
    start = scenario.range.start_unix_seconds
    pods = SimulatedPods(
        _first_replicas(autoscaler, scenario),
        start_up_seconds=start_up_seconds,
        at_unix_seconds=start,
        spec=scenario.pod_spec,
    )
    settings = msgspec.structs.replace(
        policy.settings, sync_period_seconds=float(scenario.range.step_seconds)
    )
    readings = SimulatedReadings(scenario.recording, scenario.models, pods)
    played = _nothing_played(policy.name, start_up_seconds)
    for each in decisions(
        autoscaler, settings, pods, readings, known_times(scenario), scenario.calendars
    ):
        forecast = each.derivation.steps.get(FORECAST)
        bound = None if forecast is None else forecast.bound
        _append(played, each.unix_seconds, each.requested, each.ready, bound)
        if on_decision is not None:
            on_decision(each)
    return played


def recorded(scenario: Scenario) -> Played | None:
    """What there was; None if it was not recorded."""
    replicas, ready = scenario.recording.replicas, scenario.recording.ready
    if replicas is None or ready is None:
        return None
    played = _nothing_played(RECORDED, 0.0)
    for now in known_times(scenario):
        requested, count = replicas.at(now), ready.at(now)
        if requested is not None and count is not None:
            _append(played, now, round(requested), round(count), None)
    return played


def oracle(scenario: Scenario, present: Autoscaler, start_up_seconds: float) -> Played:
    """The demand, known one start-up time ahead: no policy within the same bounds can do with less."""
    step = scenario.range.step_seconds
    ahead = max(1, -(-int(start_up_seconds) // step))
    needed = [demanded(scenario.models, now) or 0 for now in scenario.range.times()]
    least, most = present.spec.min_replicas or 0, present.spec.max_replicas
    counts = [
        min(max(max(needed[index : index + ahead + 1]), least), most)
        for index in range(len(needed))
    ]
    played = _nothing_played(ORACLE, start_up_seconds)
    start = scenario.range.start_unix_seconds
    for now in known_times(scenario):
        index = (now - start) // step
        ready = min(counts[max(0, index - ahead) : index + 1])
        _append(played, now, counts[index], ready, None)
    return played


def demanded(models: Models, now: float) -> int | None:
    """The replicas that the loads of all metrics need at a time; None if none of them is known."""
    needed = [
        demand(load, model.served)
        for model in models.by_column.values()
        if model.is_demand and (load := model.load.at(now)) is not None
    ]
    return max(needed) if needed else None


def scored(played: Played, scenario: Scenario) -> Score:
    """Steps before the scored time, and those without a known load, do not count."""
    main, points = scenario.models.main(), []
    for now, ready, requested in zip(played.times, played.ready, played.requested, strict=True):
        needed = demanded(scenario.models, now)
        if needed is not None and now >= scenario.range.scored_from_unix_seconds:
            points.append(Point(main.load.at(now) or 0.0, needed, ready, requested))
    return score_of(points, scenario.range.step_seconds, main.served)


def fidelity(present: Played, scenario: Scenario) -> Fidelity | None:
    """How close the replay of the current spec is to the recorded replicas; None if there are none."""
    replicas = scenario.recording.replicas
    if replicas is None:
        return None
    step = scenario.range.step_seconds
    errors = []
    for now, requested in zip(present.times, present.requested, strict=True):
        # A decision is carried out and recorded a moment later, so often only at the next step.
        counts = [count for at in (now, now + step) if (count := replicas.at(at)) is not None]
        if counts:
            errors.append(min(abs(requested - round(count)) for count in counts))
    return Fidelity.of(errors) if errors else None


def censored_minutes(scenario: Scenario) -> float:
    """How long the recorded pods had so much load that there may have been more: results are then lower bounds."""
    ready = scenario.recording.ready
    if ready is None:
        return 0.0
    steps = sum(
        1
        for now in known_times(scenario)
        if (count := ready.at(now)) and _is_censored(scenario.models.by_column, now, count)
    )
    return steps * scenario.range.step_seconds / 60


def _is_censored(models: Mapping[str, MetricModel], now: float, ready: float) -> bool:
    return any(
        model.is_demand
        and (load := model.load.at(now)) is not None
        and load >= CENSORED_SHARE * model.served * ready
        for model in models.values()
    )


def scaled_targets(policy: Policy, factor: float) -> Policy:
    """The same policy with all targets times a factor, for the frontier."""
    return msgspec.structs.replace(policy, autoscaler=with_targets_times(policy.autoscaler, factor))


def _first_replicas(autoscaler: Autoscaler, scenario: Scenario) -> int:
    """The recorded ones, or else the demand within the bounds."""
    start = scenario.range.start_unix_seconds
    count = scenario.recording.replicas.at(start) if scenario.recording.replicas else None
    if count is not None:
        return round(count)
    needed = demanded(scenario.models, start) or 1
    least = 1 if autoscaler.spec.min_replicas is None else autoscaler.spec.min_replicas
    return min(max(needed, least, 1), autoscaler.spec.max_replicas)


def _nothing_played(name: str, start_up_seconds: float) -> Played:
    return Played(
        name=name,
        start_up_seconds=start_up_seconds,
        times=array("q"),
        requested=array("q"),
        ready=array("q"),
        bounds=array("d"),
    )


def _append(played: Played, now: int, requested: int, ready: int, bound: float | None) -> None:
    played.times.append(now)
    played.requested.append(requested)
    played.ready.append(ready)
    played.bounds.append(float("nan") if bound is None else bound)


def results(played: Sequence[Played], scenario: Scenario) -> tuple[Result, ...]:
    """The scores, in order."""
    return tuple(
        Result(
            policy=each.name,
            start_up_seconds=each.start_up_seconds,
            score=scored(each, scenario),
        )
        for each in played
    )
