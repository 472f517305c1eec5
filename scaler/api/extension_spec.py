"""The fields of a LoadAutoscaler's spec that a HorizontalPodAutoscaler does not have.

All are optional. Without them, an autoscaler decides as an HPA. Closed sets stay plain text, as in
`scaler.api.autoscaler`, and so do times: one value that this version cannot read must not fail a whole LIST.
"""

from enum import StrEnum

from scaler.api.json_object import JsonObject


class Mode(StrEnum):
    """Whether a decision is carried out."""

    ENFORCE = "Enforce"
    DRY_RUN = "DryRun"


class SuspendDirection(StrEnum):
    """Which changes are suspended."""

    BOTH = "Both"
    UP = "Up"
    DOWN = "Down"


class RolloutPolicy(StrEnum):
    """What the pods of a rollout in progress count for."""

    COUNT = "Count"
    IGNORE_SURGE = "IgnoreSurge"
    HOLD_UP = "HoldUp"
    HOTTEST_REVISION = "HottestRevision"


class RequestsPolicy(StrEnum):
    """Which requests a utilization is a percentage of."""

    DESIRED = "Desired"
    ACTUAL = "Actual"


class PodSelectionPolicy(StrEnum):
    """Which pods belong to the target."""

    LABELS = "Labels"
    OWNED = "Owned"


class ManualZero(StrEnum):
    """What a replica count of zero means that the scaler did not set."""

    DISABLE = "Disable"
    ACTIVATE = "Activate"


class MetricUse(StrEnum):
    """What a metric is measured for."""

    SCALE = "Scale"
    INPUT = "Input"


class FallbackType(StrEnum):
    """What a metric proposes after it has failed for some time."""

    FAIL = "Fail"
    HOLD = "Hold"
    REPLICAS = "Replicas"
    LAST_VALUE = "LastValue"


class Suspend(JsonObject, frozen=True, kw_only=True):
    """Stops scaling in one direction or, by default, in both. `until` is an RFC 3339 time, absent for no end."""

    direction: str = ""
    until: str | None = None
    replicas: int | None = None


class ScaleToZero(JsonObject, frozen=True, kw_only=True):
    """When a target without load goes to zero, and what a zero that a user set means."""

    cooldown_seconds: int | None = None
    manual_zero: str = ""


class MetricFallback(JsonObject, frozen=True, kw_only=True):
    """What a metric proposes once it has failed for `failure_duration_seconds`."""

    type: str = ""
    failure_duration_seconds: int | None = None
    replicas: int | None = None
    last_value_max_age_seconds: int | None = None


class Panic(JsonObject, frozen=True, kw_only=True):
    """How a sudden load is recognized, and for how long it is then scaled up without limits."""

    threshold_percent: int | None = None
    window_seconds: int | None = None
    hold_seconds: int | None = None


class Futility(JsonObject, frozen=True, kw_only=True):
    """How many pods may be unready for how long until no more are added."""

    ready_timeout_seconds: int | None = None
    max_unready_replicas: int | None = None


class PodDeletionCost(JsonObject, frozen=True, kw_only=True):
    """The metric by which the least busy pods are deleted first, by its name in the spec."""

    metric: str


class PodReadiness(JsonObject, frozen=True, kw_only=True):
    """When the metrics of a young pod count, and as what those of a pod that is being replaced or resized.

    Unset seconds are the flags'.
    """

    cpu_initialization_period_seconds: int | None = None
    initial_readiness_delay_seconds: int | None = None
    rollout: str = ""
    requests: str = ""
