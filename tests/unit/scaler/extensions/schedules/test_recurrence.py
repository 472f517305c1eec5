"""Recurrence rules of RFC 5545: the checks, RDATE and EXDATE, the gap and the fold."""

from datetime import datetime

import pytest

from scaler.extensions.schedules.local_time import instant, local_time
from scaler.extensions.schedules.recurrence import FixedStarts, RecurringStarts, recurring_starts
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.windows import Starts
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone
from tests.unit.scaler.extensions.schedules.searching import ENOUGH, previous_and_next

BERLIN = time_zone("Europe/Berlin")
YEAR = 86_400 * 366


def berlin(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=BERLIN).timestamp())


def starts(start: str, rule: str = "", *, added=(), removed=()) -> Starts:
    found = recurring_starts(
        local_time(start),
        BERLIN,
        parse_rule(rule) if rule else None,
        tuple(local_time(each) for each in added),
        frozenset(local_time(each) for each in removed),
    )
    return found.counted(Work(ENOUGH)) if isinstance(found, RecurringStarts) else found


def listed(found: Starts, end: str) -> list[str]:
    """The local times before `end`."""
    last = instant(local_time(end), BERLIN)
    local = (
        datetime.fromtimestamp(each, BERLIN).replace(tzinfo=None)
        for each in found.following(0, last, Work(ENOUGH))
    )
    return [each.isoformat() for each in local if each < local_time(end)]


def test_black_friday_is_the_fourth_friday_of_november_at_local_midnight():
    found = starts("2026-11-27T00:00:00", "FREQ=YEARLY;BYMONTH=11;BYDAY=4FR")
    assert listed(found, "2029-01-01T00:00:00") == [
        "2026-11-27T00:00:00", "2027-11-26T00:00:00", "2028-11-24T00:00:00",
    ]  # fmt: skip
    now = berlin(2027, 1, 1)
    assert previous_and_next(found, now, YEAR)[1] == berlin(2027, 11, 26)


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
    _, following = previous_and_next(found, berlin(2026, 3, 28, 12), YEAR)
    assert following == berlin(2026, 3, 29, 3, 30)


def test_a_date_in_the_fold_is_the_first_of_its_two_instants():
    found = starts("2026-10-24T02:30:00", "FREQ=DAILY")
    _, first = previous_and_next(found, berlin(2026, 10, 24, 12), YEAR)
    assert first == datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=0).timestamp()
    assert previous_and_next(found, first, YEAR)[1] == first + 25 * 3600


@pytest.mark.parametrize(
    "until", ["20261227T000000", "20261226T230000Z", "20261227"], ids=["local", "UTC", "a day"]
)
def test_until_includes_its_own_moment(until):
    found = starts("2026-12-24T00:00:00", f"FREQ=DAILY;UNTIL={until}")
    assert listed(found, "2027-02-01T00:00:00")[-1] == "2026-12-27T00:00:00"


def test_until_the_last_second_of_the_calendar_is_without_an_end():
    """In Berlin, that is in the year 10000, which Python does not have."""
    found = starts("2026-12-24T00:00:00", "FREQ=DAILY;UNTIL=99991231T235959Z")
    _, following = previous_and_next(found, berlin(2026, 12, 26, 12), YEAR)
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
        ("FREQ=MONTHLY;BYDAY=53MO", "'53MO' occurs in no month"),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=FR,-6FR", "'-6FR' occurs in no month"),
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
def test_a_rule_without_dates_has_neither_a_previous_nor_a_next_one(rule):
    found = starts("2020-01-01T00:00:00", rule)
    assert previous_and_next(found, berlin(2026, 1, 1), YEAR) == (None, None)


HOURS = ",".join(str(hour) for hour in range(24))


def test_a_search_costs_the_same_however_old_a_rule_is_and_however_many_dates_it_has_had():
    now, spent = berlin(2026, 3, 1), []
    for start in ("2000-01-01T00:00:00", "2026-01-01T00:00:00"):
        found, work = starts(start, f"FREQ=DAILY;BYHOUR={HOURS}"), Work(ENOUGH)
        assert found.latest(now, now - YEAR, work) == now
        assert next(found.following(now, now + YEAR, work)) == now + 3600
        spent.append(ENOUGH - work.left)
    assert spent[0] == spent[1] < 100


def test_count_is_counted_from_the_start_on_in_steps():
    rule = parse_rule("FREQ=WEEKLY;BYDAY=MO,TU;COUNT=700")
    partly = recurring_starts(local_time("2020-01-02T08:00:00"), BERLIN, rule, (), frozenset())
    assert isinstance(partly, RecurringStarts)
    steps = 0
    while not partly.is_counted:
        partly, steps = partly.counted(Work(1)), steps + 1
    assert steps > 5
    # 350 weeks later.
    assert listed(partly, "2040-01-01T00:00:00")[-1] == "2026-09-15T08:00:00"
    assert len(listed(partly, "2040-01-01T00:00:00")) == 700


def test_count_does_not_count_beyond_thirty_years():
    with pytest.raises(ValueError, match="use UNTIL"):
        starts("2000-01-01T00:00:00", "FREQ=YEARLY;COUNT=31")
    assert len(listed(starts("2000-01-01T00:00:00", "FREQ=YEARLY;COUNT=30"), "2050-01-01T00:00:00")) == 30  # fmt: skip


def test_removed_dates_count():
    found = starts("2026-12-24T00:00:00", "FREQ=DAILY;COUNT=3", removed=["2026-12-26T00:00:00"])
    assert listed(found, "2027-01-01T00:00:00") == ["2026-12-24T00:00:00", "2026-12-25T00:00:00"]


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
    assert previous_and_next(found, 200, 50) == (200, 300)
    assert previous_and_next(found, 260, 50) == (None, 300)
    assert previous_and_next(found, 99, 50) == (None, 100)
    assert previous_and_next(found, 300, 50) == (300, None)
