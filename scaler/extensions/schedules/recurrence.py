"""Recurrence rules of RFC 5545: RRULE by `dateutil.rrule`, and RDATE and EXDATE as lists of local times.

All computation is in local time; `local_time` makes instants of it, by the rule of the same RFC.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import islice
from zoneinfo import ZoneInfo

import msgspec
from dateutil.rrule import rrulestr

from scaler.extensions.schedules.local_time import instant

# A rule whose next date is further away has none for now.
YEARS_AHEAD = 5
# More dates than this between the start of a rule and its next one would take too long to compute.
DATES_MAX = 20_000
TIMES_A_DAY_MAX = 24
# dateutil searches until the year 9999 for the dates of a rule that has none, such as 30 February. The calendar repeats
# every 400 years, on the same weekdays; so a rule is computed in the last 400 years, where that search is short.
_SHIFT_YEARS = 7600
_YEARS = range(2000, 2400 - YEARS_AHEAD)

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
# Each part of a rule, and the numbers that it may contain.
_NUMBERS = {
    "INTERVAL": range(1, 1001),
    "COUNT": range(1, DATES_MAX + 1),
    "BYMONTH": range(1, 13),
    "BYMONTHDAY": range(-31, 32),
    "BYYEARDAY": range(-366, 367),
    "BYWEEKNO": range(-53, 54),
    "BYSETPOS": range(-366, 367),
    "BYHOUR": range(24),
    "BYMINUTE": range(60),
}
_EXCLUDED = {
    "BYWEEKNO": ("DAILY", "WEEKLY", "MONTHLY"),
    "BYYEARDAY": ("DAILY", "WEEKLY", "MONTHLY"),
    "BYMONTHDAY": ("WEEKLY",),
}
_SINGLE = ("INTERVAL", "COUNT")
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Rule(msgspec.Struct, frozen=True):
    """A checked RRULE: its parts without COUNT, and without UNTIL, which is in UTC or a local time."""

    parts: str
    count: int | None = None
    until: datetime | None = None

    def dates(self, start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        """The local times of the rule from `start` on until `end`."""
        until = None if self.until is None else _in_zone(self.until, zone)
        last = _shifted(end if until is None else min(until, end), _SHIFT_YEARS)
        text = f"{self.parts};UNTIL={last:%Y%m%dT%H%M%S}"
        # dateutil raises an error for COUNT together with UNTIL.
        dates = islice(rrulestr(text, dtstart=_shifted(start, _SHIFT_YEARS)), self.count)
        return (_shifted(each, -_SHIFT_YEARS) for each in dates)


def _in_zone(until: datetime, zone: ZoneInfo) -> datetime:
    """The local time; the same digits if that is outside of the years that a time may have."""
    if until.tzinfo is None:
        return until
    try:
        return until.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return until.replace(tzinfo=None)


def _shifted(local: datetime, years: int) -> datetime:
    return local.replace(year=local.year + years)


@lru_cache(4_096)
def parse_rule(text: str) -> Rule:
    """Check an RRULE such as `FREQ=YEARLY;BYMONTH=11;BYDAY=4FR`. Raises ValueError with the part and the fix."""
    parts: dict[str, str] = {}
    for each in text.upper().removeprefix("RRULE:").split(";"):
        name, _, value = each.partition("=")
        if name in parts:
            raise ValueError(f"{name} occurs twice")
        parts[name] = value
    if parts.get("FREQ") not in _FREQUENCIES:
        raise ValueError(
            f"FREQ must be one of {', '.join(_FREQUENCIES)}; for several times a day add BYHOUR or BYMINUTE"
        )
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("COUNT and UNTIL exclude each other: delete one of them")
    until = _until(parts.pop("UNTIL")) if "UNTIL" in parts else None
    for name, value in parts.items():
        _check(name, value)
    _check_together(parts)
    if _times(parts, "BYHOUR") * _times(parts, "BYMINUTE") > TIMES_A_DAY_MAX:
        raise ValueError(
            f"BYHOUR and BYMINUTE result in more than {TIMES_A_DAY_MAX} times a day: use fewer of them"
        )
    count = int(parts.pop("COUNT")) if "COUNT" in parts else None
    return Rule(";".join(f"{name}={value}" for name, value in parts.items()), count, until)


def _check_together(parts: dict[str, str]) -> None:
    """The combinations that RFC 5545, section 3.3.10 excludes."""
    frequency = parts["FREQ"]
    for name, excluded in _EXCLUDED.items():
        if name in parts and frequency in excluded:
            raise ValueError(f"{name} cannot be used with FREQ={frequency}")
    is_numbered = any(len(each) > 2 for each in parts.get("BYDAY", "").split(","))
    if is_numbered and (frequency in ("DAILY", "WEEKLY") or "BYWEEKNO" in parts):
        raise ValueError(
            "BYDAY with a number, such as 4FR, needs FREQ=MONTHLY or YEARLY, and no BYWEEKNO"
        )
    if "BYSETPOS" in parts and not any(
        name.startswith("BY") for name in parts.keys() - {"BYSETPOS"}
    ):
        raise ValueError("BYSETPOS needs another part to choose from, such as BYDAY")


def _times(parts: dict[str, str], name: str) -> int:
    return len(set(parts[name].split(","))) if name in parts else 1


def _check(name: str, value: str) -> None:
    if name == "FREQ":
        return
    if name == "WKST":
        if value not in _WEEKDAYS:
            raise ValueError(f"WKST={value}: it must be one of {', '.join(_WEEKDAYS)}")
        return
    values = value.split(",")
    if name == "BYDAY":
        for each in values:
            _check_weekday(each)
        return
    allowed = _NUMBERS.get(name)
    if allowed is None:
        known = ", ".join(("FREQ", "UNTIL", "BYDAY", "WKST", *_NUMBERS))
        raise ValueError(f"{name!r} is not supported: a rule consists of {known}")
    if name in _SINGLE and len(values) > 1:
        raise ValueError(f"{name}={value}: one number is expected")
    zero_counts = name in ("BYHOUR", "BYMINUTE")
    for each in values:
        number = _integer(each, name)
        if number not in allowed or (number == 0 and not zero_counts):
            raise ValueError(
                f"{name}={value}: {each} is not from {allowed[0]} to {allowed[-1]}"
                + ("" if zero_counts else " without 0")
            )


def _integer(text: str, name: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5):
        raise ValueError(f"{name}: {text!r} is not a number")
    return int(text)


def _check_weekday(text: str) -> None:
    """`FR`, `4FR`, `-1MO`."""
    number, weekday = text[:-2], text[-2:]
    if weekday not in _WEEKDAYS:
        raise ValueError(f"BYDAY: {text!r} does not end in one of {', '.join(_WEEKDAYS)}")
    if number and not 1 <= abs(_integer(number, "BYDAY")) <= 53:
        raise ValueError(f"BYDAY: {text!r}: the number must be from 1 to 53, or -1 to -53")


def _until(text: str) -> datetime:
    """`20301231T235959Z` in UTC, or `20301231T235959` or `20301231` in local time."""
    if text.endswith("Z"):
        return _read_time(text[:-1], text).replace(tzinfo=UTC)
    if "T" not in text:
        return _read_time(f"{text}T235959", text)
    return _read_time(text, text)


def _read_time(text: str, given: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%S")  # noqa: DTZ007  # the caller adds UTC where it belongs
    except ValueError as error:
        raise ValueError(
            f"UNTIL={given}: write it as 20301231T235959Z, or without Z in local time"
        ) from error


class RecurringStarts(msgspec.Struct, frozen=True):
    """The dates of a rule from `start` on (DTSTART), with `added` (RDATE) and without `removed` ones (EXDATE).

    `start` itself counts if the rule matches it, or without a rule. All local times.
    """

    start: datetime
    zone: ZoneInfo
    rule: Rule | None = None
    added: tuple[datetime, ...] = ()
    removed: frozenset[datetime] = frozenset()

    def previous_and_next(
        self, now_unix_seconds: float, lookback_seconds: float
    ) -> tuple[int | None, int | None]:
        """The last date at or before `now`, if it is at most `lookback` ago, and the first one after it.

        Raises ValueError if the rule has too many dates until then.
        """
        now_local = datetime.fromtimestamp(now_unix_seconds, UTC).astimezone(self.zone)
        end = now_local.replace(tzinfo=None) + timedelta(days=366 * YEARS_AHEAD)
        previous: int | None = None
        for count, date in enumerate(self.dates(end)):
            if count == DATES_MAX:
                raise ValueError(
                    f"the rule has more than {DATES_MAX} dates since its start: set a later start"
                )
            found = instant(date, self.zone)
            if found > now_unix_seconds:
                return _recent(previous, now_unix_seconds - lookback_seconds), found
            previous = found if previous is None else max(previous, found)
        return _recent(previous, now_unix_seconds - lookback_seconds), None

    def dates(self, end: datetime) -> Iterator[datetime]:
        """All local times until `end`, ascending, without duplicates."""
        if self.start.year not in _YEARS or end.year > _YEARS[-1] + YEARS_AHEAD:
            raise ValueError(f"the start must be from the year {_YEARS[0]} to {_YEARS[-1]}")
        by_rule: Iterable[datetime] = (self.start,)
        if self.rule is not None:
            by_rule = self.rule.dates(self.start, end, self.zone)
        last: datetime | None = None
        for date in merge(by_rule, sorted(self.added)):
            if date not in self.removed and date != last:
                yield date
            last = date


class FixedStarts(msgspec.Struct, frozen=True):
    """One-off dates: Unix seconds, ascending."""

    instants: tuple[int, ...]

    def previous_and_next(
        self, now_unix_seconds: float, lookback_seconds: float
    ) -> tuple[int | None, int | None]:
        """The last one at or before `now`, if it is at most `lookback` ago, and the first one after it."""
        place = bisect_right(self.instants, now_unix_seconds)
        previous = self.instants[place - 1] if place else None
        following = next(islice(self.instants, place, None), None)
        return _recent(previous, now_unix_seconds - lookback_seconds), following


def _recent(found: int | None, earliest: float) -> int | None:
    return found if found is not None and found >= earliest else None
