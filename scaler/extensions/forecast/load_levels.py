"""The load by the minute, and what a forecast reads from it: one value per minute of the wall clock, in the unit of the metric."""

import math
from array import array
from typing import TYPE_CHECKING, TypeAlias

import msgspec

MINUTES_PER_DAY = 1440
MISSING = -1.0
SMOOTHED_MINUTES = 5


if TYPE_CHECKING:
    Floats: TypeAlias = array[float]
else:
    # Not subscriptable before Python 3.12.
    Floats = array


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """The newest value is that of `end_minute` (minutes since 1970). A load is never negative; `MISSING` is -1."""

    values: Floats
    end_minute: int

    def __len__(self) -> int:
        return len(self.values)

    def mean_until(self, minute: int) -> float | None:
        """The mean of the five minutes that end with this one; None if none is known."""
        return self._known_mean(minute - SMOOTHED_MINUTES + 1, minute)

    def mean_of(self, minute: int, minutes: int) -> float | None:
        """The mean of so many minutes that end with this one; None if one of them is unknown."""
        found = self._between(minute - minutes + 1, minute)
        if len(found) < minutes or min(found) < 0.0:
            return None
        return math.fsum(found) / minutes

    def peak_after(self, minute: int, minutes: int) -> float | None:
        """The highest value of so many minutes after this one; None if one of them is unknown."""
        found = self._between(minute + 1, minute + minutes)
        if len(found) < minutes or min(found) < 0.0:
            return None
        return max(found)

    def highest(self, first: int, last: int) -> float | None:
        """The highest value of these minutes, as far as they are known; None if none is."""
        found = self._between(first, last)
        highest = max(found, default=MISSING)
        return highest if highest >= 0.0 else None

    def at(self, minute: int) -> float | None:
        """The value of one minute."""
        found = self._between(minute, minute)
        return found[0] if found and found[0] >= 0.0 else None

    def missing_within(self, minutes: int) -> int:
        """How many of the last so many minutes have no value."""
        found = self._between(self.end_minute - minutes + 1, self.end_minute)
        return minutes - len(found) + found.count(MISSING)

    def _known_mean(self, first: int, last: int) -> float | None:
        found = self._between(first, last)
        if not found:
            return None
        if min(found) >= 0.0:
            return math.fsum(found) / len(found)
        known = [each for each in found if each >= 0.0]
        return math.fsum(known) / len(known) if known else None

    def _between(self, first: int, last: int) -> Floats:
        """The values of these minutes, as far as they are kept."""
        before = self.end_minute - len(self.values) + 1
        return self.values[max(0, first - before) : max(0, last - before + 1)]


NO_LEVELS = Levels(values=array("f"), end_minute=0)
