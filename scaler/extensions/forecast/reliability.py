"""Whether the forecast may act, by its outcomes: what it wastes is a budget, and a day like the present is known.

A forecast that is too low needs no switch: then the metrics decide as without it.
"""

from scaler.extensions.forecast.features import COMPARED_MINUTES, UNLIKE_FACTOR
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.outcomes import cover_a_day
from scaler.extensions.forecast.state import LEARNING, RELIABLE, Forecast, Outcomes, Verdict

UNUSUAL_LOAD = "UnusualLoad"

# Two days are learnt, and a third is judged, before the forecast may act.
LEARNING_MINUTES = 3 * MINUTES_PER_DAY
LEARNING_GAPS_MAX = 0.1

# Of the allowed waste. The rest is for what is decided before the next verdict, and for a day that becomes quieter.
NO_LONGER_ABOVE = 0.8
AGAIN_BELOW = 0.6
HOUR_WASTE_FACTOR = 3.0
USEFUL_PERCENT_MIN = 20.0
# Below that, what was added is too little to judge.
ADDED_PERCENT_MIN = 1.0
MISSING_MINUTES_MAX = 6


def verdict(state: Forecast, waste_percent_max: float) -> Verdict:
    """The next one; it stays the same object as long as nothing changes."""
    before = state.verdict
    if before.reason == LEARNING and not _has_learnt(state.outcomes, state.levels):
        return before
    reason, message = _problem(state, waste_percent_max) or good(state.outcomes)
    still_not_reliable = not before.counts_as_acting and reason != RELIABLE
    if reason == before.reason or still_not_reliable:
        return before
    return Verdict(reason=reason, message=message)


def _has_learnt(outcomes: Outcomes, levels: Levels) -> bool:
    if len(levels) < LEARNING_MINUTES or not cover_a_day(outcomes):
        return False
    return levels.missing_within(LEARNING_MINUTES) <= LEARNING_GAPS_MAX * LEARNING_MINUTES


def _problem(state: Forecast, waste_percent_max: float) -> tuple[str, str] | None:
    missing = state.levels.missing_within(60)
    if missing > MISSING_MINUTES_MAX:
        return "MissingSamples", f"{missing} of the last 60 minutes have no value"
    wasted = _too_much_waste(state, waste_percent_max)
    if wasted:
        return "TooMuchWaste", wasted
    day = state.outcomes.day
    # A forecast that is not reliable adds nothing: once little is left of what it added, it may try again.
    added_percent_min = ADDED_PERCENT_MIN * (1.0 if state.verdict.counts_as_acting else AGAIN_BELOW)
    if day.added_percent > added_percent_min and day.useful_percent < USEFUL_PERCENT_MIN:
        return (
            "TooLittleUse",
            (
                f"only {day.useful_percent:.0f} % of the replica-minutes that it added in the last "
                f"24 hours were needed, less than {USEFUL_PERCENT_MIN:g} %"
            ),
        )
    if state.is_unusual:
        return (
            UNUSUAL_LOAD,
            (
                f"the load of the last {COMPARED_MINUTES} minutes is more than {UNLIKE_FACTOR:g} times that of the same "
                f"time of each known earlier day, or less than 1/{UNLIKE_FACTOR:g} of it"
            ),
        )
    return None


def _too_much_waste(state: Forecast, waste_percent_max: float) -> str | None:
    """As a message; None if it is not too much. What has no outcome yet counts as waste."""
    day, hour = state.outcomes.day, state.outcomes.hour
    share = NO_LONGER_ABOVE if state.verdict.counts_as_acting else AGAIN_BELOW
    pending = sum([each.final - each.alone for each in state.issued])
    wasted_percent = day.wasted_percent + 100.0 * pending / max(day.alone, 1.0)
    if wasted_percent > share * waste_percent_max:
        return (
            f"it wasted {wasted_percent:.1f} % of the replica-minutes of the last 24 hours, "
            f"more than {100 * share:g} % of the allowed {waste_percent_max:g} %"
        )
    hour_max = HOUR_WASTE_FACTOR * waste_percent_max
    if hour.wasted_percent > (
        hour_max if state.verdict.counts_as_acting else AGAIN_BELOW * hour_max
    ):
        return (
            f"it wasted {hour.wasted_percent:.1f} % of the replica-minutes of the last hour, "
            f"more than {hour_max:g} %"
        )
    return None


def good(outcomes: Outcomes) -> tuple[str, str]:
    """The reason and message of a forecast that may act."""
    day = outcomes.day
    if not day.added:
        return RELIABLE, "in the 24 hours before, it added nothing"
    return (
        RELIABLE,
        (
            f"of the replica-minutes that it added in the 24 hours before, {day.useful_percent:.0f} % "
            f"were needed; it wasted {day.wasted_percent:.1f} % of all"
        ),
    )
