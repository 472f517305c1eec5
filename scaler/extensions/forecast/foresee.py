"""The forecast as a stage of a decision: before the recommendation is normalized, and after."""

import math

import msgspec

from scaler.algorithm.derivation import ForecastStep
from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import ForecastRules, Policy
from scaler.extensions.forecast.digest import digest_of, restored
from scaler.extensions.forecast.floor import Floor, lifted
from scaler.extensions.forecast.learner import counted, observed
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import Forecast, Load

SECONDS_PER_MINUTE = 60.0
DIGEST_EVERY_MINUTES = 60


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """The forecast at this reconcile. `needed` is in replicas, None if there is no bound now."""

    state: Forecast
    load: Load | None = None
    needed: float | None = None
    is_new_minute: bool = False


def foresee(
    rules: ForecastRules, memory: Memory, load: Load | None, now_unix_seconds: float
) -> Foreseen:
    """Learn from the first load of each minute. `load` is None if the metric has no value now."""
    minute = int(now_unix_seconds // SECONDS_PER_MINUTE)
    before = memory.forecast_state or new_forecast(rules)
    if load is None:
        return Foreseen(state=before)
    state = observed(
        before,
        minute=minute,
        load=load.total,
        needed=_replicas(load.total, load),
        waste_percent_max=rules.waste_percent_max,
    )
    # After the clock was set back, the newest minute lies in the future.
    bound = state.bound if state.levels.end_minute == minute else None
    return Foreseen(
        state=state,
        load=load,
        needed=None if bound is None else bound / load.per_replica,
        is_new_minute=state is not before,
    )


def remembered(
    found: Foreseen, policy: Policy, memory: Memory, *, stabilized: int, others: int
) -> tuple[Memory, ForecastStep | None]:
    """The memory with this forecast, and its step of the derivation.

    `stabilized` is the count without the forecast, `others` the highest proposal of the other metrics.
    """
    rules, state = policy.forecast, found.state
    if rules is None:
        return memory, None
    acts = acting_floor(found, policy) is not None
    floor = _floor(found, policy)
    after = lifted(stabilized, floor)
    alone = stabilized
    if found.is_new_minute and found.load is not None:
        state = _with_alone(state, found.load, policy)
        if acts:
            # The tolerance can keep replicas that only the forecast added: they count as added.
            alone = min(stabilized, max(others, *state.alone_by_minute))
        state = _counted(state, policy, alone=alone, after=after)
    text = memory.forecast
    before = memory.forecast_state
    has_turned = before is not None and before.verdict is not state.verdict
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
        before=stabilized,
        after=after,
        verdict=state.verdict,
        day=state.outcomes.day,
        replayed_minutes=_replayed_minutes(state),
    )
    if state is before:
        return memory, step
    return msgspec.structs.replace(memory, forecast=text, forecast_state=state), step


def replayed_minute(
    state: Forecast, rules: ForecastRules, policy: Policy, *, minute: int, load: Load
) -> Forecast:
    """With a minute of recorded load, as a dry run of this metric alone would have learnt and judged it.

    The count without the forecast is the highest of the metric in the scale-down window.
    """
    memory = Memory(forecast_state=state)
    found = foresee(rules, memory, load, minute * SECONDS_PER_MINUTE)
    if not found.is_new_minute:
        return state
    learnt = _with_alone(found.state, load, policy)
    alone = max(learnt.alone_by_minute)
    return _counted(learnt, policy, alone=alone, after=lifted(alone, _floor(found, policy)))


def acting_floor(found: Foreseen, policy: Policy) -> Floor | None:
    """The floor to apply; None if the forecast may not act now."""
    rules = policy.forecast
    if rules is None or not rules.acts or not found.state.verdict.is_reliable:
        return None
    return _floor(found, policy)


def continued(memory: Memory, rules: ForecastRules | None, now_unix_seconds: float) -> Memory:
    """With the state of this process, else the stored one, else an empty one. Nothing without `spec.forecast`."""
    if rules is None or rules.problem:
        if memory.forecast_state is None and not memory.forecast:
            return memory
        return msgspec.structs.replace(memory, forecast="", forecast_state=None)
    state = memory.forecast_state
    if state is None and memory.forecast:
        state = restored(memory.forecast, int(now_unix_seconds // SECONDS_PER_MINUTE))
    if state is None or state.identity != rules.identity:
        state = new_forecast(rules)
    if state is memory.forecast_state:
        return memory
    return msgspec.structs.replace(memory, forecast_state=state)


def new_forecast(rules: ForecastRules) -> Forecast:
    """Nothing is learnt yet."""
    return Forecast(identity=rules.identity, lead_minutes=rules.lead_minutes)


def _floor(found: Foreseen, policy: Policy) -> Floor | None:
    if found.needed is None or policy.forecast is None:
        return None
    return Floor(
        needed=found.needed,
        extra_ratio=policy.forecast.extra_ratio,
        tolerance=policy.tolerances.scale_up,
    )


def _with_alone(state: Forecast, load: Load, policy: Policy) -> Forecast:
    """What this metric alone would have set: like the HPA, from its own count, with the tolerance."""
    window = max(1, math.ceil(policy.scale_down_window_seconds / SECONDS_PER_MINUTE))
    needed = load.total / load.per_replica
    before = state.alone_by_minute[-1] if state.alone_by_minute else 0
    keeps = before > 0 and policy.tolerances.is_within(needed / before)
    count = before if keeps else _replicas(load.total, load)
    return msgspec.structs.replace(state, alone_by_minute=(*state.alone_by_minute, count)[-window:])


def _replayed_minutes(state: Forecast) -> int:
    """Of the last day."""
    if state.recorded is None:
        return 0
    online = state.levels.end_minute - state.recorded.end_minute
    return max(0, min(state.recorded.minutes, MINUTES_PER_DAY - online))


def _counted(state: Forecast, policy: Policy, *, alone: int, after: int) -> Forecast:
    """With the replicas of this minute. A suspended forecast adds none."""
    final = after if state.verdict.is_on_trial else alone
    return counted(state, alone=_bounded(alone, policy), final=_bounded(final, policy))


def _replicas(load: float, per: Load) -> int:
    # Rounding must not need one more replica for the same load.
    return math.ceil(load / per.per_replica - 1e-9)


def _bounded(replicas: int, policy: Policy) -> int:
    return max(policy.min_replicas, min(replicas, policy.max_replicas))
