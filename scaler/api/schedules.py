"""Schedules in a LoadAutoscaler's spec, and the calendars that several of them share.

Times stay text, as in `scaler.api.extension_spec`: one value that this version cannot read must not fail a whole LIST.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from scaler.api.json_object import JsonObject
from wire.api.loadline import API_VERSION
from wire.api.meta import NameAndVersion


class CalendarKind(StrEnum):
    """The kinds that a `calendarRef` may name."""

    NAMESPACED = "ScalingCalendar"
    CLUSTER = "ClusterScalingCalendar"

    def collection(self, namespace: str) -> str:
        """The path of the objects of a namespace; of all of them when it is empty."""
        if self is CalendarKind.CLUSTER:
            return f"/apis/{API_VERSION}/clusterscalingcalendars"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{API_VERSION}{inside}/scalingcalendars"

    def object(self, namespace: str, name: str) -> str:
        """The path of one calendar; a cluster-wide one has no namespace."""
        return f"{self.collection(namespace)}/{name}"


class CalendarReference(JsonObject, frozen=True, kw_only=True):
    """A calendar by kind and name; a ScalingCalendar is one of the autoscaler's namespace."""

    kind: str
    name: str


class ScheduleSpec(JsonObject, frozen=True, kw_only=True):
    """One of `schedule`, `dates` and `calendarRef`, and the bounds while it is active."""

    name: str
    schedule: str = ""
    dates: tuple[str, ...] | None = None
    calendar_ref: CalendarReference | None = None
    time_zone: str = ""
    duration_seconds: int | None = None
    ramp_seconds: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


class CalendarEntry(JsonObject, frozen=True, kw_only=True):
    """An event of a calendar: DTSTART, RRULE, RDATE and EXDATE of RFC 5545, as fields."""

    name: str
    start: str
    rrule: str = ""
    rdates: tuple[str, ...] | None = None
    exdates: tuple[str, ...] | None = None
    duration_seconds: int
    min_replicas: int | None = None
    max_replicas: int | None = None


class CalendarSpec(JsonObject, frozen=True, kw_only=True):
    """The entries of a calendar, in one time zone."""

    time_zone: str = ""
    entries: tuple[CalendarEntry, ...] | None = None


class Calendar(JsonObject, frozen=True, kw_only=True):
    """A ScalingCalendar or a ClusterScalingCalendar."""

    metadata: NameAndVersion = NameAndVersion()
    spec: CalendarSpec = CalendarSpec()


class FoundCalendar(msgspec.Struct, frozen=True):
    """A referenced calendar; without a spec, `problem` says why."""

    reference: CalendarReference
    spec: CalendarSpec | None
    problem: str | None = None


class ScheduleStatus(JsonObject, frozen=True, kw_only=True):
    """The active schedules, the bounds that apply with them, and when that changes next."""

    active: str = ""
    min_replicas: int | None = None
    max_replicas: int | None = None
    next_change_time: datetime | None = None
