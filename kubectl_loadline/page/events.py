"""Pure: the events of an autoscaler as marks on its time axis."""

from datetime import datetime

import msgspec

from kubectl_loadline.decisions.metric_names import in_prometheus_words
from wire.api import kube_json


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One event, at the time at which it last happened."""

    at: float
    is_warning: bool
    reason: str
    message: str


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    reason: str = ""
    message: str = ""
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    first_timestamp: datetime | None = None
    series: _Series | None = None

    @property
    def at(self) -> float | None:
        times = (
            None if self.series is None else self.series.last_observed_time,
            self.last_timestamp,
            self.event_time,
            self.first_timestamp,
        )
        return next((each.timestamp() for each in times if each is not None), None)


class _EventList(msgspec.Struct, frozen=True):
    items: tuple[_Event, ...] = ()


def selector_of(kind: str, name: str) -> str:
    """The field selector of the events of one object."""
    return f"involvedObject.kind={kind},involvedObject.name={name}"


def marks(body: bytes, *, start: float, end: float) -> tuple[Mark, ...]:
    """Of a list of events, in the order of time. Raises ValueError for another document."""
    found = [
        Mark(
            at=at,
            is_warning=each.type == "Warning",
            reason=each.reason,
            message=in_prometheus_words(each.message),
        )
        for each in kube_json.decode(body, _EventList).items
        if (at := each.at) is not None and start <= at <= end
    ]
    return tuple(sorted(found, key=lambda mark: mark.at))
