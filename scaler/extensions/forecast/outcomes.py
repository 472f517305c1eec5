"""What the forecast did, or in a dry run would have done, and whether that was worth it.

    added   the replicas that the forecast has beyond those of the metrics alone; none while it is not reliable
    useful  those of them that the load needed within the lead
    wasted  the others

All are replica-minutes, summed over ten minutes and over the last day.
"""

from collections.abc import Sequence

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import Outcomes, Sums

INTERVAL_MINUTES = 10
"""An interval ends with the decision that makes it at least so long."""
INTERVALS_MAX = MINUTES_PER_DAY // INTERVAL_MINUTES
"""Of those that `with_minutes` keeps: without the oldest, they are less than a day."""


def cover_a_day(outcomes: Outcomes) -> bool:
    """Whether a whole day was judged."""
    return outcomes.day.minutes >= MINUTES_PER_DAY


def with_minutes(outcomes: Outcomes, minutes: Sums) -> tuple[Outcomes, bool]:
    """With one more decision, which was valid for one minute or several, and whether an interval ended with it."""
    current = summed((outcomes.current, minutes))
    if current.minutes < INTERVAL_MINUTES:
        return (
            Outcomes(intervals=outcomes.intervals, current=current, day=outcomes.day),
            False,
        )
    intervals = (*outcomes.intervals, current)
    day = summed(intervals)
    while day.minutes - intervals[0].minutes >= MINUTES_PER_DAY:
        intervals = intervals[1:]
        day = summed(intervals)
    return Outcomes(intervals=intervals, day=day), True


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
