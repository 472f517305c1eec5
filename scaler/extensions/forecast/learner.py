"""One more minute of load: judge the forecasts that have become old enough, learn from them, issue the next one."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from scaler.extensions.forecast.bound import next_margin, with_margin
from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.choice import SHORTAGE_FROM, followed, judged, with_least_cost
from scaler.extensions.forecast.features import HIGHEST_OF_DAY, OFFSET_MIN, rise, seen, smoothed
from scaler.extensions.forecast.floor import whole
from scaler.extensions.forecast.levels import FILLED_MINUTES_MAX, appended
from scaler.extensions.forecast.load_levels import Floats
from scaler.extensions.forecast.most_days import on_most_days
from scaler.extensions.forecast.outcomes import useful, with_minutes
from scaler.extensions.forecast.quantiles import BOUND, learned, predicted
from scaler.extensions.forecast.reliability import verdict
from scaler.extensions.forecast.state import Forecast, Issued, Observation, Sums

SUMMARY_EVERY_MINUTES = 60
# Below that share of the mean, a change of the load does not count.
OFFSET_SHARE = 0.1
# A linear model can expect more than there has ever been, by any factor: it may by 10%, for a load that grows.
_ABOVE_HIGHEST = math.log(1.1)
# exp() of more overflows.
_EXPONENT_MAX = 700.0


def observed(state: Forecast, found: Observation) -> Forecast:
    """With the load of one more minute; the same state if that minute is known."""
    levels = appended(state.levels, found.minute, max(0.0, found.load.total))
    if levels is state.levels:
        return state
    ahead = found.minute - state.levels.end_minute if state.levels.values else 1
    state = _summarized(msgspec.structs.replace(state, levels=levels))
    return _issue(_judged(state, found), found, ahead if ahead <= FILLED_MINUTES_MAX else 1)


def counted(state: Forecast, *, alone: int, final: int) -> Forecast:
    """With the replicas that were decided by the newest forecast, without and with it."""
    if not state.issued:
        return state
    newest = msgspec.structs.replace(state.issued[-1], alone=alone, final=final)
    return msgspec.structs.replace(state, issued=(*state.issued[:-1], newest))


def _summarized(state: Forecast) -> Forecast:
    """With the offset and the highest load of all minutes that are kept."""
    minute = state.levels.end_minute
    if state.summary_minute and minute - state.summary_minute < SUMMARY_EVERY_MINUTES:
        return state
    known = [each for each in state.levels.values if each >= 0.0]
    mean = math.fsum(known) / len(known) if known else 0.0
    return msgspec.structs.replace(
        state,
        offset=max(OFFSET_SHARE * mean, OFFSET_MIN),
        highest=max(known, default=0.0),
        summary_minute=minute,
    )


def _issue(state: Forecast, found: Observation, ahead: int) -> Forecast:
    """Of a load with a value in `ahead` minutes, the next decision is so much later: it is forecast further ahead."""
    levels, minute, offset = state.levels, found.minute, state.offset
    lead = state.lead_minutes + ahead - 1
    features = seen(levels, minute, lead, offset, found.lags)
    loads = None if features is None else _expected(state, minute, features)
    of_days = on_most_days(levels, minute, lead, offset, found.lags)
    bound = None if loads is None else with_margin(loads[BOUND], state.margin, offset)
    if bound is not None and of_days is not None:
        bound = max(bound, of_days)
    issued = Issued(
        minute=minute,
        lead_minutes=lead,
        minutes=ahead,
        features=features,
        bound=bound,
        present=found.alone,
        by_model=found.alone if loads is None else _by_model(state, found, loads),
        by_days=found.alone if of_days is None else _by_days(found, of_days),
        needed=found.needed,
    )
    return msgspec.structs.replace(
        state,
        issued=(*state.issued, issued),
        bound=bound,
        wanted=None if loads is None else followed(state.shares, issued),
    )


def _expected(state: Forecast, minute: int, features: Floats) -> Sequence[float]:
    """The load within the lead, for each quantile."""
    level = smoothed(state.levels, minute, state.offset) or 0.0
    highest = max(level + features[HIGHEST_OF_DAY], math.log(state.highest + state.offset))
    limit = min(highest + _ABOVE_HIGHEST, _EXPONENT_MAX)
    return [
        max(0.0, math.exp(min(level + each, limit)) - state.offset)
        for each in predicted(state.model, features)
    ]


def _by_model(state: Forecast, found: Observation, loads: Sequence[float]) -> int:
    replicas = [_served(found, each) for each in loads]
    price = budget_of(state, found.budget_percent).price
    before = state.issued[-1].by_model if state.issued else found.alone
    return with_least_cost(replicas, found.alone, price, before)


def _by_days(found: Observation, load: float) -> int:
    return max(found.alone, whole(_served(found, load)))


def _served(found: Observation, load: float) -> float:
    """The replicas with which shortage does not begin yet."""
    return min(load / (SHORTAGE_FROM * found.load.per_replica), float(found.most))


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


def _examples(state: Forecast, old: Issued, lags: Sequence[int]) -> Iterator[tuple[Floats, float]]:
    """This one, and that of the same minute of the day before: what is learned of a time of the day only once is learned slowly."""
    levels, lead, offset = state.levels, old.lead_minutes, state.offset
    actual = rise(levels, old.minute, lead, offset)
    if old.features is not None and actual is not None:
        yield old.features, actual
    minute = old.minute - lags[0]
    actual = rise(levels, minute, lead, offset)
    if actual is not None:
        features = seen(levels, minute, lead, offset, [each - lags[0] for each in lags[1:]])
        if features is not None:
            yield features, actual


def _margin(state: Forecast, old: Issued) -> float:
    peak = state.levels.peak_after(old.minute, old.lead_minutes)
    if peak is None or old.bound is None:
        return state.margin
    return next_margin(state.margin, is_exceeded=peak > old.bound)


def _with_outcome(state: Forecast, old: Issued, needed: int, found: Observation) -> Forecast:
    last = old.minute + old.lead_minutes
    at_end = state.levels.at(last)
    model, shares = state.model, state.shares
    for features, actual in _examples(state, old, found.lags):
        model = learned(model, features, actual)
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
    state = msgspec.structs.replace(
        state, shares=shares, model=model, margin=_margin(state, old), outcomes=outcomes
    )
    if not ended:
        return state
    return msgspec.structs.replace(state, verdict=verdict(state, found.budget_percent))
