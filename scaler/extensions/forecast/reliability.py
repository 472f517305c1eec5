"""Whether the forecast may act: its budget is not used up, and a day like the present is known.

A forecast that is too low needs no switch: then the metrics decide as without it.
"""

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.features import COMPARED_MINUTES, UNLIKE_FACTOR
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.outcomes import cover_a_day
from scaler.extensions.forecast.state import LEARNING, RELIABLE, Forecast, Outcomes, Verdict

UNUSUAL_LOAD = "UnusualLoad"

# Two days are learned, and a third is judged, before the forecast may act.
LEARNING_MINUTES = 3 * MINUTES_PER_DAY
LEARNING_GAPS_MAX = 0.1

# Of the budget. Less than the rest adds no replica for long.
NO_LONGER_FROM = 0.95
AGAIN_BELOW = 0.8
MISSING_MINUTES_MAX = 6


def verdict(state: Forecast, budget_percent: float) -> Verdict:
    """The next one; it stays the same object as long as nothing changes."""
    before = state.verdict
    if before.reason == LEARNING and not _has_learned(state.outcomes, state.levels):
        return before
    reason, message = _problem(state, budget_percent) or good(state.outcomes)
    still_not_reliable = not before.counts_as_acting and reason != RELIABLE
    if reason == before.reason or still_not_reliable:
        return before
    return Verdict(reason=reason, message=message)


def _has_learned(outcomes: Outcomes, levels: Levels) -> bool:
    if len(levels) < LEARNING_MINUTES or not cover_a_day(outcomes):
        return False
    return levels.missing_within(LEARNING_MINUTES) <= LEARNING_GAPS_MAX * LEARNING_MINUTES


def _problem(state: Forecast, budget_percent: float) -> tuple[str, str] | None:
    missing = state.levels.missing_within(60)
    if missing > MISSING_MINUTES_MAX:
        return "MissingSamples", f"{missing} of the last 60 minutes have no value"
    wasted = _too_much_waste(state, budget_percent)
    if wasted:
        return "TooMuchWaste", wasted
    if state.is_unusual:
        return (
            UNUSUAL_LOAD,
            (
                f"the load of the last {COMPARED_MINUTES} minutes is more than {UNLIKE_FACTOR:g} times that of the same "
                f"time of each known earlier day, or less than 1/{UNLIKE_FACTOR:g} of it"
            ),
        )
    return None


def _too_much_waste(state: Forecast, budget_percent: float) -> str | None:
    """As a message; None if the budget is not used up. What has no outcome yet counts as used."""
    budget = budget_of(state, budget_percent)
    share = NO_LONGER_FROM if state.verdict.counts_as_acting else AGAIN_BELOW
    if budget.used_share < share or not budget.used:
        return None
    return (
        f"of the replica-minutes that it added in the last 24 hours, {budget.used / 60:.1f} replica-hours were not needed, or are "
        f"not known to be; its budget of {budget_percent:g}% is {budget.allowed / 60:.1f} replica-hours"
    )


def good(outcomes: Outcomes) -> tuple[str, str]:
    """The reason and message of a forecast that may act."""
    day = outcomes.day
    if not day.added:
        return RELIABLE, "in the 24 hours before, it added nothing"
    return (
        RELIABLE,
        (
            f"of the replica-minutes that it added in the 24 hours before, {day.useful_percent:.0f}% "
            f"were needed; it wasted {day.wasted_percent:.1f}% of all"
        ),
    )
