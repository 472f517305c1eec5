"""What is stored of the memory of an autoscaler: the fields of `status.history`, and of a ScalingMemory."""

import msgspec


class _Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Also while a process remembers them."""


class Recommendation(_Stored, frozen=True, kw_only=True):
    """One step: the metrics recommended `replicas`, first at `since` and last at `until`.

    `replicas` is the count before stabilization, rates and bounds. Only `until` decides anything.
    """

    replicas: int
    since_unix_seconds: float
    until_unix_seconds: float


class ScaleEvent(_Stored, frozen=True, kw_only=True):
    """A change of the scale that was carried out; `outdated` marks a slot that the next event may reuse.

    `may_be_older`: the time is the latest possible one. Then the event uses up the policies of its own direction,
    and gives nothing back to those of the other.
    """

    replica_change: int
    happened_at_unix_seconds: float
    outdated: bool = False
    may_be_older: bool = False


class History(_Stored, frozen=True, kw_only=True):
    """The stored fields. The states of extensions are JSON, which each of them reads and writes itself."""

    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    scaled_to_zero: bool = False
    extensions: dict[str, msgspec.Raw] | None = None
    states: dict[str, str] = {}
    """Those that have no place in the schema of the CRD, as JSON."""
    forecast: str = ""
    candidate: dict[str, msgspec.Raw] | None = None


BESIDE = ("forecast", "candidate")
"""The fields of extensions that have one of their own."""
