"""Recurrence rules of RFC 5545: the checks, RDATE and EXDATE, the gap and the fold."""

import time
from datetime import datetime

import pytest

from scaler.extensions.schedules.local_time import local_time, time_zone
from scaler.extensions.schedules.recurrence import FixedStarts, RecurringStarts, parse_rule

BERLIN = time_zone("Europe/Berlin")
YEAR = 86_400 * 366


def berlin(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=BERLIN).timestamp())


def starts(start: str, rule: str = "", *, added=(), removed=()) -> RecurringStarts:
    return RecurringStarts(
        start=local_time(start),
        zone=BERLIN,
        rule=parse_rule(rule) if rule else None,
        added=tuple(local_time(each) for each in added),
        removed=frozenset(local_time(each) for each in removed),
    )


def listed(found: RecurringStarts, end: str) -> list[str]:
    return [each.isoformat() for each in found.dates(local_time(end)) if each < local_time(end)]


def test_black_friday_is_the_fourth_friday_of_november_at_local_midnight():
    found = starts("2026-11-27T00:00:00", "FREQ=YEARLY;BYMONTH=11;BYDAY=4FR")
    assert listed(found, "2029-01-01T00:00:00") == [
        "2026-11-27T00:00:00", "2027-11-26T00:00:00", "2028-11-24T00:00:00",
    ]  # fmt: skip
    now = berlin(2027, 1, 1)
    assert found.previous_and_next(now, YEAR)[1] == berlin(2027, 11, 26)


def test_added_and_removed_dates_change_the_rule():
    found = starts(
        "2026-12-24T00:00:00", "FREQ=DAILY;COUNT=3",
        added=["2026-12-31T00:00:00", "2026-12-24T00:00:00"], removed=["2026-12-25T00:00:00"],
    )  # fmt: skip
    assert listed(found, "2027-01-01T00:00:00") == [
        "2026-12-24T00:00:00", "2026-12-26T00:00:00", "2026-12-31T00:00:00",
    ]  # fmt: skip


def test_without_a_rule_the_start_is_the_only_date():
    assert listed(starts("2026-12-24T00:00:00"), "2030-01-01T00:00:00") == ["2026-12-24T00:00:00"]


def test_a_date_in_the_gap_has_the_offset_from_before_the_change():
    found = starts("2026-03-28T02:30:00", "FREQ=DAILY")
    _, following = found.previous_and_next(berlin(2026, 3, 28, 12), YEAR)
    assert following == berlin(2026, 3, 29, 3, 30)


def test_a_date_in_the_fold_is_the_first_of_its_two_instants():
    found = starts("2026-10-24T02:30:00", "FREQ=DAILY")
    _, first = found.previous_and_next(berlin(2026, 10, 24, 12), YEAR)
    assert first == datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=0).timestamp()
    assert found.previous_and_next(first, YEAR)[1] == first + 25 * 3600


@pytest.mark.parametrize(
    "until", ["20261227T000000", "20261226T230000Z", "20261227"], ids=["local", "UTC", "a day"]
)
def test_until_includes_its_own_moment(until):
    found = starts("2026-12-24T00:00:00", f"FREQ=DAILY;UNTIL={until}")
    assert listed(found, "2027-02-01T00:00:00")[-1] == "2026-12-27T00:00:00"


def test_until_the_last_second_of_the_calendar_is_without_an_end():
    """In Berlin, that is in the year 10000, which Python does not have."""
    found = starts("2026-12-24T00:00:00", "FREQ=DAILY;UNTIL=99991231T235959Z")
    _, following = found.previous_and_next(berlin(2026, 12, 26, 12), YEAR)
    assert following == berlin(2026, 12, 27)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("FREQ=HOURLY", "FREQ must be one of DAILY"),
        ("BYDAY=MO", "FREQ must be one of DAILY"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0: 0 is not from 1 to 1000"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "exclude each other"),
        ("FREQ=DAILY;UNTIL=tomorrow", "write it as 20301231T235959Z"),
        ("FREQ=DAILY;BYEASTER=0", "'BYEASTER' is not supported"),
        ("FREQ=DAILY;BYSECOND=1", "'BYSECOND' is not supported"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ occurs twice"),
        ("FREQ=WEEKLY;BYDAY=4FR", "needs FREQ=MONTHLY or YEARLY"),
        ("FREQ=MONTHLY;BYDAY=XX", "does not end in one of MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "without 0"),
        ("FREQ=MONTHLY;BYMONTHDAY=1x", "'1X' is not a number"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY cannot be used with FREQ=WEEKLY"),
        ("FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS needs another part"),
        ("FREQ=DAILY;WKST=1", "WKST=1: it must be one of"),
        ("FREQ=DAILY;INTERVAL=1,2", "one number is expected"),
        ("FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5", "more than 24 times a day"),
    ],
)
def test_an_invalid_rule_names_the_part_and_the_fix(rule, message):
    with pytest.raises(ValueError, match=message):
        parse_rule(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5", "FREQ=WEEKLY;BYMONTH=3;BYDAY=MO;BYSETPOS=7",
        "FREQ=MONTHLY;BYMONTH=4;BYMONTHDAY=31", "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
    ],
)  # fmt: skip
def test_a_rule_without_dates_ends_its_search(rule):
    found = starts("2020-01-01T00:00:00", rule)
    begun = time.process_time()
    assert found.previous_and_next(berlin(2026, 1, 1), YEAR) == (None, None)
    assert time.process_time() - begun < 2


def test_a_rule_with_too_many_dates_is_refused():
    hours = ",".join(str(hour) for hour in range(24))
    found = starts("2000-01-01T00:00:00", f"FREQ=DAILY;BYHOUR={hours}")
    with pytest.raises(ValueError, match="more than 20000 dates since its start"):
        found.previous_and_next(berlin(2026, 1, 1), YEAR)


def test_the_last_year_of_a_rule_is_searched_without_an_error():
    found = starts("2026-02-28T00:00:00", "FREQ=YEARLY")
    assert listed(found, "2399-12-31T00:00:00")[-1] == "2399-02-28T00:00:00"
    with pytest.raises(ValueError, match="the start must be from the year 2000"):
        listed(starts("1999-02-28T00:00:00", "FREQ=YEARLY"), "2030-01-01T00:00:00")


def test_a_local_time_with_an_offset_is_refused():
    with pytest.raises(ValueError, match="without an offset"):
        local_time("2026-11-27T00:00:00Z")


def test_one_off_dates_have_a_previous_and_a_next_one():
    found = FixedStarts((100, 200, 300))
    assert found.previous_and_next(200, 50) == (200, 300)
    assert found.previous_and_next(260, 50) == (None, 300)
    assert found.previous_and_next(99, 50) == (None, 100)
    assert found.previous_and_next(300, 50) == (300, None)
