"""PURE  What is played: the days of a load, one part of which is at another level."""

import math
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from benchmarks.forecast import FULL_PODS, SERVED_SHARE, TARGET
from benchmarks.traces.trace import STEP_SECONDS, Trace
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

LEARNED_DAYS = 8
SYNTHETIC_DAYS = 11
SHIFT_FACTOR = 1 / 3
BATCH_EVERY_MINUTES = 240
# A Friday, 00:00 UTC.
SYNTHETIC_START = 20_000 * MINUTES_PER_DAY * STEP_SECONDS


class Timetable(msgspec.Struct, frozen=True, kw_only=True):
    """In hours: when it begins, of the first day after the learned ones, and how long each part lasts."""

    begins: float
    normal: float
    shifted: float
    returned: float


class PlayedLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The load with the shift, and the times in Unix seconds at which its parts begin and end."""

    trace: Trace
    begins: float
    shifts: float
    returns: float
    ends: float
    per_replica: float
    served_per_replica: float

    @property
    def learned(self) -> Trace:
        """What was before."""
        minutes = round(self.begins - self.trace.start_unix_seconds) // STEP_SECONDS
        return msgspec.structs.replace(self.trace, loads=self.trace.loads[:minutes])

    def at(self, unix_seconds: float) -> float:
        """The load. A minute that was not recorded has none."""
        return self.trace.at(unix_seconds) or 0.0

    def needed_at(self, unix_seconds: float) -> int:
        """How many pods must be ready to serve it."""
        return math.ceil(self.at(unix_seconds) / self.served_per_replica)


def synthetic_trace(shape: str) -> Trace:
    """The same load each day: one of `SHAPES`."""
    load = SHAPES[shape]
    loads = tuple(load(minute) for minute in range(SYNTHETIC_DAYS * MINUTES_PER_DAY))
    return Trace(name=f"synthetic {shape} load", start_unix_seconds=SYNTHETIC_START, loads=loads)


def played(trace: Trace, timetable: Timetable) -> PlayedLoad:
    """Raises ValueError if the trace is too short."""
    begins = trace.start_unix_seconds + LEARNED_DAYS * 86400 + timetable.begins * 3600
    shifts = begins + timetable.normal * 3600
    returns = shifts + timetable.shifted * 3600
    ends = returns + timetable.returned * 3600
    last = trace.start_unix_seconds + len(trace.loads) * STEP_SECONDS
    if ends > last:
        raise ValueError(f"{trace.name} ends {(ends - last) / 3600:.1f} hours too early")
    full = trace.percentile(99) / FULL_PODS
    return PlayedLoad(
        trace=_shifted(trace, shifts, returns),
        begins=begins,
        shifts=shifts,
        returns=returns,
        ends=ends,
        per_replica=full * TARGET,
        served_per_replica=full * SERVED_SHARE,
    )


def _daily(minute: int) -> float:
    """From 200 at night to 700 within ten minutes at eight, and back in the evening."""
    of_day = minute % MINUTES_PER_DAY
    morning, evening = (_sigmoid(each) for each in ((of_day - 480) / 2.5, (1140 - of_day) / 30))
    return _with_noise(200 + 500 * morning * evening, minute)


def _batch(minute: int) -> float:
    """100; from one minute to the next 700, every four hours on the hour, for 40 or 47 minutes."""
    number, since = divmod(minute, BATCH_EVERY_MINUTES)
    length = 40 + 7 * number * number % 21
    return _with_noise(700 if since < length else 100, minute)


SHAPES: Final[Mapping[str, Callable[[int], float]]] = {"daily": _daily, "batch": _batch}


def _with_noise(value: float, minute: int) -> float:
    """Some percent, the same in each run."""
    return value * (1 + 0.02 * math.sin(minute * 12.9898) + 0.03 * math.sin(minute / 7))


def _sigmoid(value: float) -> float:
    return 0.5 * (1.0 + math.tanh(value / 2))


def _shifted(trace: Trace, since: float, until: float) -> Trace:
    loads = list(trace.loads)
    first, last = (
        round(each - trace.start_unix_seconds) // STEP_SECONDS for each in (since, until)
    )
    loads[first:last] = [
        None if each is None else each * SHIFT_FACTOR for each in loads[first:last]
    ]
    return msgspec.structs.replace(trace, loads=tuple(loads))
