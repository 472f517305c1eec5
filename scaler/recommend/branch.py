"""Which way a look goes, before any metric is asked (the first half of `reconcileAutoscaler`)."""

from scaler.model.autoscaler import (
    AutoscalerSpec,
    ConditionStatus,
    ConditionType,
    MetricSourceType,
)
from scaler.model.decision import Branch
from scaler.model.observed import Observed, ScaleView
from scaler.model.settings import Settings

_FROM_OUTSIDE = (MetricSourceType.OBJECT, MetricSourceType.EXTERNAL)


def min_replicas(spec: AutoscalerSpec) -> int:
    """The lower bound; 1 when not given."""
    return 1 if spec.min_replicas is None else spec.min_replicas


def wants_metrics(observed: Observed, settings: Settings) -> bool:
    """Whether pods and metrics have to be read at all."""
    return branch_of(observed, settings) is Branch.METRICS


def branch_of(observed: Observed, settings: Settings) -> Branch:
    """Disabled at zero, above the maximum, below the minimum, or on to the metrics."""
    if not isinstance(observed.scale, ScaleView):
        return Branch.NO_SCALE
    spec, current = observed.autoscaler.spec, observed.scale.spec_replicas
    if current == 0:
        return Branch.METRICS if _may_leave_zero(observed, settings) else Branch.DISABLED
    if current > spec.max_replicas:
        return Branch.ABOVE_MAX
    if current < min_replicas(spec):
        return Branch.BELOW_MIN
    return Branch.METRICS


def was_scaled_to_zero(observed: Observed, settings: Settings) -> bool:
    """Whether it was us who scaled to zero: the one thing that only the status remembers."""
    status = observed.autoscaler.status
    if not settings.scale_to_zero or status is None:
        return False
    for condition in status.conditions or ():
        if condition.type == ConditionType.SCALED_TO_ZERO:
            return condition.status == ConditionStatus.TRUE
    return False


def has_metric_from_outside(spec: AutoscalerSpec) -> bool:
    """Whether a metric exists that still has a value when there are no pods."""
    return any(metric.type in _FROM_OUTSIDE for metric in spec.metrics or ())


def _may_leave_zero(observed: Observed, settings: Settings) -> bool:
    if not was_scaled_to_zero(observed, settings):
        return False
    spec = observed.autoscaler.spec
    return min_replicas(spec) != 0 or has_metric_from_outside(spec)
