"""The starts of calendar entries: a rule of RFC 5545, with further dates (RDATE) and without others (EXDATE).

A rule is computed for one year at a time. `dateutil.rrule` finds the days of a year that the parts of a rule name. What depends
on the start of a rule is found here: which periods count (INTERVAL), and which dates of a period (BYSETPOS). So nothing is
computed again from the start on, and dateutil never searches until the year 9999 for a day that does not exist.
All of it is in local time; `local_time` makes instants of it, by the rule of the same RFC.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from dateutil.rrule import MONTHLY, YEARLY, rrule, weekday

from scaler.extensions.schedules.local_time import instant, month_length
from scaler.extensions.schedules.matching_days import DayStarts
from scaler.extensions.schedules.recurrence_rule import Rule
from scaler.extensions.schedules.work import Work

YEARS = range(2000, 2395)
# The last date of a rule with COUNT must be found in so many years: each of them has to be computed.
COUNTED_YEARS_MAX = 30

# dateutil examines each day of a year or month, and compares it with each number of the parts of a rule.
_FIXED_UNITS, _MONTH_UNITS, _YEAR_UNITS = 1, 4, 10
_CHOICE_UNITS = 80
# So many days that match take as long as a unit.
_DAYS_A_UNIT = 8
# dateutil computes a few months faster one by one than as a year.
_MONTHS_MAX = 3
_ALL_MONTHS = tuple(range(1, 13))
_ALL_WEEKDAYS = tuple((0, each) for each in range(7))
_WEEK = 0b1111111

# dateutil has no types for these.
_RRULE: Callable[..., Iterable[datetime]] = rrule
_WEEKDAY: Callable[[int, int | None], object] = weekday


class YearRule(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about the days of a year, without BYSETPOS. All that RFC 5545 takes from the start of a rule is explicit."""

    frequency: str
    interval: int
    anchor: int
    """A day of the first period, from which INTERVAL counts; 0 if each period counts, so that rules with other starts are equal."""
    week_start: int
    months: tuple[int, ...]
    month_days: tuple[int, ...]
    year_days: tuple[int, ...]
    week_numbers: tuple[int, ...]
    weekdays: tuple[tuple[int, int], ...]

    @property
    def is_fixed(self) -> bool:
        """Whether it names days of months, so that there is nothing to find."""
        others = self.weekdays or self.year_days or self.week_numbers
        return bool(self.months) and not others and min(self.month_days) > 0

    @property
    def is_of_months(self) -> bool:
        """Whether it is computed for its few months one by one, not for the year."""
        return not (self.year_days or self.week_numbers) and 0 < len(self.months) <= _MONTHS_MAX


def year_rule(rule: Rule, start: date) -> YearRule:
    """The rule with a start."""
    months, month_days, weekdays = rule.months, rule.month_days, rule.weekdays
    if not (month_days or weekdays or rule.year_days or rule.week_numbers):
        match rule.frequency:
            case "DAILY":
                weekdays = _ALL_WEEKDAYS
            case "WEEKLY":
                weekdays = ((0, start.weekday()),)
            case "MONTHLY":
                month_days = (start.day,)
            case _:
                months, month_days = months or (start.month,), (start.day,)
    if rule.frequency == "MONTHLY":
        # A weekday with a number is one of a month.
        months = months or _ALL_MONTHS
    return YearRule(
        frequency=rule.frequency,
        interval=rule.interval,
        anchor=start.toordinal() if rule.interval > 1 else 0,
        week_start=rule.week_start,
        months=months,
        month_days=month_days,
        year_days=rule.year_days,
        week_numbers=rule.week_numbers,
        weekdays=weekdays,
    )


@lru_cache(4_096)
def days_of_year(rule: YearRule, year: int) -> int:
    """A bit for each day of the year, 1 January is the lowest one."""
    begin, months, periods = date(year, 1, 1).toordinal(), rule.months, -1
    if rule.interval > 1:
        first = date.fromordinal(rule.anchor)
        match rule.frequency:
            case "DAILY":
                periods = _every(rule.interval, rule.anchor - begin, 1)
            case "WEEKLY":
                week = rule.anchor - (first.weekday() - rule.week_start) % 7
                periods = _every(7 * rule.interval, week - begin, _WEEK)
            case "MONTHLY":
                since = (year - first.year) * 12 - first.month
                months = tuple(each for each in months if (since + each) % rule.interval == 0)
                periods = -1 if months else 0
            case _:
                periods = 0 if (year - first.year) % rule.interval else -1
    if not periods:
        return 0
    found = 0
    dates = _fixed_dates(rule, months, year) if rule.is_fixed else _dates(rule, months, year)
    for each in dates:
        found |= 1 << each.toordinal() - begin
    return found & periods


def _every(days: int, first: int, pattern: int) -> int:
    """The bits of a pattern, from `first` on and every so many days, before it as well."""
    found = 0
    for begin in range(first % days - days, 366, days):
        found |= pattern << begin if begin >= 0 else pattern >> -begin
    return found


def _fixed_dates(rule: YearRule, months: Sequence[int], year: int) -> Iterator[date]:
    for month in months:
        last = month_length(year, month)
        yield from (date(year, month, day) for day in rule.month_days if day <= last)


def _dates(rule: YearRule, months: Sequence[int], year: int) -> Iterator[datetime]:
    """By dateutil, with intervals that end behind the last year that it knows: it computes one period and ends."""
    weekdays = tuple(_WEEKDAY(day, number or None) for number, day in rule.weekdays)
    parts: dict[str, Any] = {
        "wkst": rule.week_start,
        "bymonthday": rule.month_days or None,
        "byweekday": weekdays or None,
    }
    if rule.is_of_months:
        for month in months:
            begin = datetime(year, month, 1)  # noqa: DTZ001  # a local time
            yield from _RRULE(MONTHLY, begin, interval=12 * (MAXYEAR + 1 - year), **parts)
        return
    parts |= {
        "bymonth": months or None,
        "byyearday": rule.year_days or None,
        "byweekno": rule.week_numbers or None,
    }
    begin = datetime(year, 1, 1)  # noqa: DTZ001  # a local time
    yield from _RRULE(YEARLY, begin, interval=MAXYEAR + 1 - year, **parts)


@lru_cache(256)
def chosen_of_year(
    rule: YearRule, positions: tuple[int, ...], seconds: tuple[int, ...], first_day: int, year: int
) -> Mapping[int, tuple[int, ...]]:
    """The days of a year that have a date which BYSETPOS chooses from its period, and the times of these."""
    by_count: dict[int, dict[int, tuple[int, ...]]] = {}
    found: dict[int, tuple[int, ...]] = {}
    for period in _periods(rule, first_day, year):
        days = list(period)
        chosen = by_count.get(len(days))
        if chosen is None:
            chosen = by_count[len(days)] = _chosen(positions, len(days), seconds)
        for place, times in chosen.items():
            found[days[place]] = times
    return {day: times for day, times in found.items() if date.fromordinal(day).year == year}


def _periods(rule: YearRule, first_day: int, year: int) -> Iterator[Iterable[int]]:
    """The days of each period that has days in this year."""
    days = list(_ordinals(rule, year))
    match rule.frequency:
        case "DAILY":
            yield from ((day,) for day in days)
        case "WEEKLY":
            # A week may begin in the year before, and end in the next one. The first week begins with the start.
            around = (*_ordinals(rule, year - 1), *days, *_ordinals(rule, year + 1))
            # 1 January of the year 1 was a Monday, and has the number 1.
            weeks = groupby(around, lambda day: (day - 1 - rule.week_start) // 7)
            yield from ([day for day in each if day >= first_day] for _, each in weeks)
        case "MONTHLY":
            yield from (
                list(each) for _, each in groupby(days, lambda day: date.fromordinal(day).month)
            )
        case _:
            yield days


def _ordinals(rule: YearRule, year: int) -> Iterator[int]:
    begin, days = date(year, 1, 1).toordinal(), days_of_year(rule, year)
    return (begin + each for each in range(366) if days >> each & 1)


def _chosen(
    positions: Sequence[int], days: int, seconds: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """Which of so many days, and which times of them."""
    found: dict[int, set[int]] = {}
    for position in positions:
        # Positions are counted from 1 on, or back from -1.
        place, time = divmod(position - (position > 0), len(seconds))
        if position < 0:
            place += days
        if 0 <= place < days:
            found.setdefault(place, set()).add(seconds[time])
    return {place: tuple(sorted(times)) for place, times in found.items()}


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
            found = sum(1 << day - begin for day in self._chosen(year))
            # With the years around it.
            units = 3 * self.units + len(self.positions) + _CHOICE_UNITS
        else:
            found, units = days_of_year(self.rule, year), self.units
        work.spend_on_year(self, year, units + found.bit_count() // _DAYS_A_UNIT)
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
            days, begin = self.of_year(year, work), date(year, 1, 1).toordinal()
            work.spend(days.bit_count() // _DAYS_A_UNIT)
            while days:
                lowest = days & -days
                day = begin + lowest.bit_length() - 1
                times = self._times(day)
                if len(times) >= uncounted:
                    last = datetime.fromordinal(day) + timedelta(seconds=times[uncounted - 1])
                    return msgspec.structs.replace(self, last=last, uncounted=0)
                uncounted -= len(times)
                days ^= lowest
            year += 1
        return msgspec.structs.replace(self, uncounted=uncounted, next_year=year)

    def _times(self, day: int) -> tuple[int, ...]:
        times = self.seconds
        if self.positions:
            times = self._chosen(date.fromordinal(day).year).get(day, ())
        if day == self.start.toordinal():
            times = times[bisect_left(times, _second_of_day(self.start)) :]
        return times

    def _chosen(self, year: int) -> Mapping[int, tuple[int, ...]]:
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
        if not self.added.instants:
            yield from self._by_rule.following(after, until, work)
            return
        added = (each for each in self.added.following(after, until, work) if each <= until)
        last: int | None = None
        for each in merge(self._by_rule.following(after, until, work), added):
            if each != last:
                yield each
            last = each

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
        units=_units(found),
    )
    return RecurringStarts(days, zone, fixed)


def _local_until(until: datetime, zone: ZoneInfo) -> datetime:
    if until.tzinfo is not None and until.year in YEARS:
        until = until.astimezone(zone)
    return until.replace(tzinfo=None)


def _seconds(rule: Rule, start: datetime) -> tuple[int, ...]:
    """The times of a day, in seconds after midnight."""
    return tuple(
        hour * 3600 + minute * 60 + start.second
        for hour in rule.hours or (start.hour,)
        for minute in rule.minutes or (start.minute,)
    )


def _units(rule: YearRule) -> int:
    """Of work, for each year, without the days that match."""
    if rule.is_fixed:
        return _FIXED_UNITS
    numbers = sum(
        len(each) for each in (rule.month_days, rule.year_days, rule.week_numbers, rule.weekdays)
    )
    if rule.is_of_months:
        return len(rule.months) * (_MONTH_UNITS + numbers // 4)
    return _YEAR_UNITS + numbers
