"""One more minute of load: judge the forecasts that have become old enough, learn from them, issue the next one."""

import math
from array import array

import msgspec

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.combination import combined, judged, options
from scaler.extensions.forecast.experts import expected
from scaler.extensions.forecast.features import is_unusual, limited, rise, seen, smoothed
from scaler.extensions.forecast.levels import FILLED_MINUTES_MAX, appended
from scaler.extensions.forecast.outcomes import useful, with_minutes
from scaler.extensions.forecast.regression import learned, predicted, weights
from scaler.extensions.forecast.reliability import verdict
from scaler.extensions.forecast.state import Forecast, Issued, Observation, Sums

SOLVED_EVERY_MINUTES = 60
# Below that share of the mean, a change of the load does not count.
OFFSET_SHARE = 0.1
_OFFSET_MIN = 1e-9
# exp() of more overflows.
_EXPONENT_MAX = 700.0


def observed(state: Forecast, found: Observation) -> Forecast:
    """With the load of one more minute; the same state if that minute is known."""
    levels = appended(state.levels, found.minute, max(0.0, found.load.total))
    if levels is state.levels:
        return state
    ahead = found.minute - state.levels.end_minute if state.levels.values else 1
    state = _solved(msgspec.structs.replace(state, levels=levels))
    return _issue(_judged(state, found), found, ahead if ahead <= FILLED_MINUTES_MAX else 1)


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


def _issue(state: Forecast, found: Observation, ahead: int) -> Forecast:
    """Of a load with a value in `ahead` minutes, the next decision is so much later: it is forecast further ahead."""
    levels, minute, offset = state.levels, found.minute, state.offset
    lead = state.lead_minutes + ahead - 1
    features = seen(levels, minute, lead, offset, found.lags)
    learned_load = None
    if features is not None:
        level = smoothed(levels, minute, offset) or 0.0
        highest = min(level + predicted(state.weights, features), _EXPONENT_MAX)
        learned_load = max(0.0, math.exp(highest) - offset)
    loads = expected(levels, minute, lead, found.lags, learned_load)
    per_replica = found.load.per_replica
    replicas = options(loads, per_replica, found.most, array("f"))
    together = combined(state.shares, replicas, float(found.alone))
    issued = Issued(
        minute=minute,
        lead_minutes=lead,
        minutes=ahead,
        features=features,
        options=replicas,
        combined=together,
        needed=found.needed,
    )
    return msgspec.structs.replace(
        state,
        issued=(*state.issued, issued),
        bound=None if features is None else round(together.after[-1]) * per_replica,
        is_unusual=is_unusual(levels, minute, offset, found.lags),
    )


def _judged(state: Forecast, found: Observation) -> Forecast:
    """Those whose lead has passed: one, or several after a gap."""
    end = state.levels.end_minute
    while state.issued and state.issued[0].minute <= end - state.issued[0].lead_minutes:
        oldest, later = state.issued[0], state.issued[1:]
        last = oldest.minute + oldest.lead_minutes
        most = max([each.needed for each in later if each.minute <= last], default=0)
        if last == end:
            most = max(most, found.needed)
        state = _with_outcome(state, oldest, most, found)
        state = msgspec.structs.replace(state, issued=later)
    return state


def _with_outcome(state: Forecast, old: Issued, needed: int, found: Observation) -> Forecast:
    levels = state.levels
    actual = rise(levels, old.minute, old.lead_minutes, state.offset)
    last = old.minute + old.lead_minutes
    at_end = levels.at(last)
    moments, shares = state.moments, state.shares
    if old.features is not None and actual is not None:
        moments = learned(moments, old.features, limited(actual))
    if at_end is not None:
        price = budget_of(state, found.budget_percent).price
        lead = [each for each in state.issued if each.minute < last]
        shares = judged(shares, lead, at_end / found.load.per_replica, price)
    minutes = Sums(
        alone=old.alone * old.minutes,
        added=(old.final - old.alone) * old.minutes,
        useful=useful(alone=old.alone, final=old.final, needed=needed) * old.minutes,
        minutes=old.minutes,
    )
    outcomes, ended = with_minutes(state.outcomes, minutes)
    state = msgspec.structs.replace(state, shares=shares, moments=moments, outcomes=outcomes)
    if not ended:
        return state
    return msgspec.structs.replace(state, verdict=verdict(state, found.budget_percent))
