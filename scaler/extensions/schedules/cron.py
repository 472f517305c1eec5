"""Cron expressions as a CronJob of Kubernetes reads them: the standard parser of robfig/cron v3.

Five fields: minute, hour, day of month, month, day of week. If both day fields are restricted, either may match. In the
fold an expression matches both instants of a local time, as for a CronJob. In the gap it matches the moved instant (`local_time`);
a CronJob skips it, but here that would leave out a whole window (docs/adr/0014-cron-and-recurrence-rules.md).
"""

from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from scaler.extensions.schedules.matching_days import DayStarts
from scaler.extensions.schedules.work import Work
from scaler.extensions.schedules.year_days import first_weekday, months_of_year, of_weekdays

_YEAR_UNITS = 1
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class _Field(msgspec.Struct, frozen=True):
    """The name of a field in messages, its bounds, and its names of values, from the lowest value on."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 6, _WEEKDAYS),
)


class Cron(msgspec.Struct, frozen=True):
    """A parsed expression. `seconds` are those after midnight at which it matches."""

    seconds: tuple[int, ...]
    days: int
    """A bit for each day of a month that matches, the first day is the lowest one."""
    months: frozenset[int]
    weekdays: int
    """A bit for each weekday that matches, Monday is the lowest one."""
    needs_both_days: bool
    """Whether a day must match both day fields, because one of them is `*`."""

    def days_of_year(self, year: int) -> int:
        """A bit for each day of a year that matches, 1 January is the lowest one."""
        begins = months_of_year(year)
        in_months = by_day = 0
        for month in self.months:
            before, length = begins[month - 1]
            all_days = (1 << length) - 1
            in_months |= all_days << before
            by_day |= (all_days & self.days) << before
        by_weekday = in_months & of_weekdays(self.weekdays, first_weekday(year))
        return by_day & by_weekday if self.needs_both_days else by_day | by_weekday


@lru_cache(4_096)
def parse_cron(expression: str) -> Cron:
    """Parse an expression. Raises ValueError with the field and the fix."""
    if "TZ=" in expression:
        raise ValueError("write the time zone in the field timeZone, not in the cron expression")
    texts = _DESCRIPTORS.get(expression.strip().lower(), expression).split()
    if texts and texts[0].startswith("@"):
        known = ", ".join(_DESCRIPTORS)
        raise ValueError(f"unknown descriptor {texts[0]!r}: use one of {known}, or five fields")
    if len(texts) != len(_FIELDS):
        raise ValueError(
            f"{len(texts)} fields instead of 5 (minute, hour, day of month, month, day of week)"
        )
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = (
        _parse_field(text, field) for text, field in zip(texts, _FIELDS, strict=True)
    )
    return Cron(
        seconds=tuple(
            [hour * 3600 + minute * 60 for hour in sorted(hours) for minute in sorted(minutes)]
        ),
        days=sum(1 << day - 1 for day in days),
        months=months,
        weekdays=sum(1 << (weekday - 1) % 7 for weekday in weekdays),
        needs_both_days=any_day or any_weekday,
    )


def _parse_field(text: str, field: _Field) -> tuple[frozenset[int], bool]:
    """The values of a field, and whether it contains a plain `*`."""
    values: set[int] = set()
    is_any = False
    # As robfig/cron: an empty part between commas is ignored.
    for part in filter(None, text.split(",")):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, part, field) if slash else 1
        if step == 0:
            raise ValueError(f"{field.name} {part!r}: the step must be at least 1")
        if span in ("*", "?"):
            first, last = field.lowest, field.highest
            is_any = is_any or step == 1
        else:
            first, last = _span(span, part, field, open_ended=bool(slash))
        values.update(range(first, last + 1, step))
    if not values:
        raise ValueError(f"the field {field.name} {text!r} has no value")
    return frozenset(values), is_any


def _span(span: str, part: str, field: _Field, *, open_ended: bool) -> tuple[int, int]:
    """`3`, `3-5`, or with a step `3` for `3-` and the highest value."""
    low_text, dash, high_text = span.partition("-")
    first = _value(low_text, part, field)
    last = field.highest if open_ended else first
    if dash:
        last = _value(high_text, part, field)
    if first < field.lowest or last > field.highest:
        raise ValueError(
            f"{field.name} {part!r}: it must be from {field.lowest} to {field.highest}"
        )
    if first > last:
        raise ValueError(f"{field.name} {part!r}: the range ends before it begins")
    return first, last


def _value(text: str, part: str, field: _Field) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.lowest
    return _number(text, part, field)


def _number(text: str, part: str, field: _Field) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    names = f", or one of {', '.join(field.names)}" if field.names else ""
    raise ValueError(f"{field.name} {part!r}: {text!r} is not a number{names}")


class CronDays(msgspec.Struct, frozen=True):
    """The days of an expression, and its times."""

    cron: Cron

    def of_year(self, year: int, work: Work) -> int:
        """A bit for each day of the year that matches."""
        work.spend_on_year(self, year, _YEAR_UNITS)
        return self.cron.days_of_year(year)

    def seconds_of(self, day: int) -> tuple[int, ...]:
        """The same times on each day."""
        return self.cron.seconds


def cron_starts(expression: str, zone: ZoneInfo) -> DayStarts:
    """When an expression matches in a time zone. Raises ValueError."""
    return DayStarts(CronDays(parse_cron(expression)), zone, twice=True)
