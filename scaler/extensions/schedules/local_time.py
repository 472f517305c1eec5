"""Local times of a time zone as instants, with the rules for clocks that are put forward or back.

A local time that a change skips (the gap) is read with the offset before the change, as RFC 5545, section 3.3.5
defines it: in the gap from 02:00 to 03:00, 02:30 is 03:30. A local time that occurs twice (the fold) is the first one.
"""

from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_MINUTE_SECONDS = 60


def time_zone(name: str) -> ZoneInfo:
    """The zone of a name of the IANA time zone database, such as Europe/Berlin. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:
        raise ValueError(
            f"unknown time zone {name!r}: use a name of the IANA database, such as Europe/Berlin or UTC"
        ) from error


def local_time(text: str) -> datetime:
    """`2026-11-27T08:00:00`, without an offset. Raises ValueError."""
    try:
        read = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007  # the zone is a field of its own
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not a local time: write it as 2026-11-27T08:00:00, without an offset"
        ) from error
    return read


def instant(local: datetime, zone: ZoneInfo) -> int:
    """Unix seconds of a local time."""
    return int(local.replace(tzinfo=zone, fold=0).timestamp())


@lru_cache(256)
def instants_of_day(
    day: date, minutes: tuple[int, ...], zone: ZoneInfo
) -> tuple[tuple[int, ...], frozenset[int]]:
    """Unix seconds, ascending, of local times of a day, given in minutes after midnight.

    In the fold both instants of a local time are included. The set contains those that only a gap
    moved there.
    """
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001  # a local time
    if not _changes(midnight, zone):
        start = instant(midnight, zone)
        return tuple(start + minute * _MINUTE_SECONDS for minute in minutes), frozenset()
    found: set[int] = set()
    moved: set[int] = set()
    for minute in minutes:
        local = midnight + timedelta(minutes=minute)
        first = instant(local, zone)
        second = int(local.replace(tzinfo=zone, fold=1).timestamp())
        if first > second:
            moved.add(first)
        else:
            found |= {first, second}
    return tuple(sorted(found | moved)), frozenset(moved - found)


def _changes(midnight: datetime, zone: ZoneInfo) -> bool:
    """Whether the offset of the zone changes within this day, or at one of its ends."""
    end = midnight + _DAY
    offsets = {
        midnight.replace(tzinfo=zone, fold=0).utcoffset(),
        midnight.replace(tzinfo=zone, fold=1).utcoffset(),
        end.replace(tzinfo=zone, fold=0).utcoffset(),
        end.replace(tzinfo=zone, fold=1).utcoffset(),
    }
    return len(offsets) > 1
