"""Values in milli-units, ready to be rendered."""

from collections.abc import Mapping

import msgspec

from adapter.model.resources import KubeObject


class ObjectValue(msgspec.Struct, frozen=True, kw_only=True):
    """One object's value of a custom metric. Milli-units: 1.5 requests/s is 1500."""

    name: str
    value_milli: int
    timestamp_seconds: float
    sampled_seconds: float
    """The same time by the monotonic clock of this process, so that the age is right after a clock was stepped."""
    substitute: bool = False
    """A 0 that the signal contract put in: it is served, and must never become a last good value."""


class ExternalValue(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an external metric, in milli-units; a scalar has no labels (None)."""

    labels: Mapping[str, str] | None
    value_milli: int
    timestamp_seconds: float
    sampled_seconds: float  # as of an `ObjectValue`
    substitute: bool = False  # as of an `ObjectValue`


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """cpu and memory in milli-units: cores and bytes times a thousand."""

    cpu_milli: int
    memory_milli: int


class UsageValue(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one pod (by container, in the order of the result) or of one node (one entry under "")."""

    subject: KubeObject
    usage: Mapping[str, Usage]
    timestamp_seconds: float
    sampled_seconds: float  # as of an `ObjectValue`
    window_seconds: float
