"""How much of the schedules one evaluation does, whatever an object contains."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from scaler.api.schedules import CalendarEntry, CalendarSpec, FoundCalendar, ScheduleSpec
from scaler.extensions.schedules.local_time import instant, local_time
from scaler.extensions.schedules.reading import EVENTS_MAX, Readable, read_on, readable
from scaler.extensions.schedules.windows import Scheduled, evaluated
from scaler.extensions.schedules.work import UNITS_MAX, Work
from scaler.extensions.time_zones import time_zone
from testbed import worst_schedules

NOW = instant(local_time("2026-11-24T10:00:30"), time_zone("Europe/Berlin"))
# What a single step may do beyond the rest of the work: the years around now, of a rule with many parts.
STEP_UNITS = 100
PERIOD_SECONDS = 15
HOUR = 3600


class Evaluations:
    """Of one autoscaler, one after the other."""

    def __init__(self, schedules, calendars=()) -> None:
        self.read: Readable = readable(tuple(schedules), tuple(calendars), Work())
        self.scheduled = Scheduled()

    def at(self, now: float) -> int:
        """The units of work that it took."""
        work = Work()
        self.read = read_on(self.read, work)
        self.scheduled = evaluated(
            self.read.schedules, now, min_replicas=1, max_replicas=40, work=work,
            known=self.scheduled.found,
        )  # fmt: skip
        return UNITS_MAX - work.left

    @property
    def is_complete(self) -> bool:
        return self.read.is_complete and self.scheduled.is_complete


def calendars(*entries: Sequence[Mapping[str, Any]]) -> tuple[FoundCalendar, ...]:
    """The first ones that `REFERRING` refers to."""
    return tuple(
        FoundCalendar(
            schedule.calendar_ref,
            CalendarSpec(
                time_zone=worst_schedules.TIME_ZONE,
                entries=msgspec.convert(each, tuple[CalendarEntry, ...]),
            ),
        )
        for schedule, each in zip(REFERRING, entries, strict=False)
        if schedule.calendar_ref
    )


ALL = msgspec.convert(worst_schedules.schedules(), tuple[ScheduleSpec, ...])
EVERY_MINUTE = tuple(each for each in ALL if each.calendar_ref is None)
REFERRING = tuple(each for each in ALL if each.calendar_ref is not None)
NEVER = worst_schedules.entries({"rrule": worst_schedules.NEVER})


KINDS = pytest.mark.parametrize(
    "fields", worst_schedules.ENTRY_FIELDS.values(), ids=worst_schedules.ENTRY_FIELDS
)


@KINDS
def test_no_evaluation_does_more_than_its_share(fields):
    """The worst objects that the API server accepts."""
    numbers = range(worst_schedules.CALENDARS)
    found = Evaluations(
        ALL, calendars(*(worst_schedules.entries(fields, each) for each in numbers))
    )
    assert found.read.event_count == EVENTS_MAX
    for evaluation in range(30):
        assert found.at(NOW + 15 * evaluation) < UNITS_MAX + STEP_UNITS
        if not found.is_complete:
            now = NOW + 15 * evaluation
            assert found.scheduled.valid_until_unix_seconds == now, "the next reconcile goes on"


@KINDS
def test_the_worst_objects_are_complete_within_an_hour_and_stay_so_for_a_day(fields):
    """Otherwise nothing would be scaled down: also while starts pass in each minute and in each hour."""
    numbers = range(worst_schedules.CALENDARS)
    found = Evaluations(
        ALL, calendars(*(worst_schedules.entries(fields, each) for each in numbers))
    )
    now = NOW
    found.at(now)
    while not found.is_complete:
        now += PERIOD_SECONDS
        assert now < NOW + HOUR
        found.at(now)
    for hour in range(NOW // HOUR + 2, NOW // HOUR + 26):
        # All entries start at a full hour, and are searched for until nothing is left.
        for now in range(hour * HOUR, (hour + 1) * HOUR, PERIOD_SECONDS):
            found.at(now)
            assert found.is_complete
            if found.scheduled.valid_until_unix_seconds > now:
                break


@KINDS
def test_what_several_evaluations_find_is_what_one_without_a_limit_finds(fields):
    few = worst_schedules.entries(fields)[:20]
    found = Evaluations((*EVERY_MINUTE[:5], REFERRING[0]), calendars(few))
    evaluations = 0
    while found.at(NOW) > 0:
        evaluations += 1
        assert evaluations < 100
    assert found.is_complete
    assert found.read.problems == ()
    everything = evaluated(
        found.read.schedules, NOW, min_replicas=1, max_replicas=40, work=Work(10**9)
    )
    assert msgspec.structs.replace(everything, found=()) == (
        msgspec.structs.replace(found.scheduled, found=())
    )


@pytest.mark.parametrize(("dates", "evaluations"), [(40, 1), (100, 2)])
def test_objects_of_a_usual_size_are_evaluated_within(dates, evaluations):
    office = [
        ScheduleSpec(name=f"c{each}", schedule=f"{each} 8 * * 1-5", time_zone="Europe/Berlin", duration_seconds=36_000, min_replicas=2)
        for each in range(10)
    ]  # fmt: skip
    yearly = [
        {**each, "start": f"2024-{1 + day % 12:02}-{1 + day % 28:02}T00:00:00"}
        for day, each in enumerate(worst_schedules.entries({"rrule": "FREQ=YEARLY"}))
    ]
    found = Evaluations((*office, REFERRING[0]), calendars(yearly[:dates]))
    for evaluation in range(evaluations):
        assert not found.is_complete
        found.at(NOW + 15 * evaluation)
    assert found.is_complete
    assert found.scheduled.valid_until_unix_seconds > NOW


def test_a_rule_that_never_matches_costs_nothing_twice():
    found = Evaluations(
        (
            ScheduleSpec(name="never", schedule="0 0 30 2 *", duration_seconds=60, min_replicas=2),
            ScheduleSpec(name="often", schedule="* * * * *", duration_seconds=60, min_replicas=2),
            REFERRING[0],
        ),
        calendars(NEVER[:1]),
    )
    alone = Evaluations(
        [ScheduleSpec(name="often", schedule="* * * * *", duration_seconds=60, min_replicas=2)]
    )
    found.at(NOW)
    alone.at(NOW)
    # Days that follow, each with a change of the other schedule.
    for day in range(1, 30):
        assert found.at(NOW + day * 86_400) == alone.at(NOW + day * 86_400)


def test_more_schedules_than_the_limit_are_a_problem_that_names_the_schedule():
    """An object that was stored before the CRD had the limit."""
    many = tuple(msgspec.structs.replace(each, name=f"t{each.name}") for each in EVERY_MINUTE)
    found = readable((*ALL, *many), calendars(*[worst_schedules.entries({})] * 10), Work())
    assert found.event_count == EVENTS_MAX
    assert found.problems[0].startswith("spec.schedules[50]: with the entries of calendars")
    assert len(found.problems) == 40
