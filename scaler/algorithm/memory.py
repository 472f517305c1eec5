"""What an autoscaler remembers between reconciles: immutable. Its stored form is `scaler.algorithm.history`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scaler.api.history import Recommendation, ScaleEvent


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the replicas that was written, or may have been: then it is not `confirmed`."""

    before: int
    after: int
    at_unix_seconds: float
    confirmed: bool = True


class UnconfirmedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A write of the scale that got no answer, so it is not known whether it was applied."""

    before: int
    after: int
    sent_at_unix_seconds: float


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Recommendations, oldest first, and scale events, in upstream's slot order.

    `recommendations is None` means that this autoscaler was never reconciled: the first reconcile then records
    the current count, so that the target does not shrink below it for the length of the window.
    """

    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    scaled_to_zero: bool = False
    """Whether the controller set the replicas to 0, or is about to; the condition ScaledToZero says it too,
    but only once the status was written."""
    unconfirmed: UnconfirmedChange | None = None
    states: Mapping[str, Any] = {}
    """The states of extensions, by their names."""


class StoredMemory(Memory, frozen=True, kw_only=True):
    """A memory as another process left it; `scaler.algorithm.restart.restored` continues it.

    `known_replicas`: the desired and the current count in the status. After a rescale the first one is the count
    that the process set; after a reconcile without a result, the second one is what it read. `states` are not decoded.
    """

    known_replicas: tuple[int, ...] = ()
