"""A search near now finds what the enumeration of all dates from the start on finds, by dateutil alone."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scaler.extensions.schedules.local_time import instant
from scaler.extensions.schedules.recurrence import RecurringStarts, recurring_starts
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.windows import YEARS_AHEAD, Schedule, evaluated
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone
from tests.unit.scaler.extensions.schedules.searching import ENOUGH

DAY = 86_400
# dateutil searches until the year 9999 for a date that does not exist. The calendar repeats every 400 years.
SHIFT_YEARS = 7600
# A search ends with a year, which may be the third one after those.
AHEAD = timedelta(days=366 * (YEARS_AHEAD + 3))
# Zones with changes at midnight, by half an hour, and in the south.
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "America/Scoresbysund", "America/Asuncion", "Asia/Beirut"]  # fmt: skip
# Around them, and at the ends of years.
NEAR = [datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC), datetime(2025, 4, 24, 22, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC), datetime(2023, 10, 1, 4, tzinfo=UTC)]  # fmt: skip


def shifted(local: datetime, years: int) -> datetime:
    return local.replace(year=local.year + years)


def enumerated(text: str, start: datetime, end: datetime, zone) -> Iterator[datetime]:
    """All dates from the start on."""
    rule = parse_rule(text)
    until = rule.until
    if until is not None and until.tzinfo is not None:
        until = until.astimezone(zone).replace(tzinfo=None)
    last = shifted(end if until is None else min(until, end), SHIFT_YEARS)
    parts = [each for each in text.split(";") if not each.startswith(("COUNT", "UNTIL"))]
    text = ";".join([*parts, f"UNTIL={last:%Y%m%dT%H%M%S}"])
    dates = islice(rrulestr(text, dtstart=shifted(start, SHIFT_YEARS)), rule.count)
    return (shifted(each, -SHIFT_YEARS) for each in dates)


def numbers(low: int, high: int, most: int = 3):
    return st.lists(
        st.integers(low, high).filter(bool) if low < 0 else st.integers(low, high),
        min_size=1, max_size=most,
    ).map(lambda values: ",".join(map(str, values)))  # fmt: skip


WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
weekdays = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=4).map(",".join)
of_a_month = st.lists(
    st.tuples(st.sampled_from(["", "1", "2", "5", "-1", "-5"]), st.sampled_from(WEEKDAYS)).map("".join),
    min_size=1, max_size=3,
).map(",".join)  # fmt: skip
of_a_year = st.tuples(st.sampled_from(["10", "53", "-2"]), st.sampled_from(WEEKDAYS)).map("".join)
PARTS = {
    "INTERVAL": st.sampled_from(["1", "2", "3", "5", "13", "40"]),
    "BYMONTH": numbers(1, 12),
    "BYMONTHDAY": numbers(-31, 31),
    "BYYEARDAY": numbers(-366, 366),
    "BYWEEKNO": numbers(-53, 53),
    "BYDAY": st.one_of(weekdays, of_a_month, of_a_year),
    "BYSETPOS": numbers(-5, 5),
    "BYHOUR": numbers(0, 23, 4),
    "BYMINUTE": numbers(0, 59, 3),
    "WKST": st.sampled_from(WEEKDAYS),
    "COUNT": st.integers(1, 400).map(str),
    "UNTIL": st.sampled_from(["20260329T003000Z", "20261231", "20240229T023000", "20991231T000000Z"]),
}  # fmt: skip


@st.composite
def rules(draw) -> str:
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    names = draw(st.lists(st.sampled_from(sorted(PARTS)), max_size=4, unique=True))
    text = ";".join([f"FREQ={frequency}", *(f"{name}={draw(PARTS[name])}" for name in names)])
    try:
        parse_rule(text)
    except ValueError:
        assume(False)
    return text


starts = st.datetimes(
    datetime.fromisoformat("2014-01-01"), datetime.fromisoformat("2027-01-01")
).map(lambda each: each.replace(microsecond=0))
near = st.tuples(st.sampled_from(NEAR), st.integers(-3 * DAY, 3 * DAY)).map(
    lambda pair: pair[0].timestamp() + pair[1]
)
moments = st.one_of(near, st.integers(1_640_000_000, 1_830_000_000).map(float))


@settings(max_examples=150, deadline=None)
@given(
    text=rules(),
    start=starts,
    zone_name=st.sampled_from(ZONES),
    now=moments,
    duration=st.sampled_from([60, 3600, 7200, DAY, 5 * DAY, 100 * DAY]),
    data=st.data(),
)
def test_a_search_finds_what_the_enumeration_of_all_dates_finds(
    text, start, zone_name, now, duration, data
):
    zone = time_zone(zone_name)
    end = datetime.fromtimestamp(now, UTC).replace(tzinfo=None) + AHEAD
    dates = list(enumerated(text, start, end, zone))
    some = st.lists(st.sampled_from(dates or [start]), max_size=3)
    added, removed = data.draw(st.lists(starts, max_size=2)), frozenset(data.draw(some))
    found = recurring_starts(start, zone, parse_rule(text), added, removed)
    assert isinstance(found, RecurringStarts)
    try:
        found = found.counted(Work(ENOUGH))
    except ValueError:
        assume(False)
    instants = sorted({instant(each, zone) for each in (*dates, *added) if each not in removed})

    place = bisect_right(instants, now)
    previous = next(reversed([each for each in instants[:place] if each >= now - duration]), None)
    following = next(iter(instants[place:]), None)
    schedule = Schedule(name="a", starts=found, duration_seconds=duration, min_replicas=9)
    scheduled = evaluated([schedule], now, min_replicas=1, max_replicas=20, work=Work(ENOUGH))
    (only,) = scheduled.found
    assert only is not None
    search = only.search
    assert search.previous == previous
    if following is None or following < now + 365 * YEARS_AHEAD * DAY:
        assert search.following == following
    is_active = previous is not None and now < previous + duration
    assert scheduled.floor == (9 if is_active else None)
    if is_active:
        assert search.end == end_of_chain(instants, previous, duration, now)


def end_of_chain(instants: list[int], previous: int, duration: int, now: float) -> float | None:
    """By all windows; unknown after fifty windows, or in more than a year."""
    end = previous + duration
    for count, start in enumerate(instants[bisect_right(instants, previous) :]):
        if start > end or start > now + 366 * DAY:
            break
        if count == 49:
            return None
        end = start + duration
    return end if end < now + 366 * DAY else None
