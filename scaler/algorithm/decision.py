"""What must be measured, what was decided, and what is then to be written and reported."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from scaler.algorithm.derivation import Derivation
from scaler.algorithm.extension import Extension, Part
from scaler.algorithm.memory import AnyMemory, Memory, StoredMemory
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerStatus,
    Condition,
    MetricStatus,
)


class Branch(StrEnum):
    """Which way a reconcile goes, decided before any metric is requested."""

    NO_SCALE = "NoScale"
    SHARED_TARGET = "SharedTarget"
    DISABLED = "Disabled"
    ABOVE_MAX = "AboveMax"
    BELOW_MIN = "BelowMin"
    METRICS = "Metrics"


class EventType(StrEnum):
    """Kubernetes' two types of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event on the autoscaler object, in upstream's words."""

    type: EventType
    reason: str
    message: str


def warning(reason: str, message: str) -> Event:
    """An event of type Warning."""
    return Event(type=EventType.WARNING, reason=reason, message=message)


class ErrorClass(StrEnum):
    """The `error` label of `reconciliations_total` and `metric_computation_total`."""

    NONE = "none"
    SPEC = "spec"
    INTERNAL = "internal"


class Action(StrEnum):
    """The `action` label of `reconciliations_total` and `metric_computation_total`."""

    NONE = "none"
    SCALE_UP = "scale_up"
    SCALE_DOWN = "scale_down"


class PodPatch(msgspec.Struct, frozen=True, kw_only=True):
    """Annotations that a pod is to have before a scale-down; one without a value is removed."""

    pod_name: str
    resource_version: str
    """Of the pod that was observed: another client may have annotated it since."""
    annotations: Mapping[str, str | None]
    failed_reason: str
    """That of the event when it cannot be written."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What to do about one autoscaler. Nothing was written yet.

    `desired_replicas is None` means that nothing could be decided (no scale, no usable metric):
    the replicas stay, and the status keeps its old `desiredReplicas`. `conditions` is the whole
    list so far. `events` are emitted before the scale is written, `events_after_status` after the
    status is. `error` is the reconcile's own error, for the log.
    """

    autoscaler: Autoscaler
    branch: Branch
    policy: Policy
    current_replicas: int = 0
    desired_replicas: int | None = None
    rescale: bool = False
    rescale_reason: str = ""
    pod_annotations: tuple[PodPatch, ...] = ()
    conditions: tuple[Condition, ...] = ()
    current_metrics: tuple[MetricStatus, ...] = ()
    events: tuple[Event, ...] = ()
    events_after_status: tuple[Event, ...] = ()
    memory: Memory
    not_continued: StoredMemory | None = None
    """What another process stored, while the Scale cannot be read; `memory` is empty then."""
    error: str | None = None
    error_class: ErrorClass = ErrorClass.NONE
    derivation: Derivation
    extensions: tuple[Extension[Any, Any], ...] = ()
    """Of the settings."""
    parts: tuple[Part, ...] = ()
    """Those of them that the spec sets."""
    holds_until_unix_seconds: float = 0.0
    """Until when the same inputs lead to the same decision."""
    due_unix_seconds: float = math.inf
    """When the spec changes with the time, so that a reconcile is due, however long the period is."""


class Rescaled(msgspec.Struct, frozen=True, gc=False):
    """The Scale was written."""


class RescaleFailed(msgspec.Struct, frozen=True):
    """The Scale could not be written, retries on conflict included; `message` is the bare error.

    `may_be_applied`: there was no answer, or one that does not say whether it was written.
    """

    message: str
    may_be_applied: bool = False


class NotNeeded(msgspec.Struct, frozen=True, gc=False):
    """The decision was to keep the replicas, so nothing was written."""


Actuation = Rescaled | RescaleFailed | NotNeeded


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to be reported and remembered, in this order.

    `events`, then the status when `status_changed`, then `events_after_status`. `action`,
    `error` and `error_class` are for the log and the metrics.
    """

    status: AutoscalerStatus
    status_changed: bool
    status_may_wait: bool = False
    """Whether only metric values have changed in it, and only a little."""
    events: tuple[Event, ...] = ()
    events_after_status: tuple[Event, ...] = ()
    memory: AnyMemory
    """Still the stored one of another process, if the Scale could not be read."""
    stored_seconds_max: float = math.inf
    """How old the stored memory may become, although nothing has changed since."""
    action: Action = Action.NONE
    error: str | None = None
    error_class: ErrorClass = ErrorClass.NONE
    derivation: Derivation
