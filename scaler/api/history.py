"""What is stored of the memory of an autoscaler: the fields of `status.history`, and of a ScalingMemory."""

from typing import Any

import msgspec

from scaler.api.json_object import JsonObject


class Recommendation(JsonObject, frozen=True, kw_only=True):
    """One step: the metrics recommended `replicas`, first at `since` and last at `until`.

    `replicas` is the count before stabilization, rates and bounds. Only `until` decides anything.
    """

    replicas: int
    since_unix_seconds: float
    until_unix_seconds: float


class ScaleEvent(JsonObject, frozen=True, kw_only=True):
    """A change of the scale that was carried out; `outdated` marks a slot that the next event may reuse.

    `may_be_older`: the time is the latest possible one. Then the event uses up the policies of its own direction,
    and gives nothing back to those of the other.
    """

    replica_change: int
    happened_at_unix_seconds: float
    outdated: bool = False
    may_be_older: bool = False


class Remembered(JsonObject, frozen=True, kw_only=True):
    """What is remembered between reconciles and stored as it is; recommendations, oldest first, and scale events, in
    upstream's slot order.

    `recommendations is None` means that this autoscaler was never reconciled: the first reconcile then records
    the current count, so that the target does not shrink below it for the length of the window.
    """

    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    scaled_to_zero: bool = False
    """Whether the controller set the replicas to 0, or is about to; the condition ScaledToZero says it too,
    but only once the status was written."""


class History(Remembered, frozen=True, kw_only=True):
    """All that is stored. The states of extensions are JSON, which each of them reads and writes itself."""

    extensions: dict[str, msgspec.Raw] | None = None
    states: dict[str, str] = msgspec.field(default_factory=dict)
    """Those that have no place in the schema of the CRD, as JSON."""
    forecast: str = ""
    candidate: dict[str, msgspec.Raw] | None = None


def fields_of(kind: type[msgspec.Struct], given: msgspec.Struct) -> dict[str, Any]:
    """The fields that `given` has in common with all structs of this kind."""
    return {name: getattr(given, name) for name in kind.__struct_fields__}
