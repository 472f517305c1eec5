"""Learning from recorded load: the minutes of the last days, as if the scaler had read each of them at its time.

Outcomes are judged on the way, as in a dry run, so a forecast may act at the end of a replay only if it had been worth
it. A replay can stop after any minute and continue from the state that it has reached.
"""

from collections.abc import Mapping

import msgspec

from scaler.algorithm.policy import Policy
from scaler.extensions.forecast.foresee import SECONDS_PER_MINUTE, replayed_minute
from scaler.extensions.forecast.learner import OFFSET_SHARE
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.reliability import good
from scaler.extensions.forecast.rules import ForecastRules
from scaler.extensions.forecast.sentences import recorded_text
from scaler.extensions.forecast.state import LEARNING, Forecast, Load, Recorded, Verdict, WarmStart

# Two weekly periods, the second of which is forecast from the first, and a day.
RECORDED_MINUTES = 15 * MINUTES_PER_DAY
COMPARED_MINUTES = 10
# Recorded load that differs by more may be that of another metric.
ALIKE_RATIO = 1.65

LoadByMinute = Mapping[int, float]
"""Load by minutes since 1970. Minutes without a value are missing."""


def readings_of(levels: Levels, *, after: int = 0) -> dict[int, float]:
    """The minutes that the scaler has read, after this one. They are kept as 32-bit numbers, which have seven digits."""
    first = levels.end_minute - len(levels) + 1
    skipped = max(0, after - first + 1)
    return {
        minute: float(f"{value:.7g}")
        for minute, value in enumerate(levels.values[skipped:], first + skipped)
        if value >= 0.0
    }


def difference(recorded: LoadByMinute, read: LoadByMinute) -> str | None:
    """Why the recorded load is not that of the metric; None if both are alike in the newest minutes that both have."""
    both = sorted(recorded.keys() & read.keys())[-COMPARED_MINUTES:]
    if not both:
        return "the recorded history does not reach the minutes that the scaler has read"
    offset = OFFSET_SHARE * sum(recorded.values()) / len(recorded)
    one = sum([recorded[minute] for minute in both]) / len(both)
    other = sum([read[minute] for minute in both]) / len(both)
    ratio = (one + offset + 1e-9) / (other + offset + 1e-9)
    if 1 / ALIKE_RATIO <= ratio <= ALIKE_RATIO:
        return None
    return f"the recorded load is {one:.4g} where the metrics API has {other:.4g}, so it may be that of another metric"


def replayed(
    state: Forecast, minutes: LoadByMinute, rules: ForecastRules, policy: Policy, per_replica: float
) -> Forecast:
    """With these minutes; those that are not newer than the state change nothing."""
    for minute in sorted(minutes):
        load = Load(total=max(0.0, minutes[minute]), per_replica=per_replica)
        state = replayed_minute(state, rules, policy, minute=minute, load=load)
    return state


def learned_from_recorded(state: Forecast, minutes: int) -> Forecast:
    """At the end of a replay of so many minutes: what is reported says where it comes from."""
    recorded = Recorded(minutes=minutes, end_minute=state.levels.end_minute)
    verdict = state.verdict
    if verdict.reason != LEARNING:
        message = good(state.outcomes)[1] if verdict.is_reliable else verdict.message
        message = (
            f"{message}; learned from {minutes / MINUTES_PER_DAY:.1f} days of recorded history"
        )
        verdict = Verdict(reason=verdict.reason, message=message)
    return msgspec.structs.replace(state, recorded=recorded, verdict=verdict, digest_minute=0)


def warm_started(
    state: Forecast,
    rules: ForecastRules,
    policy: Policy,
    found: WarmStart | None,
    now_unix_seconds: float,
) -> Forecast:
    """With what was learned from recorded history, and after it the minutes that the scaler has read meanwhile."""
    if found is None or found.state is None:
        return state
    learned = found.state
    is_of_future = learned.levels.end_minute > now_unix_seconds // SECONDS_PER_MINUTE
    if not state.wants_recorded_load or learned.identity != rules.identity or is_of_future:
        return state
    later = readings_of(state.levels, after=learned.levels.end_minute)
    return replayed(learned, later, rules, policy, found.per_replica)


def learning_text(state: Forecast | None, found: WarmStart | None) -> str | None:
    """For the condition of a forecast that still learns."""
    if state is None or state.verdict.reason != LEARNING:
        return None
    if state.recorded is not None:
        return recorded_text(state.recorded)
    return None if found is None else found.problem
