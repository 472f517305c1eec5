"""Cron expressions as a CronJob of Kubernetes reads them: the standard parser of robfig/cron v3.

Five fields: minute, hour, day of month, month, day of week. If both day fields are restricted, either may match. In the
fold an expression matches both instants of a local time, as for a CronJob. In the gap it matches the moved instant (`local_time`);
a CronJob skips it, but here that would leave out a whole window (docs/adr/0014-cron-and-recurrence-rules.md).
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from scaler.extensions.schedules.local_time import instants_of_day

# As robfig/cron: an expression without a match in this time never matches (30 February).
YEARS_AHEAD = 5

_DAY = timedelta(days=1)
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
    """A parsed expression. `minutes` are those after midnight at which it matches; Sunday is weekday 0."""

    minutes: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    needs_both_days: bool
    """Whether a day must match both day fields, because one of them is `*`."""

    def matches(self, day: date) -> bool:
        """Whether the expression matches on this day."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_day and by_weekday) if self.needs_both_days else (by_day or by_weekday)


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
        minutes=tuple(hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)),
        days=days,
        months=months,
        weekdays=weekdays,
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


class CronStarts(msgspec.Struct, frozen=True):
    """When an expression matches in a time zone."""

    cron: Cron
    zone: ZoneInfo

    def previous_and_next(
        self, now_unix_seconds: float, lookback_seconds: float
    ) -> tuple[int | None, int | None]:
        """The last match at or before `now`, if it is at most `lookback` ago, and the first one after it."""
        today = datetime.fromtimestamp(now_unix_seconds, UTC).astimezone(self.zone).date()
        return (
            self._previous(today, now_unix_seconds, now_unix_seconds - lookback_seconds),
            self._next(today, now_unix_seconds),
        )

    def matches_from(self, day: date) -> Iterator[tuple[date, tuple[int, ...], frozenset[int]]]:
        """The days from `day` on with a match, for five years; the matches, and those moved out of a gap."""
        end = day.replace(year=day.year + YEARS_AHEAD + 1, month=1, day=1)
        while day < end:
            if self.cron.matches(day):
                yield day, *instants_of_day(day, self.cron.minutes, self.zone)
                day += _DAY
            elif day.month in self.cron.months:
                day += _DAY
            else:
                day = (day.replace(day=1) + 31 * _DAY).replace(day=1)

    def _next(self, today: date, now: float) -> int | None:
        found: int | None = None
        found_on = today
        # From yesterday on, and one day further than the first match: a gap at midnight moves a match into the next day.
        for day, instants, _ in self.matches_from(today - _DAY):
            if found is not None and day > found_on + _DAY:
                break
            place = bisect_right(instants, now)
            later = instants[place] if place < len(instants) else None
            if later is not None and (found is None or later < found):
                found, found_on = later, day if found is None else found_on
        return found

    def _previous(self, today: date, now: float, earliest: float) -> int | None:
        first_day = datetime.fromtimestamp(earliest, UTC).astimezone(self.zone).date() - _DAY
        day, found, found_on = today + _DAY, None, today
        while day >= first_day and (found is None or day >= found_on - _DAY):
            if self.cron.matches(day):
                instants, _ = instants_of_day(day, self.cron.minutes, self.zone)
                place = bisect_right(instants, now)
                before = instants[place - 1] if place else None
                if before is not None and (found is None or before > found):
                    found, found_on = before, day if found is None else found_on
            day -= _DAY
        return found if found is not None and found >= earliest else None
