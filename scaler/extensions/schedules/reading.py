"""The schedules of a spec, and the calendars that it refers to, as something that can be evaluated."""

from functools import lru_cache

import msgspec

from scaler.api.schedules import CalendarEntry, FoundCalendar, ScheduleSpec
from scaler.extensions.schedules.cron import cron_starts
from scaler.extensions.schedules.local_time import instant, local_time, time_zone
from scaler.extensions.schedules.recurrence import FixedStarts, RecurringStarts, recurring_starts
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.windows import Schedule, Starts
from scaler.extensions.schedules.work import Work

DEFAULT_TIME_ZONE = "UTC"
# The limits of the CRD: 50 schedules, at most 10 of them with a calendar of at most 100 entries. An object that was stored
# before the CRD had them may exceed them.
EVENTS_MAX = 1_040
DURATION_SECONDS_MAX = 31_622_400
RAMP_SECONDS_MAX = 86_400

_EVENT_UNITS = 2
# To read so many dates, or to list so many events, takes as long as a unit.
_DATES_A_UNIT = 2
_LISTED_A_UNIT = 4


class Event(msgspec.Struct, frozen=True):
    """A schedule with its own starts, or one with an entry of its calendar; `path` is that of its fields."""

    spec: ScheduleSpec
    path: str
    entry: CalendarEntry | None = None
    zone: str = ""
    calendar_path: str = ""


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """The events of an autoscaler: first those that were read, then those whose turn comes in a later evaluation.

    `problems`: a message for each event that cannot be read, with the path of its field.
    `counting`: the next event, whose COUNT is not yet counted to the end.
    """

    events: tuple[Event, ...]
    schedules: tuple[Schedule, ...] = ()
    problems: tuple[str, ...] = ()
    events_read: int = 0
    counting: Schedule | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all events were read."""
        return self.events_read == len(self.events)


def readable(
    schedules: tuple[ScheduleSpec, ...], calendars: tuple[FoundCalendar, ...], work: Work
) -> Readable:
    """The events, none of which is read yet."""
    events: list[Event] = []
    problems: list[str] = []
    for index, spec in enumerate(schedules):
        path = f"spec.schedules[{index}]"
        try:
            of_schedule = _events(spec, calendars, path)
        except _FieldError as error:
            problems.append(str(error))
            continue
        if len(events) + len(of_schedule) > EVENTS_MAX:
            problems.append(
                f"{path}: with the entries of calendars, the schedules before it and this one are more than"
                f" {EVENTS_MAX}: refer to fewer or smaller calendars"
            )
            continue
        events += of_schedule
    work.spend(len(events) // _LISTED_A_UNIT)
    return Readable(events=tuple(events), problems=tuple(problems))


def read_on(known: Readable, work: Work) -> Readable:
    """With the next events, as far as the work suffices. One that cannot be read does not affect the others."""
    if known.is_complete or work.is_used_up:
        return known
    read, problems = list(known.schedules), list(known.problems)
    place, counting = known.events_read, known.counting
    while place < len(known.events) and not work.is_used_up:
        try:
            schedule = _schedule(known.events[place], work) if counting is None else counting
            schedule, is_counted = _counted(schedule, known.events[place], work)
        except _FieldError as error:
            problems.append(str(error))
        else:
            if not is_counted:
                counting = schedule
                break
            read.append(schedule)
        place, counting = place + 1, None
    return Readable(
        events=known.events,
        schedules=tuple(read),
        problems=tuple(problems),
        events_read=place,
        counting=counting,
    )


class _FieldError(Exception):
    """The path of a field, and what is wrong with it."""


class _Reading:
    """Turns a ValueError into one that names the field."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ValueError):
            raise _FieldError(f"{self._path}: {error}") from error


def _events(
    spec: ScheduleSpec, calendars: tuple[FoundCalendar, ...], path: str
) -> tuple[Event, ...]:
    if spec.calendar_ref is None:
        return (Event(spec, path),)
    calendar = next((each for each in calendars if each.reference == spec.calendar_ref), None)
    if calendar is None or calendar.spec is None:
        problem = calendar.problem if calendar else "the calendar has not been read"
        raise _FieldError(f"{path}.calendarRef: {problem}")
    zone = calendar.spec.time_zone or DEFAULT_TIME_ZONE
    inside = f"{path}.calendarRef: {spec.calendar_ref.kind} {spec.calendar_ref.name}, "
    return tuple(
        Event(spec, f"{inside}spec.entries[{index}]", entry, zone, inside)
        for index, entry in enumerate(calendar.spec.entries or ())
    )


def _name(event: Event) -> str:
    name = event.spec.name
    return name if event.entry is None else f"{name}/{event.entry.name}"


def _schedule(event: Event, work: Work) -> Schedule:
    spec, entry = event.spec, event.entry
    work.spend(_EVENT_UNITS)
    if entry is None:
        starts, duration_seconds = _starts(spec, event.path, work), spec.duration_seconds or 0
        low, high = spec.min_replicas, spec.max_replicas
    else:
        starts, duration_seconds = _starts_of_entry(event, entry, work), entry.duration_seconds
        # The bounds of the schedule take precedence over those of the entry.
        low = entry.min_replicas if spec.min_replicas is None else spec.min_replicas
        high = entry.max_replicas if spec.max_replicas is None else spec.max_replicas
        if low is None and high is None:
            raise _FieldError(
                f"{event.path}: it has no bounds: set minReplicas or maxReplicas there or in the schedule"
            )
    ramp_seconds = spec.ramp_seconds or 0
    if duration_seconds > DURATION_SECONDS_MAX or ramp_seconds > RAMP_SECONDS_MAX:
        raise _FieldError(
            f"{event.path}: durationSeconds must be at most {DURATION_SECONDS_MAX}, rampSeconds at most {RAMP_SECONDS_MAX}"
        )
    return Schedule(
        name=_name(event),
        starts=starts,
        duration_seconds=duration_seconds,
        ramp_seconds=ramp_seconds,
        min_replicas=low,
        max_replicas=high,
    )


def _starts(spec: ScheduleSpec, path: str, work: Work) -> Starts:
    with _Reading(f"{path}.timeZone"):
        zone = time_zone(spec.time_zone or DEFAULT_TIME_ZONE)
    if spec.dates is not None:
        work.spend(len(spec.dates) // _DATES_A_UNIT)
        with _Reading(f"{path}.dates"):
            return FixedStarts(
                tuple(sorted(instant(local_time(date), zone) for date in spec.dates))
            )
    with _Reading(f"{path}.schedule"):
        return cron_starts(spec.schedule, zone)


def _starts_of_entry(event: Event, entry: CalendarEntry, work: Work) -> Starts:
    added, removed = entry.rdates or (), entry.exdates or ()
    work.spend((len(added) + len(removed)) // _DATES_A_UNIT)
    with _Reading(f"{event.calendar_path}spec.timeZone"):
        time_zone(event.zone)
    try:
        return _recurring(entry.start, entry.rrule, added, removed, event.zone)
    except _FieldError as error:
        raise _FieldError(f"{event.path}.{error}") from error


@lru_cache(4_096)
def _recurring(
    start_text: str,
    rule_text: str,
    added_texts: tuple[str, ...],
    removed_texts: tuple[str, ...],
    zone: str,
) -> Starts:
    """The starts of an entry; many autoscalers have those of one calendar."""
    field = "start"
    try:
        start = local_time(start_text)
        field = "rrule"
        rule = parse_rule(rule_text) if rule_text else None
        field = "rdates"
        added = tuple(local_time(date) for date in added_texts)
        field = "exdates"
        removed = frozenset(local_time(date) for date in removed_texts)
        field = "start"
        return recurring_starts(start, time_zone(zone), rule, added, removed)
    except ValueError as error:
        raise _FieldError(f"{field}: {error}") from error


def _counted(schedule: Schedule, event: Event, work: Work) -> tuple[Schedule, bool]:
    """With COUNT counted as far as the work suffices, and whether that is all of it."""
    starts = schedule.starts
    if not isinstance(starts, RecurringStarts) or starts.is_counted:
        return schedule, True
    with _Reading(f"{event.path}.rrule"):
        starts = starts.counted(work)
    return msgspec.structs.replace(schedule, starts=starts), starts.is_counted
