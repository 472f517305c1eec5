"""What the forecast did, or in a dry run would have done, and whether that was worth it.

    added   the replicas that the forecast has beyond those of the metrics alone; none while it is not reliable
    useful  those of them that the load needed within the lead
    wasted  the others

All are replica-minutes, summed over ten minutes and over the last day.
"""

from collections.abc import Sequence

import msgspec

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import Outcomes, Sums

INTERVAL_MINUTES = 10
"""An interval ends with the decision that makes it at least so long."""
BURST_RATIO = 4.0
"""An interval of more than so many times the median is a burst: what it has beyond that earns no budget for the rest of the day."""
INTERVALS_MAX = MINUTES_PER_DAY // INTERVAL_MINUTES
"""Of those that `with_minutes` keeps: without the oldest, they are less than a day."""


def cover_a_day(outcomes: Outcomes) -> bool:
    """Whether a whole day was judged."""
    return outcomes.day.minutes >= MINUTES_PER_DAY


def with_minutes(outcomes: Outcomes, minutes: Sums) -> tuple[Outcomes, bool]:
    """With one more decision, which was valid for one minute or several, and whether an interval ended with it."""
    current = summed((outcomes.current, minutes))
    if current.minutes < INTERVAL_MINUTES:
        return msgspec.structs.replace(outcomes, current=current), False
    intervals = (*outcomes.intervals, current)
    minutes_known = sum([each.minutes for each in intervals])
    while minutes_known - intervals[0].minutes >= MINUTES_PER_DAY:
        minutes_known -= intervals[0].minutes
        intervals = intervals[1:]
    return of_intervals(intervals), True


def of_intervals(intervals: tuple[Sums, ...]) -> Outcomes:
    """Of a day, the oldest first."""
    per_minute = sorted([each.alone / each.minutes for each in intervals])
    most = BURST_RATIO * per_minute[len(per_minute) // 2] if per_minute else 0.0
    burst = sum([max(0.0, each.alone - most * each.minutes) for each in intervals])
    return Outcomes(intervals=intervals, day=summed(intervals), burst=burst)


def useful(*, alone: int, final: int, needed: int) -> int:
    """Those of the added replicas that the load needed."""
    return max(0, min(final, needed) - alone)


def summed(sums: Sequence[Sums]) -> Sums:
    """All of them together."""
    return Sums(
        alone=sum([each.alone for each in sums]),
        added=sum([each.added for each in sums]),
        useful=sum([each.useful for each in sums]),
        minutes=sum([each.minutes for each in sums]),
    )
