"""The forecast as a stage of a decision: before the recommendation is normalized, and after."""

import math

import msgspec

from scaler.algorithm.policy import Policy
from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.days import day_lags
from scaler.extensions.forecast.digest import digest_of
from scaler.extensions.forecast.floor import Floor, lifted, whole
from scaler.extensions.forecast.learner import counted, observed
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.rules import ForecastRules
from scaler.extensions.forecast.state import (
    Forecast,
    ForecastMemory,
    ForecastStep,
    Load,
    Observation,
)

SECONDS_PER_MINUTE = 60.0
DIGEST_EVERY_MINUTES = 20
"""So that what is missing after a restart can be filled (`levels.FILLED_MINUTES_MAX`)."""


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """The forecast at this reconcile. `wanted`: the replicas with the forecast, None if it has no bound for this minute."""

    state: Forecast
    load: Load | None = None
    wanted: int | None = None
    is_new_minute: bool = False


def foresee(
    rules: ForecastRules,
    policy: Policy,
    before: Forecast,
    load: Load | None,
    now_unix_seconds: float,
) -> Foreseen:
    """Learn from the first load of each minute. `load` is None if the metric has no value now."""
    minute = int(now_unix_seconds // SECONDS_PER_MINUTE)
    if load is None:
        return Foreseen(state=before)
    is_new = minute > before.levels.end_minute
    state = _observed(rules, policy, before, load, minute) if is_new else before
    # After the clock was set back, the newest minute lies in the future.
    is_current = state.levels.end_minute == minute
    return Foreseen(
        state=state,
        load=load,
        wanted=state.wanted if is_current else None,
        is_new_minute=is_new,
    )


def _observed(
    rules: ForecastRules, policy: Policy, before: Forecast, load: Load, minute: int
) -> Forecast:
    ahead = max(1, minute - before.levels.end_minute)
    state = _with_alone(before, load, policy, ahead)
    found = Observation(
        minute=minute,
        load=load,
        needed=_replicas(load.total, load),
        alone=_bounded(max(state.alone_by_minute), policy),
        most=policy.max_replicas,
        budget_percent=rules.budget_percent,
        lags=day_lags(minute, rules.zone),
    )
    return observed(state, found)


def remembered(
    found: Foreseen,
    rules: ForecastRules,
    policy: Policy,
    before: ForecastMemory,
    *,
    stabilized: int,
    others: int,
) -> tuple[ForecastMemory, ForecastStep]:
    """What to remember of this forecast, and its step of the derivation.

    `stabilized` is the count without the forecast, `others` the highest proposal of the other metrics.
    """
    state = found.state
    acts = acting_floor(found, rules) is not None
    floor = _floor(found, rules)
    after = lifted(stabilized, floor, policy.min_replicas)
    alone = stabilized
    if found.is_new_minute and found.load is not None:
        if acts:
            alone = _without_kept(found.state, stabilized, others)
        state = _counted(state, policy, alone=alone, after=after)
    text = before.digest
    has_turned = before.state.verdict is not state.verdict
    if has_turned or state.levels.end_minute - state.digest_minute >= DIGEST_EVERY_MINUTES:
        text = digest_of(state)
        state = msgspec.structs.replace(state, digest_minute=state.levels.end_minute)
    step = ForecastStep(
        metric=rules.metric,
        acts=acts,
        is_dry_run=not rules.acts,
        lead_seconds=rules.lead_minutes * SECONDS_PER_MINUTE,
        load=None if found.load is None else found.load.total,
        bound=None if floor is None else state.bound,
        floor=None if floor is None else floor.replicas,
        present=0.0 if floor is None else floor.present,
        before=stabilized,
        after=after,
        verdict=state.verdict,
        day=state.outcomes.day,
        allowed_extra=0 if floor is None else floor.allowed_extra,
        budget_used=budget_of(state, rules.budget_percent).used_share,
        replayed_minutes=_replayed_minutes(state),
    )
    if state is before.state:
        return before, step
    return ForecastMemory(state=state, digest=text), step


def _without_kept(state: Forecast, stabilized: int, others: int) -> int:
    """The tolerance can keep replicas that only the forecast added in the minute before: they count as added."""
    *_, before, _ = (None, None, *state.issued)
    kept_max = 0 if before is None else before.final - before.alone
    wanted = max(others, *state.alone_by_minute)
    return max(min(stabilized, wanted), stabilized - kept_max)


def replayed_minute(
    state: Forecast, rules: ForecastRules, policy: Policy, *, minute: int, load: Load
) -> Forecast:
    """With a minute of recorded load, as a dry run of this metric alone would have learned and judged it.

    The count without the forecast is the highest of the metric in the scale-down window.
    """
    found = foresee(rules, policy, state, load, minute * SECONDS_PER_MINUTE)
    if not found.is_new_minute:
        return state
    alone = max(found.state.alone_by_minute)
    after = lifted(alone, _floor(found, rules), policy.min_replicas)
    return _counted(found.state, policy, alone=alone, after=after)


def acting_floor(found: Foreseen, rules: ForecastRules) -> Floor | None:
    """The floor to apply; None if the forecast may not act now."""
    if not rules.acts or not found.state.verdict.is_reliable:
        return None
    return _floor(found, rules)


def new_forecast(rules: ForecastRules) -> Forecast:
    """Nothing is learned yet."""
    return Forecast(identity=rules.identity, lead_minutes=rules.lead_minutes)


def _floor(found: Foreseen, rules: ForecastRules) -> Floor | None:
    if found.wanted is None:
        return None
    *before, newest = found.state.issued or (None,)
    # What was added in this minute already is allowed in this minute.
    state = msgspec.structs.replace(found.state, issued=tuple(before))
    return Floor(
        needed=float(found.wanted),
        present=0.0 if newest is None else float(newest.present),
        allowed_extra=budget_of(state, rules.budget_percent).replicas(
            1 if newest is None else newest.minutes
        ),
        extra_ratio=rules.extra_ratio,
    )


def _with_alone(state: Forecast, load: Load, policy: Policy, ahead: int) -> Forecast:
    """What this metric alone would have set: like the HPA, from its own count, with the tolerance."""
    window = max(1, math.ceil(policy.scale_down_window_seconds / SECONDS_PER_MINUTE))
    needed = load.total / load.per_replica
    before = state.alone_by_minute[-1] if state.alone_by_minute else 0
    keeps = before > 0 and policy.tolerances.is_within(needed / before)
    count = before if keeps else _replicas(load.total, load)
    # Until this minute, it had the count of the last one.
    counts = (*state.alone_by_minute, *[before] * min(ahead - 1, window), count)[-window:]
    return msgspec.structs.replace(state, alone_by_minute=counts)


def _replayed_minutes(state: Forecast) -> int:
    """Of the last day."""
    if state.recorded is None:
        return 0
    online = state.levels.end_minute - state.recorded.end_minute
    return max(0, min(state.recorded.minutes, MINUTES_PER_DAY - online))


def _counted(state: Forecast, policy: Policy, *, alone: int, after: int) -> Forecast:
    """With the replicas of this minute. A forecast that is not reliable adds none."""
    final = after if state.verdict.counts_as_acting else alone
    return counted(state, alone=_bounded(alone, policy), final=_bounded(final, policy))


def _replicas(load: float, per: Load) -> int:
    # Rounding must not need one more replica for the same load.
    return whole(load / per.per_replica)


def _bounded(replicas: int, policy: Policy) -> int:
    return max(policy.min_replicas, min(replicas, policy.max_replicas))
