"""The schedules of a spec, and the calendars that it refers to, as something that can be evaluated."""

from collections.abc import Iterator

import msgspec

from scaler.api.schedules import CalendarEntry, FoundCalendar, ScheduleSpec
from scaler.extensions.schedules.cron import CronStarts, parse_cron
from scaler.extensions.schedules.local_time import instant, local_time, time_zone
from scaler.extensions.schedules.recurrence import FixedStarts, RecurringStarts, parse_rule
from scaler.extensions.schedules.windows import Schedule, Starts

DEFAULT_TIME_ZONE = "UTC"


class Readable(msgspec.Struct, frozen=True):
    """What can be read, and a message for each schedule that cannot, with the path of its field."""

    schedules: tuple[Schedule, ...]
    problems: tuple[str, ...]


def readable(schedules: tuple[ScheduleSpec, ...], calendars: tuple[FoundCalendar, ...]) -> Readable:
    """Read all schedules. One that cannot be read does not affect the others."""
    read: list[Schedule] = []
    problems: list[str] = []
    for index, spec in enumerate(schedules):
        path = f"spec.schedules[{index}]"
        try:
            read.extend(_read(spec, calendars, path))
        except _FieldError as error:
            problems.append(str(error))
    return Readable(tuple(read), tuple(problems))


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


def _read(
    spec: ScheduleSpec, calendars: tuple[FoundCalendar, ...], path: str
) -> Iterator[Schedule]:
    if spec.calendar_ref is None:
        yield Schedule(
            name=spec.name,
            starts=_starts(spec, path),
            duration_seconds=spec.duration_seconds or 0,
            ramp_seconds=spec.ramp_seconds or 0,
            min_replicas=spec.min_replicas,
            max_replicas=spec.max_replicas,
        )
        return
    calendar = next((each for each in calendars if each.reference == spec.calendar_ref), None)
    if calendar is None or calendar.spec is None:
        problem = calendar.problem if calendar else "the calendar has not been read"
        raise _FieldError(f"{path}.calendarRef: {problem}")
    zone = calendar.spec.time_zone or DEFAULT_TIME_ZONE
    for index, entry in enumerate(calendar.spec.entries or ()):
        inside = f"{path}.calendarRef: {spec.calendar_ref.kind} {spec.calendar_ref.name}, "
        yield _event(spec, entry, zone, f"{inside}spec.entries[{index}]", inside)


def _starts(spec: ScheduleSpec, path: str) -> Starts:
    with _Reading(f"{path}.timeZone"):
        zone = time_zone(spec.time_zone or DEFAULT_TIME_ZONE)
    if spec.dates is not None:
        with _Reading(f"{path}.dates"):
            return FixedStarts(
                tuple(sorted(instant(local_time(date), zone) for date in spec.dates))
            )
    with _Reading(f"{path}.schedule"):
        return CronStarts(parse_cron(spec.schedule), zone)


def _event(
    spec: ScheduleSpec, entry: CalendarEntry, zone_name: str, path: str, calendar_path: str
) -> Schedule:
    """The bounds of the schedule take precedence over those of the entry."""
    with _Reading(f"{calendar_path}spec.timeZone"):
        zone = time_zone(zone_name)
    with _Reading(f"{path}.start"):
        start = local_time(entry.start)
    with _Reading(f"{path}.rrule"):
        rule = parse_rule(entry.rrule) if entry.rrule else None
    with _Reading(f"{path}.rdates"):
        added = tuple(local_time(date) for date in entry.rdates or ())
    with _Reading(f"{path}.exdates"):
        removed = frozenset(local_time(date) for date in entry.exdates or ())
    low = entry.min_replicas if spec.min_replicas is None else spec.min_replicas
    high = entry.max_replicas if spec.max_replicas is None else spec.max_replicas
    if low is None and high is None:
        raise _FieldError(
            f"{path}: it has no bounds: set minReplicas or maxReplicas there or in the schedule"
        )
    return Schedule(
        name=f"{spec.name}/{entry.name}",
        starts=RecurringStarts(start=start, zone=zone, rule=rule, added=added, removed=removed),
        duration_seconds=entry.duration_seconds,
        ramp_seconds=spec.ramp_seconds or 0,
        min_replicas=low,
        max_replicas=high,
    )
