"""Local times of a time zone as instants, with the rules for clocks that are put forward or back.

A local time that a change skips (the gap) is read with the offset before the change, as RFC 5545, section 3.3.5
defines it: in the gap from 02:00 to 03:00, 02:30 is 03:30. A local time that occurs twice (the fold) is the first one.
"""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

DAY_SECONDS = 86_400
_EPOCH_TIME = datetime(1970, 1, 1)  # noqa: DTZ001  # a local time
_EPOCH = _EPOCH_TIME.toordinal()


def local_time(text: str) -> datetime:
    """`2026-11-27T08:00:00`, without an offset. Raises ValueError."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        read = None
    # fromisoformat also reads other forms, such as 20261127T08 and 2026-W48-5T08:00:00.
    if read is None or read.isoformat() != text or read.tzinfo is not None or read.microsecond:
        raise ValueError(
            f"{text!r} is not a local time: write it as 2026-11-27T08:00:00, without an offset"
        )
    return read


def instant(local: datetime, zone: ZoneInfo) -> int:
    """Unix seconds of a local time; of two instants the first one."""
    since_epoch = local - _EPOCH_TIME
    return since_epoch.days * DAY_SECONDS + since_epoch.seconds - _offset(local, zone)


def local_day(unix_seconds: float, zone: ZoneInfo) -> int:
    """The day of an instant, as the number that `date.toordinal` gives it."""
    return datetime.fromtimestamp(unix_seconds, zone).toordinal()


def midnight(day: int, zone: ZoneInfo) -> int:
    """Unix seconds of the begin of a day."""
    return instant(datetime.fromordinal(day), zone)


class Instants(msgspec.Struct, frozen=True):
    """Local times of a day as instants: `base_unix_seconds` and each of `seconds`, ascending."""

    base_unix_seconds: int
    seconds: Sequence[int]
    has_change: bool = False
    """Whether the clocks change on this day. Then the last ones may be later than the first ones of the next day."""
    moved: frozenset[int] = frozenset()
    """Those that only a gap moved to where they are."""


def instants_of_day(
    day: int, seconds: Sequence[int], zone: ZoneInfo, *, twice: bool = False
) -> Instants:
    """The local times of a day that are `seconds` after midnight, in ascending order.

    `twice`: in the fold both instants of a local time, not only the first one.
    """
    begin, end = datetime.fromordinal(day), datetime.fromordinal(day + 1)
    before, after = _offset(begin, zone), _offset(end.replace(fold=1), zone)
    utc_midnight = (day - _EPOCH) * DAY_SECONDS
    if before == after:
        return Instants(utc_midnight - before, seconds)

    def first_after_change(fold: int) -> int:
        """The place of the first local time that has the offset after the change."""
        return bisect_left(
            seconds,
            True,
            key=lambda each: (
                _offset((begin + timedelta(seconds=each)).replace(fold=fold), zone) == after
            ),
        )

    # From `late` on, local times are after the change also where they could be before it.
    early, late = first_after_change(1), first_after_change(0)
    found = {utc_midnight - before + each for each in seconds[:late]}
    found.update(utc_midnight - after + each for each in seconds[late:])
    moved: frozenset[int] = frozenset()
    if after > before:
        regular = {utc_midnight - before + each for each in seconds[:early]}
        regular.update(utc_midnight - after + each for each in seconds[late:])
        moved = frozenset(found - regular)
    elif twice:
        found.update(utc_midnight - after + each for each in seconds[early:late])
    return Instants(0, sorted(found), has_change=True, moved=moved)


def _offset(local: datetime, zone: ZoneInfo) -> int:
    # Not of a local time with the zone, which would have to be created first.
    offset = zone.utcoffset(local)
    return 0 if offset is None else offset.days * DAY_SECONDS + offset.seconds
