"""Pure: what a dry run would have done, compared with what was, from two recorded series of replicas."""

from collections.abc import Mapping

import msgspec


class DryRunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Over the `hours` for which both counts are recorded.

    `short_minutes`: the target had fewer replicas than desired; `short_replica_hours`: how many fewer, over that time.
    `excess_*`: the target had more.
    """

    hours: float
    actual_replica_hours: float
    desired_replica_hours: float
    short_minutes: float
    short_replica_hours: float
    excess_minutes: float
    excess_replica_hours: float

    @property
    def saved_replica_hours(self) -> float:
        """How many replica-hours fewer it would have used; negative if more."""
        return self.actual_replica_hours - self.desired_replica_hours


def compare(
    actual: Mapping[float, float], desired: Mapping[float, float], *, step_seconds: float
) -> DryRunComparison | None:
    """`actual` and `desired` are replicas by time, one sample per step; None if no sample has both.

    A step in which one of them is missing does not count, so gaps of the recording add no replica-hours.
    """
    pairs = [(actual[at], desired[at]) for at in actual.keys() & desired.keys()]
    if not pairs:
        return None
    hours = step_seconds / 3600
    minutes = step_seconds / 60
    short = [want - have for have, want in pairs if want > have]
    excess = [have - want for have, want in pairs if have > want]
    return DryRunComparison(
        hours=len(pairs) * hours,
        actual_replica_hours=sum(have for have, _ in pairs) * hours,
        desired_replica_hours=sum(want for _, want in pairs) * hours,
        short_minutes=len(short) * minutes,
        short_replica_hours=sum(short) * hours,
        excess_minutes=len(excess) * minutes,
        excess_replica_hours=sum(excess) * hours,
    )
