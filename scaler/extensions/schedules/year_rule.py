"""The days of a year that match a recurrence rule of RFC 5545, and those that BYSETPOS chooses of them.

`dateutil.rrule` finds the days that the parts of a rule name, of one year at a time. What depends on the start of a rule is found
here: which periods count (INTERVAL), and which dates of a period (BYSETPOS). So nothing is computed again from the start on,
and dateutil never searches until the year 9999 for a day that does not exist.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, date, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec
from dateutil.rrule import MONTHLY, YEARLY, rrule, weekday

from scaler.extensions.schedules.local_time import month_length
from scaler.extensions.schedules.recurrence_rule import Rule

# dateutil examines each day of a year or month, and compares it with each number of the parts of a rule.
_FIXED_UNITS, _MONTH_UNITS, _YEAR_UNITS = 1, 4, 16
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
    def units(self) -> int:
        """Of work to find the days of a year, beside the number of days that match."""
        if self.is_fixed:
            return _FIXED_UNITS
        numbers = sum(
            len(each)
            for each in (self.month_days, self.year_days, self.week_numbers, self.weekdays)
        )
        if self.is_of_months:
            return len(self.months) * (_MONTH_UNITS + numbers // 4)
        return _YEAR_UNITS + numbers

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
