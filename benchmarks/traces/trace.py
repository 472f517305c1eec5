"""A recorded load by the minute."""

import math
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

STEP_SECONDS = 60
# What is further apart is a gap: nothing is known in between.
FILLED_SECONDS_MAX = 600


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The load of the whole target. `loads` has one value per minute, None where nothing was recorded."""

    name: str
    start_unix_seconds: int
    loads: tuple[float | None, ...]

    def at(self, unix_seconds: float) -> float | None:
        """The last value that was recorded until then."""
        index = math.floor((unix_seconds - self.start_unix_seconds) / STEP_SECONDS)
        return self.loads[index] if 0 <= index < len(self.loads) else None

    def percentile(self, percent: float) -> float:
        """The load that is not exceeded in so much of the time."""
        known = sorted(each for each in self.loads if each is not None)
        return known[min(len(known) - 1, int(len(known) * percent / 100))]


def trace_of(name: str, samples: Sequence[tuple[float, float]]) -> Trace:
    """From samples (Unix seconds, value) in ascending order; up to ten minutes between two are filled linearly.

    Raises ValueError if there are none.
    """
    if not samples:
        raise ValueError(f"{name} has no samples")
    times = [time for time, _ in samples]
    start = math.ceil(times[0] / STEP_SECONDS) * STEP_SECONDS
    loads = [
        _interpolated(samples, bisect_right(times, at), float(at))
        for at in range(start, math.floor(times[-1]) + 1, STEP_SECONDS)
    ]
    return Trace(name=name, start_unix_seconds=start, loads=tuple(loads))


def _interpolated(
    samples: Sequence[tuple[float, float]], following: int, at: float
) -> float | None:
    """Between the last sample until then and the following one."""
    time, value = samples[following - 1]
    if time == at or following == len(samples):
        return value if at - time < STEP_SECONDS else None
    next_time, next_value = samples[following]
    if next_time - time > FILLED_SECONDS_MAX:
        return value if at - time < STEP_SECONDS else None
    return value + (next_value - value) * (at - time) / (next_time - time)
