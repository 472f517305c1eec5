"""The schedules of a spec, and the calendars that it refers to, as something that can be evaluated."""

import msgspec

from scaler.api.schedules import CalendarEntry, FoundCalendar, ScheduleSpec
from scaler.extensions.kept_results import kept
from scaler.extensions.schedules.cron import cron_starts
from scaler.extensions.schedules.local_time import instant, local_time
from scaler.extensions.schedules.recurrence import FixedStarts, RecurringStarts, recurring_starts
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.windows import Schedule, Starts
from scaler.extensions.schedules.work import Work
from scaler.extensions.time_zones import time_zone

DEFAULT_TIME_ZONE = "UTC"
DATES_FEW = 10
# The limits of the CRD: 50 schedules, at most 10 of them with a calendar of at most 100 entries. An object that was stored
# before the CRD had them may exceed them.
EVENTS_MAX = 1_040
DURATION_SECONDS_MAX = 31_622_400
RAMP_SECONDS_MAX = 86_400

_EVENT_UNITS = 3
# To read so many dates, to list so many events, or to find so many times of a day takes as long as a unit.
_DATES_A_UNIT = 4
_LISTED_A_UNIT = 12
_TIMES_A_UNIT = 40


class Event(msgspec.Struct, frozen=True):
    """A schedule with its own starts, or one with an entry of its calendar; `path` is that of its fields."""

    spec: ScheduleSpec
    path: str
    entry: CalendarEntry | None = None
    zone: str = ""
    calendar_path: str = ""


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """The events of an autoscaler: those that were read, and those whose turn comes in a later evaluation.

    `problems`: a message for each event that cannot be read, with the path of its field.
    `counting`: the first unread event, whose COUNT is not yet counted to the end.
    """

    event_count: int
    unread: tuple[Event, ...]
    schedules: tuple[Schedule, ...] = ()
    problems: tuple[str, ...] = ()
    counting: Schedule | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all events were read."""
        return not self.unread


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
    return Readable(event_count=len(events), unread=tuple(events), problems=tuple(problems))


def read_on(known: Readable, work: Work) -> Readable:
    """With the next events, as far as the work suffices. One that cannot be read does not affect the others."""
    if known.is_complete or work.is_used_up:
        return known
    read, problems = list(known.schedules), list(known.problems)
    place, counting = 0, known.counting
    while place < len(known.unread) and not work.is_used_up:
        event = known.unread[place]
        try:
            schedule = _schedule(event, work) if counting is None else counting
            schedule, is_counted = _counted(schedule, event, work)
        except _FieldError as error:
            problems.append(str(error))
        else:
            if not is_counted:
                counting = schedule
                break
            read.append(schedule)
        place, counting = place + 1, None
    return Readable(
        event_count=known.event_count,
        unread=known.unread[place:],
        schedules=tuple(read),
        problems=tuple(problems),
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


def _schedule(event: Event, work: Work) -> Schedule:
    spec, entry = event.spec, event.entry
    work.spend(_EVENT_UNITS)
    try:
        if entry is None:
            work.spend(len(spec.dates or ()) // _DATES_A_UNIT)
            return _bounded(_of_spec(spec, work))
        work.spend((len(entry.rdates or ()) + len(entry.exdates or ())) // _DATES_A_UNIT)
        with _Reading(f"{event.calendar_path}spec.timeZone"):
            time_zone(event.zone)
        return _of_entry(spec, entry, event.zone)
    except _InsideError as error:
        raise _FieldError(f"{event.path}{error}") from error


class _InsideError(Exception):
    """What is wrong in a schedule or an entry, after its path."""


def _of_spec(spec: ScheduleSpec, work: Work) -> Schedule:
    """A schedule with its own starts."""
    field = "timeZone"
    try:
        zone = time_zone(spec.time_zone or DEFAULT_TIME_ZONE)
        starts: Starts
        if spec.dates is not None:
            field = "dates"
            dates = (instant(local_time(date), zone) for date in spec.dates)
            starts = FixedStarts(tuple(sorted(dates)))
        else:
            field = "schedule"
            starts = cron_starts(spec.schedule, zone)
            work.spend(len(starts.days.seconds_of(0)) // _TIMES_A_UNIT)
    except ValueError as error:
        raise _InsideError(f".{field}: {error}") from error
    return Schedule(
        name=spec.name,
        starts=starts,
        duration_seconds=spec.duration_seconds or 0,
        ramp_seconds=spec.ramp_seconds or 0,
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
    )


@kept(lambda spec, entry, _: _are_many(spec.dates, entry.rdates, entry.exdates))
def _of_entry(spec: ScheduleSpec, entry: CalendarEntry, zone: str) -> Schedule:
    """An entry of a calendar. Many autoscalers have a schedule of one name with one calendar."""
    starts = _recurring(entry.start, entry.rrule, entry.rdates or (), entry.exdates or (), zone)
    # The bounds of the schedule take precedence over those of the entry.
    low = entry.min_replicas if spec.min_replicas is None else spec.min_replicas
    high = entry.max_replicas if spec.max_replicas is None else spec.max_replicas
    if low is None and high is None:
        raise _InsideError(
            ": it has no bounds: set minReplicas or maxReplicas there or in the schedule"
        )
    return _bounded(
        Schedule(
            name=f"{spec.name}/{entry.name}",
            starts=starts,
            duration_seconds=entry.duration_seconds,
            ramp_seconds=spec.ramp_seconds or 0,
            min_replicas=low,
            max_replicas=high,
        )
    )


def _are_many(*dates: tuple[str, ...] | None) -> bool:
    """Each takes about 120 bytes, with what is made of it."""
    return any(dates) and sum(len(each or ()) for each in dates) > DATES_FEW


def _bounded(schedule: Schedule) -> Schedule:
    """The search for the last start goes back by these."""
    if schedule.duration_seconds > DURATION_SECONDS_MAX or schedule.ramp_seconds > RAMP_SECONDS_MAX:
        raise _InsideError(
            f": durationSeconds must be at most {DURATION_SECONDS_MAX}, rampSeconds at most {RAMP_SECONDS_MAX}"
        )
    return schedule


@kept(lambda _start, _rule, added, removed, _zone: _are_many(added, removed))
def _recurring(
    start_text: str,
    rule_text: str,
    added_texts: tuple[str, ...],
    removed_texts: tuple[str, ...],
    zone: str,
) -> Starts:
    """The starts of an entry, also with other bounds."""
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
        raise _InsideError(f".{field}: {error}") from error


def _counted(schedule: Schedule, event: Event, work: Work) -> tuple[Schedule, bool]:
    """With COUNT counted as far as the work suffices, and whether that is all of it."""
    starts = schedule.starts
    if not isinstance(starts, RecurringStarts) or starts.is_counted:
        return schedule, True
    with _Reading(f"{event.path}.rrule"):
        starts = starts.counted(work)
    return msgspec.structs.replace(schedule, starts=starts), starts.is_counted
