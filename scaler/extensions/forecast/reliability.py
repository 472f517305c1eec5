"""Whether the forecast may act: it has learned, and its budget is not used up.

A forecast that is too low needs no switch: then the metrics decide as without it.
"""

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.outcomes import cover_a_day
from scaler.extensions.forecast.state import LEARNING, RELIABLE, Forecast, Outcomes, Verdict

# Two days are learned, and a third is judged, before the forecast may act.
LEARNING_MINUTES = 3 * MINUTES_PER_DAY

# Of the budget. Less than the rest adds no replica for long.
NO_LONGER_FROM = 0.95
AGAIN_BELOW = 0.8


def verdict(state: Forecast, budget_percent: float) -> Verdict:
    """The next one; it stays the same object as long as nothing changes."""
    before = state.verdict
    if before.reason == LEARNING and not _has_learned(state.outcomes, state.levels):
        return before
    wasted = _too_much_waste(state, budget_percent)
    reason, message = good(state.outcomes) if wasted is None else ("TooMuchWaste", wasted)
    return before if reason == before.reason else Verdict(reason=reason, message=message)


def _has_learned(outcomes: Outcomes, levels: Levels) -> bool:
    return cover_a_day(outcomes) and levels.known_minutes >= LEARNING_MINUTES


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
