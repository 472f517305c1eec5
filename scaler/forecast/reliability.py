"""Whether the forecast may act, by its outcomes only. It is switched off early and on again late.

A forecast that is too low needs no switch: then the metrics decide as without it.
"""

from scaler.forecast.bound import size_at
from scaler.forecast.outcomes import cover_a_day
from scaler.model.forecast import LEARNING, RELIABLE, Errors, Outcomes, Verdict
from scaler.model.load_levels import MINUTES_PER_DAY, Levels

REPEATEDLY_SUSPENDED = "RepeatedlySuspended"

# Two days are learnt, and a third is judged, before the forecast may act.
LEARNING_MINUTES = 3 * MINUTES_PER_DAY
LEARNING_GAPS_MAX = 0.1

USEFUL_PERCENT_MIN = 40.0
USEFUL_PERCENT_AGAIN = 55.0
# Below that, what was added is too little to judge.
ADDED_PERCENT_MIN = 1.0
HOUR_WASTE_FACTOR = 3.0
WASTE_FACTOR_AGAIN = 0.6
SKILL_AGAIN = 0.05
PINNED_MINUTES_MAX = 30
MISSING_MINUTES_MAX = 6
RECENT_ERRORS = 30
UNUSUAL_SHARE = 0.015
SUSPENSIONS_MAX = 3
SUSPENSIONS_WITHIN_MINUTES = 7 * MINUTES_PER_DAY


def verdict(
    before: Verdict, outcomes: Outcomes, errors: Errors, levels: Levels, *, waste_percent_max: float
) -> Verdict:
    """The next one; it stays the same object as long as nothing changes."""
    minute = levels.end_minute
    if before.reason == REPEATEDLY_SUSPENDED:
        return before
    problem = _problem(outcomes, errors, levels, waste_percent_max)
    if before.reason == LEARNING:
        if not _has_learnt(outcomes, levels):
            return before
        return _changed(before, problem or _good(outcomes), minute)
    if before.is_reliable:
        return _changed(before, problem, minute) if problem else before
    # A whole day must have been good since, not one that was good before.
    is_early = minute - before.since_minute < MINUTES_PER_DAY
    if problem or is_early or not _is_good_again(outcomes, waste_percent_max):
        return before
    return _changed(before, _good(outcomes), minute)


def _changed(before: Verdict, found: tuple[str, str], minute: int) -> Verdict:
    reason, message = found
    if reason == RELIABLE:
        return Verdict(
            reason=reason,
            message=message,
            since_minute=minute,
            suspended_at_minutes=before.suspended_at_minutes,
        )
    first = minute - SUSPENSIONS_WITHIN_MINUTES
    at = (*(each for each in before.suspended_at_minutes if each > first), minute)
    if len(at) >= SUSPENSIONS_MAX:
        reason = REPEATEDLY_SUSPENDED
        message = (
            f"suspended {len(at)} times within 7 days, the last time because {message}; "
            "it stays suspended until spec.forecast is changed"
        )
    return Verdict(reason=reason, message=message, since_minute=minute, suspended_at_minutes=at)


def _has_learnt(outcomes: Outcomes, levels: Levels) -> bool:
    if len(levels) < LEARNING_MINUTES or not cover_a_day(outcomes):
        return False
    return levels.missing_within(LEARNING_MINUTES) <= LEARNING_GAPS_MAX * LEARNING_MINUTES


def _problem(
    outcomes: Outcomes, errors: Errors, levels: Levels, waste_percent_max: float
) -> tuple[str, str] | None:
    day, hour = outcomes.day, outcomes.hour
    missing = levels.missing_within(60)
    if missing > MISSING_MINUTES_MAX:
        return "MissingSamples", f"{missing} of the last 60 minutes have no value"
    hour_max = HOUR_WASTE_FACTOR * waste_percent_max
    if hour.wasted_percent > hour_max:
        return (
            "TooMuchWaste",
            (
                f"it wasted {hour.wasted_percent:.1f} % of the replica-minutes of the last hour, "
                f"more than {hour_max:g} %"
            ),
        )
    if day.wasted_percent > waste_percent_max:
        return (
            "TooMuchWaste",
            (
                f"it wasted {day.wasted_percent:.1f} % of the replica-minutes of the last 24 hours, "
                f"more than {waste_percent_max:g} %"
            ),
        )
    if day.added_percent > ADDED_PERCENT_MIN and day.useful_percent < USEFUL_PERCENT_MIN:
        return (
            "TooLittleUse",
            (
                f"only {day.useful_percent:.0f} % of the replica-minutes that it added in the last "
                f"24 hours were needed, less than {USEFUL_PERCENT_MIN:g} %"
            ),
        )
    if _is_unusual(errors) or errors.pinned_minutes >= PINNED_MINUTES_MAX:
        return (
            "UnusualLoad",
            (
                f"the load of the last {RECENT_ERRORS} minutes was further from the forecast than "
                f"{100 * (1 - UNUSUAL_SHARE):g} % of the last 3 days"
            ),
        )
    if day.skill < 0.0:
        return (
            "NoSkill",
            (
                f"its errors of the last 24 hours are {-100 * day.skill:.0f} % larger than those of "
                "no forecast"
            ),
        )
    return None


def _is_unusual(errors: Errors) -> bool:
    """Whether the present errors lie beyond almost all others, on one side."""
    if len(errors.by_age) < MINUTES_PER_DAY:
        return False
    recent = sorted(errors.by_age[-RECENT_ERRORS:])
    middle = recent[len(recent) // 2]
    return middle > size_at(errors, UNUSUAL_SHARE) or middle < size_at(errors, 1 - UNUSUAL_SHARE)


def _is_good_again(outcomes: Outcomes, waste_percent_max: float) -> bool:
    day = outcomes.day
    if not cover_a_day(outcomes) or day.wasted_percent > WASTE_FACTOR_AGAIN * waste_percent_max:
        return False
    adds_enough = day.added_percent > ADDED_PERCENT_MIN
    if adds_enough and day.useful_percent < USEFUL_PERCENT_AGAIN:
        return False
    return day.skill > SKILL_AGAIN


def _good(outcomes: Outcomes) -> tuple[str, str]:
    day = outcomes.day
    return (
        RELIABLE,
        (
            f"of the replica-minutes that it added in the 24 hours before, {day.useful_percent:.0f} % "
            f"were needed; it wasted {day.wasted_percent:.1f} % of all"
        ),
    )
