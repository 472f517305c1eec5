"""The shape of a load, by a rule that knows nothing of any forecast: how alike the load is to itself a day and a week before.

    weekly      the autocorrelation at seven days is at least 0.5, and by 0.1 more than that at one day
    daily       that at one day is at least 0.5
    weak daily  one of the two is at least 0.2
    aperiodic   neither
    sparse      the load is zero in more than half of the time, whatever the autocorrelation

Of ten-minute means, so that noise by the minute hides no shape.
"""

import math
from collections.abc import Sequence

import msgspec

from benchmarks.traces.trace import Trace

BIN_MINUTES = 10
BINS_PER_DAY = 144
STRONG, WEAK, MORE = 0.5, 0.2, 0.1
SPARSE_SHARE = 0.5
WEEKLY, DAILY, WEAK_DAILY, APERIODIC, SPARSE = SHAPES = (
    "weekly",
    "daily",
    "weak daily",
    "aperiodic",
    "sparse",
)


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Autocorrelations, 0 where the load is too short for one, and the share of the time in which there is no load."""

    days: float
    daily: float
    weekly: float
    zero_share: float

    @property
    def name(self) -> str:
        """The rule of this module."""
        if self.zero_share > SPARSE_SHARE:
            return SPARSE
        if self.weekly >= STRONG and self.weekly >= self.daily + MORE:
            return WEEKLY
        if self.daily >= STRONG:
            return DAILY
        return WEAK_DAILY if max(self.daily, self.weekly) >= WEAK else APERIODIC


def shape_of(trace: Trace) -> Shape:
    """Of a recorded load."""
    known = [each for each in trace.loads if each is not None]
    bins = [
        _mean(trace.loads[begin : begin + BIN_MINUTES])
        for begin in range(0, len(trace.loads), BIN_MINUTES)
    ]
    return Shape(
        days=len(bins) / BINS_PER_DAY,
        daily=autocorrelation(bins, BINS_PER_DAY),
        weekly=autocorrelation(bins, 7 * BINS_PER_DAY),
        zero_share=sum(1 for each in known if each <= 0.0) / len(known),
    )


def autocorrelation(values: Sequence[float | None], lag: int) -> float:
    """Of the pairs of known values that are so far apart; 0 without any variation in them."""
    pairs = [
        (one, other)
        for one, other in zip(values, values[lag:], strict=False)
        if one is not None and other is not None
    ]
    if len(pairs) < 2:
        return 0.0
    before, after = (math.fsum(side) / len(pairs) for side in zip(*pairs, strict=True))
    of_before = math.fsum((one - before) ** 2 for one, _ in pairs)
    of_after = math.fsum((other - after) ** 2 for _, other in pairs)
    if not of_before or not of_after:
        return 0.0
    both = math.fsum((one - before) * (other - after) for one, other in pairs)
    return both / math.sqrt(of_before * of_after)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return math.fsum(known) / len(known) if known else None
