"""Recurrence rules compared with ical.js, an implementation that shares no code with dateutil: ten years, six time zones."""

import hashlib
from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec

from scaler.extensions.schedules.local_time import instant, local_time
from scaler.extensions.schedules.recurrence import RecurringStarts, recurring_starts
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone
from testbed.vectors import lines

VECTORS = Path(__file__).parent / "recurrence.jsonl"
END = local_time("2026-01-01T00:00:00")


class Row(msgspec.Struct):
    start: str
    rule: str
    zone: str
    count: int
    sha256: str


ROWS = [msgspec.json.decode(line, type=Row) for line in lines(VECTORS)]


def instants(row: Row) -> list[int]:
    zone, work = time_zone(row.zone), Work(10**9)
    starts = recurring_starts(local_time(row.start), zone, parse_rule(row.rule), (), frozenset())
    assert isinstance(starts, RecurringStarts)
    starts = starts.counted(work)
    found = [
        instant(datetime.fromordinal(day) + timedelta(seconds=each), zone)
        for day in range(starts.days.start.toordinal(), END.toordinal())
        if matches(starts, day)
        for each in starts.days.seconds_of(day)
    ]
    # Two local times may be one instant, in the gap.
    assert list(starts.following(0, instant(END, zone) - 1, work)) == sorted(set(found))
    return found


def matches(starts: RecurringStarts, day: int) -> bool:
    on = date.fromordinal(day)
    days = starts.days.of_year(on.year, Work())
    return bool(days >> on.timetuple().tm_yday - 1 & 1)


def digest(found: list[int]) -> str:
    return hashlib.sha256("".join(f"{each}\n" for each in found).encode()).hexdigest()


def test_ten_years_of_recurrence_rules_give_the_same_instants_as_ical_js():
    different = [
        (row, len(found))
        for row in ROWS
        if (digest(found := instants(row)), len(found)) != (row.sha256, row.count)
    ]
    assert different == []
    assert len({row.zone for row in ROWS}) == 6
