"""The starts of calendar entries: a rule of RFC 5545, with further dates (RDATE) and without others (EXDATE).

All of it is in local time; `local_time` makes instants of it, by the rule of the same RFC.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from heapq import merge
from itertools import groupby
from zoneinfo import ZoneInfo

import msgspec

from scaler.extensions.schedules.local_time import instant
from scaler.extensions.schedules.matching_days import DayStarts
from scaler.extensions.schedules.recurrence_rule import Rule
from scaler.extensions.schedules.work import Work
from scaler.extensions.schedules.year_days import days_of_bits
from scaler.extensions.schedules.year_rule import (
    Chosen,
    YearRule,
    chosen_of_year,
    days_of_year,
    year_rule,
)

YEARS = range(2000, 2395)
# The last date of a rule with COUNT must be found in so many years: each of them has to be computed.
COUNTED_YEARS_MAX = 30

_CHOICE_UNITS = 12
# So many positions of BYSETPOS, or days that are counted, take as long as a unit.
_POSITIONS_A_UNIT = 4
_DAYS_A_UNIT = 8


class RuleDays(msgspec.Struct, frozen=True, kw_only=True):
    """The dates of a rule from `start` on, until `last` where that is set, without `removed` ones.

    `uncounted`: how many of the dates of COUNT still have to be counted before `last` is known, from the year `next_year` on.
    """

    rule: YearRule
    start: datetime
    seconds: tuple[int, ...]
    positions: tuple[int, ...] = ()
    removed: Mapping[int, frozenset[int]] = {}
    last: datetime | None = None
    count: int = 0
    uncounted: int = 0
    next_year: int = 0
    units: int = 0
    """Of work, for each year."""

    def of_year(self, year: int, work: Work) -> int:
        """A bit for each day of the year with a date."""
        if year < self.start.year or (self.last is not None and year > self.last.year):
            return 0
        begin = date(year, 1, 1).toordinal()
        if self.positions:
            found = self._chosen(year).days
            # With the years around it.
            units = 3 * self.units + len(self.positions) // _POSITIONS_A_UNIT + _CHOICE_UNITS
        else:
            found, units = days_of_year(self.rule, year), self.units
        work.spend_on_year(self, year, units)
        if year == self.start.year:
            before = self.start.toordinal() - begin
            found = found >> before << before
        if self.last is not None and year == self.last.year:
            found &= (2 << self.last.toordinal() - begin) - 1
        return found

    def seconds_of(self, day: int) -> Sequence[int]:
        """The times of a day."""
        times = self._times(day)
        if self.last is not None and day == self.last.toordinal():
            times = times[: bisect_right(times, _second_of_day(self.last))]
        removed = self.removed.get(day)
        return [each for each in times if each not in removed] if removed else times

    def counted(self, work: Work) -> "RuleDays":
        """The same, with COUNT counted as far as the work suffices. Raises ValueError if that takes too many years."""
        uncounted, year = self.uncounted, self.next_year
        while uncounted and not work.is_used_up:
            if year >= self.start.year + COUNTED_YEARS_MAX:
                if uncounted == self.count:
                    # Without a date in all these years, it has none that matters.
                    return msgspec.structs.replace(self, uncounted=0)
                raise ValueError(
                    f"the last date by COUNT is more than {COUNTED_YEARS_MAX} years after the start: use UNTIL"
                )
            days = self.of_year(year, work)
            dates = self._number_of_dates(days, year, work)
            if dates >= uncounted:
                return msgspec.structs.replace(
                    self, last=self._date(uncounted, days, year, work), uncounted=0
                )
            uncounted -= dates
            year += 1
        return msgspec.structs.replace(self, uncounted=uncounted, next_year=year)

    def _number_of_dates(self, days: int, year: int, work: Work) -> int:
        """Of the days of a year; those that are removed count, too."""
        if self.positions:
            return sum(map(len, self._times_of(days, year, work).values()))
        dates = days.bit_count() * len(self.seconds)
        if year == self.start.year and days >> self.start.timetuple().tm_yday - 1 & 1:
            dates -= bisect_left(self.seconds, _second_of_day(self.start))
        return dates

    def _date(self, number: int, days: int, year: int, work: Work) -> datetime:
        """The date with this number, from 1 on, of the days of a year."""
        for day, times in self._times_of(days, year, work).items():
            if len(times) >= number:
                return datetime.fromordinal(day) + timedelta(seconds=times[number - 1])
            number -= len(times)
        raise AssertionError(f"the year {year} has fewer dates")

    def _times_of(self, days: int, year: int, work: Work) -> Mapping[int, tuple[int, ...]]:
        """The times of each of the days of a year, ascending."""
        work.spend(days.bit_count() // _DAYS_A_UNIT)
        begin = date(year, 1, 1).toordinal()
        return {day: self._times(day) for day in days_of_bits(days, begin)}

    def _times(self, day: int) -> tuple[int, ...]:
        times = self.seconds
        if self.positions:
            times = self._chosen(date.fromordinal(day).year).seconds.get(day, ())
        if day == self.start.toordinal():
            times = times[bisect_left(times, _second_of_day(self.start)) :]
        return times

    def _chosen(self, year: int) -> Chosen:
        first_day = self.start.toordinal() if self.rule.frequency == "WEEKLY" else 0
        return chosen_of_year(self.rule, self.positions, self.seconds, first_day, year)


def _second_of_day(local: datetime) -> int:
    return local.hour * 3600 + local.minute * 60 + local.second


class FixedStarts(msgspec.Struct, frozen=True):
    """One-off dates: Unix seconds, ascending."""

    instants: tuple[int, ...]

    def latest(self, now: float, earliest: float, work: Work) -> int | None:
        """The last one at or before `now`, and not before `earliest`."""
        place = bisect_right(self.instants, now)
        found = self.instants[place - 1] if place else None
        return found if found is not None and found >= earliest else None

    def following(self, after: float, until: float, work: Work) -> Iterator[int]:
        """Those after `after`, ascending; also those that are later than `until`."""
        return iter(self.instants[bisect_right(self.instants, after) :])


class RecurringStarts(msgspec.Struct, frozen=True):
    """The dates of a rule, and others."""

    days: RuleDays
    zone: ZoneInfo
    added: FixedStarts

    @property
    def is_counted(self) -> bool:
        """Whether the starts can be used: COUNT, if the rule has it, is counted to the end."""
        return not self.days.uncounted

    def counted(self, work: Work) -> "RecurringStarts":
        """With COUNT counted as far as the work suffices. Raises ValueError if that takes too many years."""
        return msgspec.structs.replace(self, days=self.days.counted(work))

    def latest(self, now: float, earliest: float, work: Work) -> int | None:
        """The last date at or before `now`, and not before `earliest`."""
        added = self.added.latest(now, earliest, work)
        found = self._by_rule.latest(now, earliest if added is None else added, work)
        return added if found is None else found

    def following(self, after: float, until: float, work: Work) -> Iterator[int]:
        """The dates after `after` and until `until`, ascending, without duplicates."""
        by_rule = self._by_rule.following(after, until, work)
        if not self.added.instants:
            return by_rule
        added = (each for each in self.added.following(after, until, work) if each <= until)
        return (each for each, _ in groupby(merge(by_rule, added)))

    @property
    def _by_rule(self) -> DayStarts:
        return DayStarts(self.days, self.zone)


def recurring_starts(
    start: datetime,
    zone: ZoneInfo,
    rule: Rule | None,
    added: Sequence[datetime],
    removed: frozenset[datetime],
) -> FixedStarts | RecurringStarts:
    """The dates of a rule from `start` on (DTSTART), with `added` (RDATE) and without `removed` ones (EXDATE).

    `start` itself counts if the rule matches it, or without a rule. All are local times. With COUNT, the dates
    have to be counted (`RecurringStarts.counted`) before the starts are used. Raises ValueError.
    """
    if start.year not in YEARS:
        raise ValueError(f"the start must be from the year {YEARS[0]} to {YEARS[-1]}")
    dates = added if rule is not None else (start, *added)
    fixed = FixedStarts(
        tuple(sorted({instant(each, zone) for each in dates if each not in removed}))
    )
    if rule is None:
        return fixed
    removed_seconds: dict[int, set[int]] = {}
    for each in removed:
        removed_seconds.setdefault(each.toordinal(), set()).add(_second_of_day(each))
    found = year_rule(rule, start.date())
    days = RuleDays(
        rule=found,
        start=start,
        seconds=_seconds(rule, start),
        positions=rule.positions,
        removed={day: frozenset(seconds) for day, seconds in removed_seconds.items()},
        last=None if rule.until is None else _local_until(rule.until, zone),
        count=rule.count or 0,
        uncounted=rule.count or 0,
        next_year=start.year,
        units=found.units,
    )
    return RecurringStarts(days, zone, fixed)


def _local_until(until: datetime, zone: ZoneInfo) -> datetime:
    if until.tzinfo is not None and until.year in YEARS:
        until = until.astimezone(zone)
    return until.replace(tzinfo=None)


def _seconds(rule: Rule, start: datetime) -> tuple[int, ...]:
    """The times of a day, in seconds after midnight."""
    return tuple(
        [
            hour * 3600 + minute * 60 + start.second
            for hour in rule.hours or (start.hour,)
            for minute in rule.minutes or (start.minute,)
        ]
    )
