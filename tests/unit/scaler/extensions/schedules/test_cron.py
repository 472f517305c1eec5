"""Cron expressions in the gap, in the fold, and around them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.schedules.cron import cron_starts, parse_cron
from scaler.extensions.schedules.local_time import local_time
from scaler.extensions.schedules.matching_days import DayStarts
from scaler.extensions.time_zones import time_zone
from tests.unit.scaler.extensions.schedules.searching import previous_and_next

DAYS = 86_400 * 40


def at(text: str, zone: str, fold: int = 0) -> float:
    return local_time(text).replace(tzinfo=time_zone(zone), fold=fold).timestamp()


def starts(expression: str, zone: str = "UTC") -> DayStarts:
    return cron_starts(expression, time_zone(zone))


@pytest.mark.parametrize(
    ("expression", "zone", "now", "following"),
    [
        pytest.param("0 8 * * 1-5", "Europe/Berlin", "2026-11-20T08:00:00", "2026-11-23T08:00:00", id="over a weekend"),
        pytest.param("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", "2026-03-29T03:30:00", id="in the gap an hour later"),
        pytest.param("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00", "2026-03-29T03:00:00", id="at the end of the gap"),
        pytest.param("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00", "2026-04-24T01:00:00", id="in a gap at midnight"),
        pytest.param("45 23 * * *", "America/Scoresbysund", "2026-03-28T12:00:00", "2026-03-29T00:45:00", id="moved into the next day"),
        pytest.param("0 8 * * 4", "Africa/Cairo", "2026-04-23T12:00:00", "2026-04-30T08:00:00", id="not on the day after a gap at midnight"),
        pytest.param("0 8 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00", "2026-10-04T08:00:00", id="after a change by half an hour"),
        pytest.param("0 0 29 2 *", "UTC", "2026-01-01T00:00:00", "2028-02-29T00:00:00", id="a leap day"),
    ],
)  # fmt: skip
def test_the_next_match_is_at_this_local_time(expression, zone, now, following):
    _, found = previous_and_next(starts(expression, zone), at(now, zone), DAYS)
    assert found == at(following, zone)


def test_a_local_time_in_the_fold_matches_twice():
    first, second = (at("2026-10-25T02:30:00", "Europe/Berlin", fold) for fold in (0, 1))
    assert second - first == 3600
    found = starts("30 2 * * *", "Europe/Berlin")
    assert previous_and_next(found, first - 1, DAYS)[1] == first
    assert previous_and_next(found, first, DAYS) == (first, second)


def test_a_date_that_does_not_exist_never_matches():
    assert previous_and_next(starts("0 0 30 2 *"), 0, DAYS) == (None, None)


def test_a_match_that_is_too_long_ago_is_not_the_previous_one():
    now = at("2026-11-20T09:00:00", "UTC")
    assert previous_and_next(starts("0 8 * * *"), now, 3600)[0] == now - 3600
    assert previous_and_next(starts("0 8 * * *"), now, 3599)[0] is None


@given(
    now=st.integers(1_700_000_000, 1_900_000_000),
    expression=st.sampled_from(["0 8 * * 1-5", "*/7 1-3 * * *", "30 2 * * sun", "59 23 31 * *", "0 0 1,15 * 1"]),
    zone=st.sampled_from(["Europe/Berlin", "Africa/Cairo", "America/New_York", "Australia/Lord_Howe"]),
)  # fmt: skip
def test_the_next_match_is_the_previous_one_of_its_own_moment(now, expression, zone):
    found = starts(expression, zone)
    previous, following = previous_and_next(found, now, 3 * DAYS)
    assert following is not None
    assert following > now
    assert previous is None or previous <= now
    assert previous_and_next(found, following, DAYS)[0] == following
    # Nothing lies between the two.
    assert previous_and_next(found, following - 1, 4 * DAYS)[0] == previous


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 8 * *", "4 fields instead of 5"),
        ("CRON_TZ=UTC 0 8 * * *", "in the field timeZone"),
        ("0 25 * * *", "hour '25': it must be from 0 to 23"),
        ("0 8 * * 7", "day of week '7': it must be from 0 to 6"),
        ("0 8 * foo *", "'foo' is not a number, or one of jan, feb"),
        ("0 17-9 * * *", "the range ends before it begins"),
        ("*/0 * * * *", "the step must be at least 1"),
        ("@every 5m", "unknown descriptor '@every'"),
    ],
)
def test_an_invalid_expression_names_the_field_and_the_fix(expression, message):
    with pytest.raises(ValueError, match=message):
        parse_cron(expression)


def test_an_unknown_time_zone_is_refused_with_an_example():
    for name in ("Mars/Olympus", "", "../etc/passwd", "Europe"):
        with pytest.raises(ValueError, match=r"unknown time zone .* such as Europe/Berlin"):
            time_zone(name)


def test_every_day_of_a_year_has_its_match():
    """Also the days on which clocks change."""
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    days = set()
    for _ in range(365):
        _, following = previous_and_next(starts("30 2 * * *", "Europe/Berlin"), now, DAYS)
        assert following is not None
        now = following
        days.add((datetime.fromtimestamp(now, UTC) + timedelta(hours=1)).date())
    assert len(days) >= 364
