"""The days of a year that match a recurrence rule of RFC 5545, and those that BYSETPOS chooses of them.

A set of days is a number with a bit for each day, so each part of a rule is a few operations for a whole year, or for a month of it.
Only the weeks of BYWEEKNO are found by `dateutil.rrule`. Nothing is computed again from the start of a rule on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, date, datetime
from functools import lru_cache
from typing import Any

import msgspec
from dateutil.rrule import YEARLY, rrule

from scaler.extensions.schedules.recurrence_rule import Rule
from scaler.extensions.schedules.year_days import (
    days_of_bits,
    first_weekday,
    months_of_year,
    of_weekdays,
    year_length,
)

# The days of BYWEEKNO are enumerated.
_YEAR_UNITS, _WEEKS_UNITS = 1, 20
# So many months, and numbers of weekdays in each of them, take as long as a unit.
_PARTS_A_UNIT = 8
_ALL_MONTHS = tuple(range(1, 13))
_MONTH_DAYS_MAX, _YEAR_DAYS_MAX = 31, 366
_WEEK = 0b1111111

# dateutil has no types for it.
_RRULE: Callable[..., Iterable[datetime]] = rrule


class YearRule(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about the days of a year, without BYSETPOS. All that RFC 5545 takes from the start of a rule is explicit.

    A part that is empty, or that is 0 as are those before and after it of one name, does not restrict the days.
    """

    frequency: str
    interval: int
    anchor: int
    """A day of the first period, from which INTERVAL counts; 0 if each period counts, so that rules with other starts are equal."""
    week_start: int
    months: tuple[int, ...]
    month_days: int
    """A bit for each day, the first of a month is the lowest one."""
    month_days_from_end: int
    """A bit for each day, the last of a month is bit 30."""
    year_days: int
    """As of months; 31 December is bit 365 of `year_days_from_end`."""
    year_days_from_end: int
    week_numbers: tuple[int, ...]
    weekdays: int
    """A bit for each, Monday is the lowest one."""
    numbered_weekdays: tuple[tuple[int, int], ...]
    """A number in the month, or in the year without `months`, and the weekdays that have it."""

    @property
    def units(self) -> int:
        """Of work to find the days of a year."""
        months = len(self.months)
        if self.frequency == "MONTHLY":
            months = -(-months // self.interval)
        elif not months and (self.month_days or self.month_days_from_end):
            months = len(_ALL_MONTHS)
        parts = max(months, 1) * (1 + len(self.numbered_weekdays))
        return _YEAR_UNITS + parts // _PARTS_A_UNIT + (_WEEKS_UNITS if self.week_numbers else 0)


def year_rule(rule: Rule, start: date) -> YearRule:
    """The rule with a start."""
    months, month_days, weekdays = rule.months, rule.month_days, rule.weekdays
    if not (month_days or weekdays or rule.year_days or rule.week_numbers):
        match rule.frequency:
            case "DAILY":
                pass
            case "WEEKLY":
                weekdays = ((0, start.weekday()),)
            case "MONTHLY":
                month_days = (start.day,)
            case _:
                months, month_days = months or (start.month,), (start.day,)
    if rule.frequency == "MONTHLY":
        # A weekday with a number is one of a month.
        months = months or _ALL_MONTHS
    by_number: dict[int, int] = {}
    for number, weekday in weekdays:
        by_number[number] = by_number.get(number, 0) | 1 << weekday
    return YearRule(
        frequency=rule.frequency,
        interval=rule.interval,
        anchor=start.toordinal() if rule.interval > 1 else 0,
        week_start=rule.week_start,
        months=months,
        month_days=_from_begin(month_days),
        month_days_from_end=_from_end(month_days, _MONTH_DAYS_MAX),
        year_days=_from_begin(rule.year_days),
        year_days_from_end=_from_end(rule.year_days, _YEAR_DAYS_MAX),
        week_numbers=rule.week_numbers,
        weekdays=by_number.pop(0, 0),
        numbered_weekdays=tuple(by_number.items()),
    )


def _from_begin(numbers: Iterable[int]) -> int:
    return sum(1 << each - 1 for each in numbers if each > 0)


def _from_end(numbers: Iterable[int], days_max: int) -> int:
    return sum(1 << days_max + each for each in numbers if each < 0)


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
    return _matching(rule, months, year) & periods if periods else 0


def _every(days: int, first: int, pattern: int) -> int:
    """The bits of a pattern, every so many days in a year; `first` is one of the days on which it begins."""
    copies = _YEAR_DAYS_MAX // days + 2
    each_begin = ((1 << copies * days) - 1) // ((1 << days) - 1)
    return pattern * each_begin >> days - first % days


def _matching(rule: YearRule, months: Sequence[int], year: int) -> int:
    """The days of a year that match each part of a rule; of these months only."""
    length, first = year_length(year), first_weekday(year)
    found = (1 << length) - 1
    if rule.weekdays:
        found &= of_weekdays(rule.weekdays, first)
    if rule.year_days or rule.year_days_from_end:
        found &= rule.year_days | rule.year_days_from_end >> _YEAR_DAYS_MAX - length
    if months or rule.month_days or rule.month_days_from_end:
        found &= _of_months(rule, months or _ALL_MONTHS, year, first)
    if rule.numbered_weekdays and not months:
        found &= _numbered(rule.numbered_weekdays, first, length)
    if rule.week_numbers and found:
        found &= _of_weeks(rule.week_numbers, rule.week_start, year)
    return found


def _of_months(rule: YearRule, months: Sequence[int], year: int, first: int) -> int:
    """The days of months that match by what they are in their month; the year begins with the weekday `first`."""
    begins, found = months_of_year(year), 0
    for month in months:
        before, length = begins[month - 1]
        days = (1 << length) - 1
        if rule.month_days or rule.month_days_from_end:
            days &= rule.month_days | rule.month_days_from_end >> _MONTH_DAYS_MAX - length
        if rule.numbered_weekdays and rule.months:
            days &= _numbered(rule.numbered_weekdays, (first + before) % 7, length)
        found |= days << before
    return found


def _numbered(numbered: Iterable[tuple[int, int]], first: int, length: int) -> int:
    """The weekdays with these numbers of a month or year of so many days, which begins with the weekday `first`."""
    found = 0
    for number, weekdays in numbered:
        week = 7 * (number - 1) if number > 0 else length + 7 * number
        days = _WEEK << week if week >= 0 else _WEEK >> -week
        found |= days & of_weekdays(weekdays, first)
    return found


def _of_weeks(numbers: Sequence[int], week_start: int, year: int) -> int:
    """By dateutil, with an interval that ends behind the last year that it knows: it computes one year and ends."""
    begin = datetime(year, 1, 1)  # noqa: DTZ001  # a local time
    parts: dict[str, Any] = {"wkst": week_start, "byweekno": numbers}
    found = 0
    for each in _RRULE(YEARLY, begin, interval=MAXYEAR + 1 - year, **parts):
        found |= 1 << each.toordinal() - begin.toordinal()
    return found


class Chosen(msgspec.Struct, frozen=True):
    """A bit for each day of a year, and the times of each of these days, by its `date.toordinal`."""

    days: int
    seconds: Mapping[int, tuple[int, ...]]


@lru_cache(256)
def chosen_of_year(
    rule: YearRule, positions: tuple[int, ...], seconds: tuple[int, ...], first_day: int, year: int
) -> Chosen:
    """The days of a year that have a date which BYSETPOS chooses from its period, and the times of these.

    A week may begin in the year before, and end in the next one. The first week begins with `first_day`.
    """
    begin, length = date(year, 1, 1).toordinal(), year_length(year)
    days, first = days_of_year(rule, year), begin
    if rule.frequency == "WEEKLY":
        first -= 7
        before = days_of_year(rule, year - 1) >> year_length(year - 1) - 7
        days = before | days << 7 | (days_of_year(rule, year + 1) & _WEEK) << 7 + length
        if first_day > first:
            days = days >> first_day - first << first_day - first
    by_count: dict[int, dict[int, tuple[int, ...]]] = {}
    found: dict[int, tuple[int, ...]] = {}
    for period, period_length in _periods(rule, year):
        pattern = days >> period - first & (1 << period_length) - 1
        if not pattern:
            continue
        matching = tuple(days_of_bits(pattern, period))
        chosen = by_count.get(len(matching))
        if chosen is None:
            chosen = by_count[len(matching)] = _chosen(positions, len(matching), seconds)
        for place, times in chosen.items():
            day = matching[place]
            if begin <= day < begin + length:
                found[day] = times
    return Chosen(sum(1 << day - begin for day in found), found)


def _periods(rule: YearRule, year: int) -> Iterator[tuple[int, int]]:
    """The first day of each period that has days in this year, and the number of its days."""
    begin, length = date(year, 1, 1).toordinal(), year_length(year)
    match rule.frequency:
        case "DAILY":
            yield from ((begin + day, 1) for day in range(length))
        case "WEEKLY":
            # 1 January of the year 1 was a Monday, and has the number 1.
            week = begin - (begin - 1 - rule.week_start) % 7
            yield from ((day, 7) for day in range(week, begin + length, 7))
        case "MONTHLY":
            yield from ((begin + before, each) for before, each in months_of_year(year))
        case _:
            yield begin, length


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
