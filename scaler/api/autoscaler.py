"""The autoscaling/v2 HorizontalPodAutoscaler as JSON; a LoadAutoscaler has the same fields.

Field names, and what is omitted when empty, are those of `k8s.io/api/autoscaling/v2`. Closed sets stay
plain text here, so that a value from a newer API server fails one metric instead of the whole list;
compare with the enumerations. Quantities stay text (`str | int | float`, because the API server
does not rewrite them in a custom resource): `wire.api.quantity` reads them where they are used.
"""

from datetime import datetime
from enum import StrEnum

from scaler.api.candidate import CandidateStatus, CandidateStep
from scaler.api.decision_summary import DecisionSummary
from scaler.api.extension_spec import (
    Futility,
    MetricFallback,
    MetricUse,
    Mode,
    Panic,
    PodDeletionCost,
    PodReadiness,
    ScaleToZero,
    Suspend,
)
from scaler.api.forecast import ForecastSpec, ForecastStatus
from scaler.api.json_object import JsonObject
from scaler.api.schedules import ScheduleSpec, ScheduleStatus
from wire.api.meta import LabelSelector, ObjectMeta, always

QuantityText = str | int | float


class MetricSourceType(StrEnum):
    """Where a metric comes from."""

    OBJECT = "Object"
    PODS = "Pods"
    RESOURCE = "Resource"
    CONTAINER_RESOURCE = "ContainerResource"
    EXTERNAL = "External"
    FORMULA = "Formula"


class MetricTargetType(StrEnum):
    """Which field of a target counts; only Object metrics need it."""

    UTILIZATION = "Utilization"
    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"


class ScalingPolicyType(StrEnum):
    """The unit of a policy's value."""

    PODS = "Pods"
    PERCENT = "Percent"


class ScalingPolicySelect(StrEnum):
    """Which of several policies decides."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


class ConditionType(StrEnum):
    """The conditions of a status, in their usual order."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"
    DRY_RUN = "DryRun"
    SUSPENDED = "Suspended"
    SCHEDULED = "Scheduled"
    INVALID_FORMULA = "InvalidFormula"
    PODS_NOT_OWNED = "PodsNotOwned"
    ACTUAL_REQUESTS = "ActualRequests"
    ROLLOUT_HELD = "RolloutHeld"
    HOTTEST_REVISION = "HottestRevision"
    METRIC_FALLBACK_ACTIVE = "MetricFallbackActive"
    PANICKING = "Panicking"
    FUTILE_SCALE_UP = "FutileScaleUp"
    FORECAST_RELIABLE = "ForecastReliable"
    CANDIDATE_PROGRESSING = "CandidateProgressing"


class ConditionStatus(StrEnum):
    """The value of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class CrossVersionObjectReference(JsonObject, frozen=True, kw_only=True):
    """An object by kind and name; of `apiVersion` only the group counts."""

    kind: str
    name: str
    api_version: str = ""


class MetricIdentifier(JsonObject, frozen=True, kw_only=True):
    """A metric's name, and the labels its series must have."""

    name: str
    selector: LabelSelector | None = None


class MetricTarget(JsonObject, frozen=True, kw_only=True):
    """What a metric should be; exactly one of the three is set in a valid object."""

    type: str
    value: QuantityText | None = None
    average_value: QuantityText | None = None
    average_utilization: int | None = None


class ObjectMetricSource(JsonObject, frozen=True, kw_only=True):
    """A metric that describes one object of the namespace."""

    described_object: CrossVersionObjectReference
    target: MetricTarget
    metric: MetricIdentifier


class PodsMetricSource(JsonObject, frozen=True, kw_only=True):
    """A metric of every pod of the target."""

    metric: MetricIdentifier
    target: MetricTarget


class ResourceMetricSource(JsonObject, frozen=True, kw_only=True):
    """A resource (cpu, memory ...) of every pod, all containers together."""

    name: str
    target: MetricTarget


class ContainerResourceMetricSource(JsonObject, frozen=True, kw_only=True):
    """A resource (cpu, memory ...) of one container of every pod."""

    name: str
    target: MetricTarget
    container: str


class ExternalMetricSource(JsonObject, frozen=True, kw_only=True):
    """A metric that does not belong to an object of the cluster."""

    metric: MetricIdentifier
    target: MetricTarget


class FormulaMetricSource(JsonObject, frozen=True, kw_only=True):
    """A value that is computed from other metrics of the spec. Only a LoadAutoscaler has it."""

    expression: str
    target: MetricTarget


class MetricSpec(JsonObject, frozen=True, kw_only=True):
    """One metric to scale on: `type` names the one source that is set."""

    type: str
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    formula: FormulaMetricSource | None = None
    name: str = ""
    use: str = ""
    activation_value: QuantityText | None = None
    fallback: MetricFallback | None = None

    @property
    def is_input(self) -> bool:
        """Whether it is only measured for other metrics and rules, and does not propose replicas itself."""
        return self.use == MetricUse.INPUT

    @property
    def is_computed(self) -> bool:
        """Whether it is computed from other metrics of the spec, so that nothing is read for it."""
        return self.formula is not None

    @property
    def of_target(self) -> ExternalMetricSource | ObjectMetricSource | FormulaMetricSource | None:
        """The source, if it has one value for the whole target; None for one with a value for each pod."""
        return self.external or self.object or self.formula


class ScalingPolicy(JsonObject, frozen=True, kw_only=True):
    """The most change within a period."""

    type: str
    value: int
    period_seconds: int


class ScalingRules(JsonObject, frozen=True, kw_only=True):
    """How fast the count may change in one direction."""

    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: tuple[ScalingPolicy, ...] | None = None
    tolerance: QuantityText | None = None


class ScaleUpRules(ScalingRules, frozen=True, kw_only=True):
    """The rules for scaling up, and what only a LoadAutoscaler has."""

    panic: Panic | None = None
    futility: Futility | None = None


class ScaleDownRules(ScalingRules, frozen=True, kw_only=True):
    """The rules for scaling down, and what only a LoadAutoscaler has."""

    pod_deletion_cost: PodDeletionCost | None = None


class Behavior(JsonObject, frozen=True, kw_only=True):
    """The rules of both directions."""

    scale_up: ScaleUpRules | None = None
    scale_down: ScaleDownRules | None = None


class AbortCondition(JsonObject, frozen=True, kw_only=True):
    """An external metric that ends a candidate once it has been above (or below) a value for some time."""

    metric: MetricIdentifier
    above: QuantityText | None = None
    below: QuantityText | None = None
    for_seconds: int | None = None


class CandidateSpec(JsonObject, frozen=True, kw_only=True):
    """Other metrics or another behavior, which replace those of the spec step by step."""

    metrics: tuple[MetricSpec, ...] | None = None
    behavior: Behavior | None = None
    mode: str = ""
    steps: tuple[CandidateStep, ...] | None = None
    abort_when: tuple[AbortCondition, ...] | None = None


class AutoscalerSpec(JsonObject, frozen=True, kw_only=True):
    """What the user wants. The fields after `behavior` are those of `scaler.api.extension_spec`."""

    scale_target_ref: CrossVersionObjectReference
    min_replicas: int | None = None
    max_replicas: int
    metrics: tuple[MetricSpec, ...] | None = None
    behavior: Behavior | None = None
    sync_period_seconds: int | None = None
    mode: str = ""
    suspend: Suspend | None = None
    pod_selection: str = ""
    pod_readiness: PodReadiness | None = None
    scale_to_zero: ScaleToZero | None = None
    schedules: tuple[ScheduleSpec, ...] | None = None
    forecast: ForecastSpec | None = None
    candidate: CandidateSpec | None = None


class MetricValueStatus(JsonObject, frozen=True, kw_only=True):
    """The measured value, in the form the target has."""

    value: QuantityText | None = None
    average_value: QuantityText | None = None
    average_utilization: int | None = None


class ObjectMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of an Object metric."""

    metric: MetricIdentifier
    current: MetricValueStatus
    described_object: CrossVersionObjectReference


class PodsMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of a Pods metric."""

    metric: MetricIdentifier
    current: MetricValueStatus


class ResourceMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of a Resource metric."""

    name: str
    current: MetricValueStatus


class ContainerResourceMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of a ContainerResource metric."""

    name: str
    current: MetricValueStatus
    container: str


class ExternalMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of an External metric."""

    metric: MetricIdentifier
    current: MetricValueStatus


class FormulaMetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of a Formula metric."""

    current: MetricValueStatus


class MetricStatus(JsonObject, frozen=True, kw_only=True):
    """The last value of one metric; a metric that failed leaves only an empty `type`."""

    type: str
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    formula: FormulaMetricStatus | None = None
    name: str = ""

    @property
    def of_target(self) -> ExternalMetricStatus | ObjectMetricStatus | FormulaMetricStatus | None:
        """As of `MetricSpec`."""
        return self.external or self.object or self.formula


class Condition(JsonObject, frozen=True, kw_only=True):
    """One condition; the time moves only when `status` does. Since 1.37 it may have a generation, which the controller keeps."""

    type: str
    status: str
    observed_generation: int | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class AutoscalerStatus(JsonObject, frozen=True, kw_only=True):
    """What the controller last read and did. Only a LoadAutoscaler has `decision` and what follows it."""

    observed_generation: int | None = None
    last_scale_time: datetime | None = None
    current_replicas: int = 0
    desired_replicas: int = always(0)
    current_metrics: tuple[MetricStatus, ...] | None = always(())
    conditions: tuple[Condition, ...] | None = None
    decision: DecisionSummary | None = None
    schedule: ScheduleStatus | None = None
    forecast: ForecastStatus | None = None
    candidate: CandidateStatus | None = None
    extensions: dict[str, str] | None = None
    """What extensions say that have no field of their own, by their names."""


class Autoscaler(JsonObject, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler or a LoadAutoscaler: the same fields, the same meaning."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: AutoscalerSpec
    status: AutoscalerStatus | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, as in messages."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_dry_run(self) -> bool:
        """Whether its decisions are only reported."""
        return self.spec.mode == Mode.DRY_RUN


_CPU_TARGET = MetricTarget(type=MetricTargetType.UTILIZATION, average_utilization=80)
_CPU = ResourceMetricSource(name="cpu", target=_CPU_TARGET)
# The API server puts this in for an empty list; an empty list itself would scale to the minimum.
DEFAULT_METRICS = (MetricSpec(type=MetricSourceType.RESOURCE, resource=_CPU),)


def metrics_of(spec: AutoscalerSpec) -> tuple[MetricSpec, ...]:
    """The metrics to evaluate, in order."""
    return spec.metrics or DEFAULT_METRICS
