"""The load by the minute, and what a forecast reads from it: one value per minute of the wall clock, in the unit of the metric."""

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgspec

MINUTES_PER_DAY = 1440
MISSING = -1.0
SMOOTHED_MINUTES = 5
_MISSING_BYTES = array("f", [MISSING]).tobytes()


if TYPE_CHECKING:
    Floats: TypeAlias = array[float]
else:
    # Not subscriptable before Python 3.12.
    Floats = array


class Window(msgspec.Struct, frozen=True):
    """What is known of some minutes."""

    mean: float
    highest: float


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """The newest value is that of `end_minute` (minutes since 1970). A load is never negative; `MISSING` is -1."""

    values: Floats
    end_minute: int

    def __len__(self) -> int:
        return len(self.values)

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

    def windows_until(self, minute: int, sizes: Iterable[int]) -> Iterator[Window | None]:
        """The last so many minutes until this one, for each size, which rise. Each as far as it is known; None if nothing is."""
        highest, total, count, size_before = MISSING, 0.0, 0, 0
        for size in sizes:
            # The minutes that the window before does not have.
            known = self._known(minute - size + 1, minute - size_before)
            size_before = size
            if known:
                highest = max(highest, max(known))
                total, count = total + sum(known), count + len(known)
            yield Window(total / count, highest) if count else None

    def mean_until(self, minute: int, minutes: int = SMOOTHED_MINUTES) -> float | None:
        """The mean of the five minutes, or so many, that end with this one, as far as it is known; None if nothing is."""
        known = self._known(minute - minutes + 1, minute)
        return sum(known) / len(known) if known else None

    def lowest_until(self, minute: int, minutes: int) -> float | None:
        """The lowest value of the minutes that end with this one, as far as they are known; None if none is."""
        return min(self._known(minute - minutes + 1, minute), default=None)

    def at(self, minute: int) -> float | None:
        """The value of one minute."""
        found = self._between(minute, minute)
        return found[0] if found and found[0] >= 0.0 else None

    @property
    def known_minutes(self) -> int:
        """How many have a value."""
        return len(self.values) - self.values.count(MISSING)

    def _known(self, first: int, last: int) -> list[float]:
        """The values of these minutes that are known."""
        found = self._between(first, last)
        # A day of floats is compared in 15 µs, and searched in less than one; the bytes may also be those of two neighbors.
        if _MISSING_BYTES in found.tobytes():
            return [each for each in found if each >= 0.0]
        return found.tolist()

    def _between(self, first: int, last: int) -> Floats:
        """The values of these minutes, as far as they are kept."""
        begin = self.end_minute - len(self.values) + 1
        # Conditions take half the time of max().
        return self.values[
            first - begin if first > begin else 0 : last - begin + 1 if last >= begin else 0
        ]


NO_LEVELS = Levels(values=array("f"), end_minute=0)
