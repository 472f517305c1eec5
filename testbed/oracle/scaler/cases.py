"""A case to the oracle and its answer: JSON documents, one per line. The Go side has the same fields."""

from typing import Literal

import msgspec

from scaler.algorithm.observed import Pod
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus, MetricStatus
from wire.api.custom_metrics import MetricValueList
from wire.api.external_metrics import ExternalMetricValueList
from wire.api.resource_metrics import PodMetricsList

# Time in a bubble of Go's testing/synctest starts here: 2000-01-01T00:00:00Z.
START_UNIX_SECONDS = 946_684_800.0


class Json(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is left at its default is left out."""


class ScaleAnswer(Json, frozen=True, kw_only=True):
    """What a GET of the Scale says. `follow`: the spec is what the step before left behind."""

    error: str = ""
    spec: int = 0
    status: int = 0
    selector: str = ""
    follow: bool = False


class ResourceAnswer(Json, frozen=True, kw_only=True):
    """The answer of metrics.k8s.io for the target's pods."""

    error: str = ""
    list: PodMetricsList = PodMetricsList(items=[])


class CustomAnswer(Json, frozen=True, kw_only=True):
    """The answer of custom.metrics.k8s.io for one metric."""

    error: str = ""
    list: MetricValueList = MetricValueList(items=[])


class ExternalAnswer(Json, frozen=True, kw_only=True):
    """The answer of external.metrics.k8s.io for one metric."""

    error: str = ""
    list: ExternalMetricValueList = ExternalMetricValueList(items=[])


class MetricAnswers(Json, frozen=True, kw_only=True):
    """What every metrics API says; custom and external ones by the metric's name."""

    resource: ResourceAnswer = ResourceAnswer()
    custom: dict[str, CustomAnswer] = {}
    external: dict[str, ExternalAnswer] = {}


class Step(Json, frozen=True, kw_only=True):
    """One reconcile. `autoscaler.status` counts in the first step only; later it is what was written."""

    at_seconds: float
    autoscaler: Autoscaler
    scale: ScaleAnswer = ScaleAnswer()
    pods: tuple[Pod, ...] = ()
    others: dict[str, str] = {}
    metrics: MetricAnswers = MetricAnswers()
    update_error: str = ""
    mapping_error: str = ""
    """What discovery says to the kind of the target."""
    deleted: bool = False
    """The autoscaler is deleted before its reconcile stores its selector."""


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The controller's flags and gates; a case says each of them, so the defaults of a version do not count.

    `configurable_tolerance` cannot be off since Kubernetes 1.37.
    """

    tolerance: float = 0.1
    downscale_stabilization_seconds: float = 300.0
    cpu_initialization_period_seconds: float = 300.0
    initial_readiness_delay_seconds: float = 30.0
    scale_to_zero: bool = False
    configurable_tolerance: bool = True
    pod_level_resources: bool = True


class Entry(Json, frozen=True, kw_only=True):
    """A recommendation or a scale event, in seconds since the start of the bubble."""

    replicas: int
    at_seconds: float
    outdated: bool = False


class Remembered(Json, frozen=True, kw_only=True):
    """The memory of one autoscaler; no recommendations at all means never seen."""

    recommendations: tuple[Entry, ...] | None = None
    scale_up_events: tuple[Entry, ...] | None = None
    scale_down_events: tuple[Entry, ...] | None = None


class Normalization(Json, frozen=True, kw_only=True):
    """The count there is, and the one that the metrics ask for."""

    current: int = 0
    desired: int = 0


class Case(Json, frozen=True, kw_only=True):
    """`metrics`: every metric of one step on its own. `reconcile`: whole reconciles, one after the other.

    `normalize`: what history, policies and bounds of one step make of `normalize`.
    """

    mode: Literal["metrics", "reconcile", "normalize"]
    settings: Flags
    memory: Remembered = Remembered()
    steps: tuple[Step, ...]
    normalize: Normalization = Normalization()


class MetricAnswer(Json, frozen=True, kw_only=True):
    """The result of one metric; `log` holds its events."""

    proposal: int
    name: str
    status: MetricStatus
    error: str
    log: tuple[tuple[str, ...], ...]


class StepAnswer(Json, frozen=True, kw_only=True):
    """The result of one reconcile; `log` holds events, writes of the scale and of the status, in order.

    `counted` has the labels `action` and `error` of `reconciliations_total`.
    """

    log: tuple[tuple[str, ...], ...]
    status: AutoscalerStatus
    error: str
    memory: Remembered
    counted: tuple[str, ...] = ()


class Vector(Json, frozen=True, kw_only=True):
    """A case, and the real answer to it: one of the two lists, by the case's mode."""

    case: Case = msgspec.field(name="question")  # the key in the recorded vectors
    metrics: tuple[MetricAnswer, ...] = ()
    steps: tuple[StepAnswer, ...] = ()
