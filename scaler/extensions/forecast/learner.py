"""One more minute of load: judge the forecasts that have become old enough, learn from them, issue the next one."""

import math

import msgspec

from scaler.extensions.forecast.bound import addend, are_enough, judged
from scaler.extensions.forecast.features import is_unusual, limited, rise, seen, smoothed
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.outcomes import useful, with_minute
from scaler.extensions.forecast.regression import learnt, predicted, weights
from scaler.extensions.forecast.reliability import verdict
from scaler.extensions.forecast.state import Forecast, Issued, Sums

SOLVED_EVERY_MINUTES = 60
# Below that share of the mean, a change of the load does not count.
OFFSET_SHARE = 0.1
_OFFSET_MIN = 1e-9
# exp() of more overflows.
_EXPONENT_MAX = 700.0


def observed(
    state: Forecast, *, minute: int, load: float, needed: int, waste_percent_max: float
) -> Forecast:
    """With the load of one more minute, which needs `needed` replicas; the same state if that minute is known."""
    levels = appended(state.levels, minute, max(0.0, load))
    if levels is state.levels:
        return state
    state = _solved(msgspec.structs.replace(state, levels=levels))
    return _issue(_judged(state, needed, waste_percent_max), needed)


def counted(state: Forecast, *, alone: int, final: int) -> Forecast:
    """With the replicas that were decided by the newest forecast, without and with it."""
    if not state.issued:
        return state
    newest = msgspec.structs.replace(state.issued[-1], alone=alone, final=final)
    return msgspec.structs.replace(state, issued=(*state.issued[:-1], newest))


def _solved(state: Forecast) -> Forecast:
    minute = state.levels.end_minute
    if state.solved_at_minute and minute - state.solved_at_minute < SOLVED_EVERY_MINUTES:
        return state
    known = [each for each in state.levels.values if each >= 0.0]
    mean = math.fsum(known) / len(known) if known else 0.0
    return msgspec.structs.replace(
        state,
        offset=max(OFFSET_SHARE * mean, _OFFSET_MIN),
        weights=weights(state.moments),
        solved_at_minute=minute,
    )


def _issue(state: Forecast, needed: int) -> Forecast:
    minute, offset = state.levels.end_minute, state.offset
    found = seen(state.levels, minute, state.lead_minutes, offset)
    prediction, added, bound = 0.0, None, None
    if found is not None:
        prediction = predicted(state.weights, found)
        if are_enough(state.errors):
            added = addend(state.errors)
            level = smoothed(state.levels, minute, offset) or 0.0
            highest = min(level + prediction + added, _EXPONENT_MAX)
            bound = max(0.0, math.exp(highest) - offset)
    issued = Issued(
        minute=minute,
        features=found,
        predicted=prediction,
        addend=added,
        needed=needed,
    )
    return msgspec.structs.replace(
        state,
        issued=(*state.issued, issued),
        bound=bound,
        is_unusual=is_unusual(state.levels, minute, offset),
    )


def _judged(state: Forecast, needed: int, waste_percent_max: float) -> Forecast:
    """Those whose lead has passed: one, or several after a gap."""
    end = state.levels.end_minute
    while state.issued and state.issued[0].minute <= end - state.lead_minutes:
        oldest, later = state.issued[0], state.issued[1:]
        last = oldest.minute + state.lead_minutes
        most = max([each.needed for each in later if each.minute <= last], default=0)
        if last == end:
            most = max(most, needed)
        state = _with_outcome(state, oldest, most, waste_percent_max)
        state = msgspec.structs.replace(state, issued=later)
    return state


def _with_outcome(state: Forecast, old: Issued, needed: int, waste_percent_max: float) -> Forecast:
    actual = rise(state.levels, old.minute, state.lead_minutes, state.offset)
    if old.features is None or actual is None:
        return state
    errors = judged(state.errors, actual - old.predicted, old.addend)
    moments = learnt(state.moments, old.features, limited(actual))
    outcomes, ended = state.outcomes, False
    if old.addend is not None:
        minute = Sums(
            alone=old.alone,
            added=old.final - old.alone,
            useful=useful(alone=old.alone, final=old.final, needed=needed),
            minutes=1,
        )
        outcomes, ended = with_minute(outcomes, minute)
    state = msgspec.structs.replace(state, errors=errors, moments=moments, outcomes=outcomes)
    if not ended:
        return state
    return msgspec.structs.replace(state, verdict=verdict(state, waste_percent_max))
