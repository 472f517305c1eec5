"""Searches of starts, without a limit of their work."""

from scaler.extensions.schedules.windows import YEARS_AHEAD, Starts
from scaler.extensions.schedules.work import Work

ENOUGH = 10**9


def previous_and_next(
    starts: Starts, now: float, lookback_seconds: float
) -> tuple[int | None, int | None]:
    """The last start at or before `now`, if it is at most `lookback` ago, and the first one after it."""
    until = now + YEARS_AHEAD * 366 * 86_400
    following = next(starts.following(now, until, Work(ENOUGH)), None)
    return starts.latest(now, now - lookback_seconds, Work(ENOUGH)), following
