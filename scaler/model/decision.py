"""What was decided, what is to be written, and the whole way there.

The shell's protocol: `decide(observed, readings, memory, settings, now) -> Decision`; when
`decision.rescale`, write the Scale; then `settle(decision, actuation, now) -> Outcome`.
"""

from enum import StrEnum

import msgspec

from scaler.model.autoscaler import Autoscaler, AutoscalerStatus, Condition, MetricStatus
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.settings import Settings


class Branch(StrEnum):
    """Which way a look goes, decided from the scale alone (and the ScaledToZero condition)."""

    NO_SCALE = "NoScale"
    DISABLED = "Disabled"
    ABOVE_MAX = "AboveMax"
    BELOW_MIN = "BelowMin"
    METRICS = "Metrics"


class EventType(StrEnum):
    """Kubernetes' two kinds of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event on the autoscaler object, in upstream's words."""

    type: EventType
    reason: str
    message: str


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


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about one autoscaler. Nothing has happened yet.

    `desired_replicas is None` means that nothing could be decided (no scale, no usable metric):
    the replicas stay, and the status keeps its old `desiredReplicas`. `conditions` is the whole
    list as it stands so far. `events` were already due before the scale is written,
    `events_after_status` come after the status is. `error` is the reconcile's own error, for the log.
    """

    autoscaler: Autoscaler
    branch: Branch
    current_replicas: int = 0
    desired_replicas: int | None = None
    rescale: bool = False
    rescale_reason: str = ""
    conditions: tuple[Condition, ...] = ()
    current_metrics: tuple[MetricStatus, ...] = ()
    events: tuple[Event, ...] = ()
    events_after_status: tuple[Event, ...] = ()
    memory: Memory = Memory()
    settings: Settings = Settings()
    error: str = ""
    error_class: ErrorClass = ErrorClass.NONE
    derivation: Derivation


class Rescaled(msgspec.Struct, frozen=True):
    """The Scale was written."""


class RescaleFailed(msgspec.Struct, frozen=True):
    """The Scale could not be written, retries on conflict included; `message` is the bare error."""

    message: str


class NotAsked(msgspec.Struct, frozen=True):
    """The decision asked for no rescale, so nothing was written."""


Actuation = Rescaled | RescaleFailed | NotAsked


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be reported and remembered, in this order.

    `events`, then the status when `status_changed`, then `events_after_status`. `action`,
    `error` and `error_class` are for the log and the metrics.
    """

    status: AutoscalerStatus
    status_changed: bool
    events: tuple[Event, ...] = ()
    events_after_status: tuple[Event, ...] = ()
    memory: Memory
    action: Action = Action.NONE
    error: str = ""
    error_class: ErrorClass = ErrorClass.NONE
    derivation: Derivation
