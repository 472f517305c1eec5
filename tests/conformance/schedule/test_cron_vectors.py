"""Cron expressions compared with robfig/cron v3, the parser and clock of CronJobs: ten years, six time zones."""

import hashlib
from datetime import date
from pathlib import Path

import msgspec
import pytest

from scaler.extensions.schedules.cron import cron_starts, parse_cron
from scaler.extensions.schedules.local_time import instant, instants_of_day, local_time
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone
from testbed.vectors import lines

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

ROWS = [msgspec.json.decode(line, type=Row) for line in lines(VECTORS)]


def matches(row: Row) -> list[int]:
    """Those of a CronJob: without the ones that it skips in the gap."""
    zone = time_zone(row.zone)
    starts = cron_starts(row.expression, zone)
    begin, end = instant(BEGIN, zone), instant(END, zone)
    skipped: set[int] = set()
    for day in range(BEGIN.toordinal() - 1, END.toordinal() + 1):
        seconds = starts.days.seconds_of(day)
        year = date.fromordinal(day)
        if starts.days.of_year(year.year, Work()) >> year.timetuple().tm_yday - 1 & 1:
            skipped |= instants_of_day(day, seconds, zone, twice=True).moved
    found = starts.following(begin - 1, end - 1, Work(10**9))
    return [each for each in found if each not in skipped]


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
