"""A recorded series on a grid of times."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

# A value counts for that long. After that nothing is known. It is never filled in from what follows, which a decision
# at that time could not have seen.
HELD_SECONDS = 300


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One value per step, None where nothing is known."""

    start_unix_seconds: int
    step_seconds: int
    values: tuple[float | None, ...]

    @property
    def end_unix_seconds(self) -> int:
        """The time after the last step."""
        return self.start_unix_seconds + self.step_seconds * len(self.values)

    def at(self, unix_seconds: float) -> float | None:
        """The value at the last step until then."""
        index = math.floor((unix_seconds - self.start_unix_seconds) / self.step_seconds)
        return self.values[index] if 0 <= index < len(self.values) else None


def series_of(samples: Sequence[tuple[float, float]], step_seconds: int) -> Series:
    """From samples (Unix seconds, value) in ascending order, on the multiples of the step.

    Each is held for five minutes, or for the usual time between two if that is longer. Values that are not finite are left out.
    """
    known = [(at, value) for at, value in samples if math.isfinite(value)]
    if not known:
        return Series(start_unix_seconds=0, step_seconds=step_seconds, values=())
    start = math.ceil(known[0][0] / step_seconds) * step_seconds
    held = max(HELD_SECONDS, _usual_seconds(known), step_seconds)
    values: list[float | None] = []
    following = 0
    for at in range(
        start, math.floor(known[-1][0] / step_seconds) * step_seconds + 1, step_seconds
    ):
        while following < len(known) and known[following][0] <= at:
            following += 1
        sampled_at, value = known[following - 1]
        values.append(value if at - sampled_at <= held else None)
    return Series(start_unix_seconds=start, step_seconds=step_seconds, values=tuple(values))


def _usual_seconds(samples: Sequence[tuple[float, float]]) -> float:
    times = [at for at, _ in samples[:1000]]
    return median(b - a for a, b in pairwise(times)) if len(times) > 1 else 0.0
