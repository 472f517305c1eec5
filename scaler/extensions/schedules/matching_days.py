"""Starts that are made of days and of times of the day, searched from a moment on, forward or back.

Cron expressions and recurrence rules both say which days of a year match, and at which local times a window begins on such a
day. So a search costs the same however old a rule is, and however many dates it has had.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Protocol
from zoneinfo import ZoneInfo

import msgspec

from scaler.extensions.schedules.local_time import Instants, instants_of_day, local_day, midnight
from scaler.extensions.schedules.work import Work
from scaler.extensions.schedules.year_days import days_of_bits

_DAY_UNITS = 1


class Days(Protocol):
    """The days of an expression or a rule, and the times on them."""

    def of_year(self, year: int, work: Work) -> int:
        """A bit for each day of the year that matches, 1 January is the lowest one."""
        ...

    def seconds_of(self, day: int) -> Sequence[int]:
        """The local times of a day that matches: ascending seconds after midnight. The day is a `date.toordinal`."""
        ...


def _places_between(ascending: Sequence[int], after: float, until: float) -> range:
    """Of the numbers that are above `after`, and at most `until`."""
    return range(bisect_right(ascending, after), bisect_right(ascending, until))


class DayStarts(msgspec.Struct, frozen=True):
    """The starts of days in a time zone. `twice`: a local time that occurs twice starts both times."""

    days: Days
    zone: ZoneInfo
    twice: bool = False

    def latest(self, now: float, earliest: float, work: Work) -> int | None:
        """The last start at or before `now`, and not before `earliest`."""
        found: int | None = None
        found_on = 0
        # A change of the clocks may move starts into the day before or after.
        first_day = local_day(earliest, self.zone) - 1
        for day in self._descending(local_day(now, self.zone) + 1, first_day, work):
            if found is not None and day < found_on - 1:
                break
            of_day = self._instants(day, work)
            place = bisect_right(of_day.seconds, now - of_day.base_unix_seconds)
            if place:
                last = of_day.base_unix_seconds + of_day.seconds[place - 1]
                if found is None:
                    found_on = day
                found = last if found is None else max(found, last)
        return found if found is not None and found >= earliest else None

    def following(self, after: float, until: float, work: Work) -> Iterator[int]:
        """The starts after `after` and until `until`, ascending."""
        last_day = local_day(until, self.zone)
        first_day = local_day(after, self.zone) - 1
        late: list[int] = []
        for day in self._ascending(first_day, last_day, work):
            of_day = self._instants(day, work)
            base, seconds = of_day.base_unix_seconds, of_day.seconds
            if late or of_day.has_change:
                base, seconds = 0, sorted({*late, *(base + each for each in seconds)})
                place = bisect_left(seconds, midnight(day + 1, self.zone))
                seconds, late = seconds[:place], seconds[place:]
            for place in _places_between(seconds, after - base, until - base):
                yield base + seconds[place]
        for place in _places_between(late, after, until):
            yield late[place]

    def _instants(self, day: int, work: Work) -> Instants:
        work.spend(_DAY_UNITS)
        return instants_of_day(day, self.days.seconds_of(day), self.zone, twice=self.twice)

    def _ascending(self, first_day: int, last_day: int, work: Work) -> Iterator[int]:
        """The days that match."""
        year = date.fromordinal(first_day).year
        while (begin := date(year, 1, 1).toordinal()) <= last_day:
            days = self.days.of_year(year, work)
            if first_day > begin:
                begin, days = first_day, days >> first_day - begin
            for day in days_of_bits(days, begin):
                if day > last_day:
                    return
                yield day
            year += 1

    def _descending(self, last_day: int, first_day: int, work: Work) -> Iterator[int]:
        """The days that match, the last one first."""
        year = date.fromordinal(last_day).year
        while (begin := date(year, 1, 1).toordinal()) + 365 >= first_day:
            days = self.days.of_year(year, work) & (2 << max(last_day - begin, 0)) - 1
            while days:
                highest = days.bit_length() - 1
                if begin + highest < first_day:
                    return
                yield begin + highest
                days ^= 1 << highest
            year -= 1
