"""What the forecast did, or in a dry run would have done, and whether that was worth it.

    added   the replicas that the forecast has beyond those of the metrics alone; none while it is not reliable
    useful  those of them that the load needed within the lead
    wasted  the others

All are replica-minutes, summed over ten minutes, the last hour and the last day.
"""

from collections.abc import Sequence

from scaler.extensions.forecast.state import Outcomes, Sums

INTERVAL_MINUTES = 10
_PER_HOUR = 60 // INTERVAL_MINUTES
_PER_DAY = 24 * _PER_HOUR


def cover_a_day(outcomes: Outcomes) -> bool:
    """Whether a whole day was judged."""
    return len(outcomes.intervals) >= _PER_DAY


def with_minute(outcomes: Outcomes, minute: Sums) -> tuple[Outcomes, bool]:
    """With one more minute, and whether an interval ended with it."""
    current = summed((outcomes.current, minute))
    if current.minutes < INTERVAL_MINUTES:
        return (
            Outcomes(
                intervals=outcomes.intervals, current=current, day=outcomes.day, hour=outcomes.hour
            ),
            False,
        )
    intervals = (*outcomes.intervals[-_PER_DAY + 1 :], current)
    return Outcomes(
        intervals=intervals, day=summed(intervals), hour=summed(intervals[-_PER_HOUR:])
    ), True


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
