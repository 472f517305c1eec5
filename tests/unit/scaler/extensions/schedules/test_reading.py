"""Schedules of a spec and entries of calendars: what they become, and which field a mistake is in."""

import pytest

from scaler.api.schedules import (
    CalendarEntry,
    CalendarReference,
    CalendarSpec,
    FoundCalendar,
    ScheduleSpec,
)
from scaler.extensions.schedules.local_time import local_time
from scaler.extensions.schedules.reading import Readable, read_on, readable
from scaler.extensions.schedules.windows import evaluated
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone

RETAIL = CalendarReference(kind="ClusterScalingCalendar", name="retail")
SALE = CalendarEntry(
    name="sale", start="2026-11-27T00:00:00", rrule="FREQ=YEARLY;BYMONTH=11;BYDAY=4FR",
    duration_seconds=86_400, min_replicas=30,
)  # fmt: skip


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return local_time(text).replace(tzinfo=time_zone(zone)).timestamp()


def read_all(specs, calendars) -> Readable:
    """In one evaluation."""
    work = Work()
    read = read_on(readable(specs, calendars, work), work)
    assert read.is_complete
    return read


def scheduled(now: float, *specs: ScheduleSpec, calendars=()):
    read = read_all(specs, tuple(calendars))
    assert read.problems == ()
    return evaluated(read.schedules, now, min_replicas=1, max_replicas=40, work=Work())


def retail(*entries: CalendarEntry, zone: str = "Europe/Berlin") -> FoundCalendar:
    return FoundCalendar(RETAIL, CalendarSpec(time_zone=zone, entries=entries))


def test_a_cron_schedule_is_active_in_its_time_zone():
    office = ScheduleSpec(
        name="office", schedule="0 8 * * 1-5", time_zone="Europe/Berlin", duration_seconds=36_000, min_replicas=10
    )  # fmt: skip
    floors = [
        scheduled(at(f"2026-11-23T{hour}:00:00"), office).floor for hour in ("07", "08", "17", "18")
    ]
    assert floors == [None, 10, 10, None]


def test_the_time_zone_is_utc_unless_it_is_set():
    office = ScheduleSpec(name="office", schedule="0 8 * * *", duration_seconds=60, min_replicas=10)
    assert scheduled(at("2026-11-23T08:00:30", "UTC"), office).floor == 10


def test_dates_are_local_times_in_any_order():
    sale = ScheduleSpec(
        name="sale", dates=("2026-12-24T00:00:00", "2026-11-27T00:00:00"), time_zone="America/New_York",
        duration_seconds=86_400, min_replicas=30, max_replicas=60,
    )  # fmt: skip
    now = at("2026-11-27T12:00:00", "America/New_York")
    assert (scheduled(now, sale).floor, scheduled(now, sale).cap) == (30, 60)
    assert scheduled(at("2026-11-28T12:00:00", "America/New_York"), sale).floor is None


def test_an_event_of_a_calendar_is_named_after_both_and_brings_its_bounds():
    holidays = ScheduleSpec(name="holidays", calendar_ref=RETAIL)
    found = scheduled(at("2027-11-26T12:00:00"), holidays, calendars=[retail(SALE)])
    assert ([each.name for each in found.active], found.floor) == (["holidays/sale"], 30)


def test_the_bounds_of_the_schedule_take_precedence_over_those_of_the_calendar():
    holidays = ScheduleSpec(name="holidays", calendar_ref=RETAIL, min_replicas=4)
    assert scheduled(at("2027-11-26T12:00:00"), holidays, calendars=[retail(SALE)]).floor == 4


def entry(**changes) -> FoundCalendar:
    fields = {
        "name": "sale",
        "start": "2026-11-27T00:00:00",
        "duration_seconds": 60,
        "min_replicas": 3,
        **changes,
    }
    return retail(CalendarEntry(**fields))


HOLIDAYS = ScheduleSpec(name="holidays", calendar_ref=RETAIL)
CRON = {"name": "a", "duration_seconds": 60, "min_replicas": 3}


@pytest.mark.parametrize(
    ("spec", "calendars", "problem"),
    [
        (ScheduleSpec(schedule="0 25 * * *", **CRON), (), "spec.schedules[1].schedule: hour '25'"),
        (ScheduleSpec(schedule="0 8 * * *", time_zone="Mars", **CRON), (), "spec.schedules[1].timeZone: unknown time zone 'Mars'"),
        (ScheduleSpec(dates=("2026-02-30T00:00:00",), **CRON), (), "spec.schedules[1].dates: '2026-02-30T00:00:00' is not a local time"),
        (HOLIDAYS, (), "spec.schedules[1].calendarRef: the calendar has not been read"),
        (HOLIDAYS, (FoundCalendar(RETAIL, None, "it does not exist"),), "spec.schedules[1].calendarRef: it does not exist"),
        (HOLIDAYS, (entry(rrule="FREQ=HOURLY"),), "spec.schedules[1].calendarRef: ClusterScalingCalendar retail, spec.entries[0].rrule: FREQ must be"),
        (HOLIDAYS, (entry(start="soon"),), "spec.entries[0].start: 'soon' is not a local time"),
        (HOLIDAYS, (entry(rdates=("soon",)),), "spec.entries[0].rdates: 'soon'"),
        (HOLIDAYS, (entry(exdates=("soon",)),), "spec.entries[0].exdates: 'soon'"),
        (HOLIDAYS, (entry(min_replicas=None),), "spec.entries[0]: it has no bounds"),
        (HOLIDAYS, (retail(SALE, zone="Mars"),), "retail, spec.timeZone: unknown time zone 'Mars'"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field_and_does_not_affect_other_schedules(spec, calendars, problem):
    good = ScheduleSpec(name="good", schedule="* * * * *", duration_seconds=60, min_replicas=7)
    read = read_all((good, spec), calendars)
    (found,) = read.problems
    assert problem in found
    found = evaluated(read.schedules, 1_800_000_000, min_replicas=1, max_replicas=40, work=Work())
    assert found.floor == 7
