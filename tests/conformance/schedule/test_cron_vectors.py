"""Cron expressions compared with robfig/cron v3, the parser and clock of CronJobs: ten years, six time zones."""

import hashlib
from datetime import date
from pathlib import Path

import msgspec
import pytest

from scaler.extensions.schedules.cron import CronStarts, parse_cron
from scaler.extensions.schedules.local_time import instant, local_time, time_zone

VECTORS = Path(__file__).parent / "cron.jsonl"
BEGIN, END = local_time("2016-01-01T00:00:00"), local_time("2026-01-01T00:00:00")


class Row(msgspec.Struct):
    expression: str
    zone: str
    refused: bool = False
    count: int = 0
    sha256: str = ""


# Expressions that robfig/cron accepts although a part of them has no meaning: it ignores what follows the `*`, or never matches.
REFUSED_HERE = {"*-5 0 1 1 *", ", 0 1 1 *"}

ROWS = [msgspec.json.decode(line, type=Row) for line in VECTORS.read_bytes().splitlines()]


def matches(row: Row) -> list[int]:
    """Those of a CronJob: without the ones that it skips in the gap."""
    zone = time_zone(row.zone)
    starts = CronStarts(parse_cron(row.expression), zone)
    begin, end = instant(BEGIN, zone), instant(END, zone)
    found: set[int] = set()
    for first_day in (date(2015, 12, 31), date(2021, 1, 1)):
        for _, instants, moved in starts.matches_from(first_day):
            found.update(each for each in instants if begin <= each < end and each not in moved)
    return sorted(found)


def digest(instants: list[int]) -> str:
    text = "".join(f"{each}\n" for each in instants)
    return hashlib.sha256(text.encode()).hexdigest() if instants else ""


def test_ten_years_of_cron_expressions_match_as_for_a_cronjob():
    different = []
    for row in ROWS:
        if not row.refused and row.expression not in REFUSED_HERE:
            found = matches(row)
            if (len(found), digest(found)) != (row.count, row.sha256):
                different.append((row, len(found)))
    assert different == []
    assert len({row.zone for row in ROWS if row.count}) >= 6


@pytest.mark.parametrize(
    "expression", sorted({row.expression for row in ROWS if row.refused} | REFUSED_HERE)
)
def test_an_expression_that_a_cronjob_refuses_is_refused_with_a_reason(expression):
    with pytest.raises(ValueError, match=r"field|number|must|step|range|descriptor"):
        parse_cron(expression)
