"""The text of a recurrence rule (RRULE) of RFC 5545, checked: its parts, their numbers and their combinations."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

TIMES_A_DAY_MAX = 24
COUNT_MAX = 20_000
_MONTH_WEEKS_MAX = 5

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
# Each part of a rule, and the numbers that it may contain.
_NUMBERS = {
    "INTERVAL": range(1, 1001),
    "COUNT": range(1, COUNT_MAX + 1),
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


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A checked RRULE: an empty part is one that it does not have. Monday is weekday 0."""

    frequency: str
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """In UTC or a local time."""
    week_start: int = 0
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    week_numbers: tuple[int, ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    """Each with its number in the month or year; 0 for all of them."""
    positions: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()


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
    return _rule(parts, until)


def _rule(parts: dict[str, str], until: datetime | None) -> Rule:
    def numbers(name: str) -> tuple[int, ...]:
        return tuple(
            sorted({int(each) for each in parts[name].split(",")} if name in parts else ())
        )

    weekdays = {
        (int(each[:-2] or 0), _WEEKDAYS.index(each[-2:]))
        for each in filter(None, parts.get("BYDAY", "").split(","))
    }
    return Rule(
        frequency=parts["FREQ"],
        interval=int(parts.get("INTERVAL", 1)),
        count=int(parts["COUNT"]) if "COUNT" in parts else None,
        until=until,
        week_start=_WEEKDAYS.index(parts.get("WKST", "MO")),
        months=numbers("BYMONTH"),
        month_days=numbers("BYMONTHDAY"),
        year_days=numbers("BYYEARDAY"),
        week_numbers=numbers("BYWEEKNO"),
        weekdays=tuple(sorted(weekdays)),
        positions=numbers("BYSETPOS"),
        hours=numbers("BYHOUR"),
        minutes=numbers("BYMINUTE"),
    )


def _check_together(parts: dict[str, str]) -> None:
    """The combinations that RFC 5545, section 3.3.10 excludes."""
    frequency = parts["FREQ"]
    for name, excluded in _EXCLUDED.items():
        if name in parts and frequency in excluded:
            raise ValueError(f"{name} cannot be used with FREQ={frequency}")
    weekdays = parts.get("BYDAY", "").split(",")
    is_numbered = any(len(each) > 2 for each in weekdays)
    if is_numbered and (frequency in ("DAILY", "WEEKLY") or "BYWEEKNO" in parts):
        raise ValueError(
            "BYDAY with a number, such as 4FR, needs FREQ=MONTHLY or YEARLY, and no BYWEEKNO"
        )
    if frequency == "MONTHLY" or "BYMONTH" in parts:
        for each in weekdays:
            if abs(int(each[:-2] or 0)) > _MONTH_WEEKS_MAX:
                raise ValueError(
                    f"BYDAY: {each!r} occurs in no month: the number must be from 1 to 5, or -1 to -5"
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
