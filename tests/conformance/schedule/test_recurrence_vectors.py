"""Recurrence rules compared with ical.js, an implementation that shares no code with dateutil: ten years, six time zones."""

import hashlib
from pathlib import Path

import msgspec

from scaler.extensions.schedules.local_time import instant, local_time, time_zone
from scaler.extensions.schedules.recurrence import RecurringStarts, parse_rule

VECTORS = Path(__file__).parent / "recurrence.jsonl"
END = local_time("2026-01-01T00:00:00")


class Row(msgspec.Struct):
    start: str
    rule: str
    zone: str
    count: int
    sha256: str


ROWS = [msgspec.json.decode(line, type=Row) for line in VECTORS.read_bytes().splitlines()]


def instants(row: Row) -> list[int]:
    zone = time_zone(row.zone)
    starts = RecurringStarts(start=local_time(row.start), zone=zone, rule=parse_rule(row.rule))
    return [instant(each, zone) for each in starts.dates(END) if each < END]


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
