"""Which branch a reconcile takes, before any metric is requested (the first half of `reconcileAutoscaler`)."""

from scaler.model.autoscaler import Autoscaler, ConditionStatus, ConditionType
from scaler.model.decision import Branch
from scaler.model.policy import Policy


def branch_of(current: int, policy: Policy, *, was_scaled_to_zero: bool) -> Branch:
    """Disabled at zero, above the maximum, below the minimum, or on to the metrics."""
    if current == 0:
        leaves_zero = was_scaled_to_zero and (policy.min_replicas != 0 or policy.has_metric_at_zero)
        return Branch.METRICS if leaves_zero else Branch.DISABLED
    if current > policy.max_replicas:
        return Branch.ABOVE_MAX
    if current < policy.min_replicas:
        return Branch.BELOW_MIN
    return Branch.METRICS


def was_scaled_to_zero(autoscaler: Autoscaler, policy: Policy) -> bool:
    """Whether the controller itself scaled to zero, according to the status."""
    status = autoscaler.status
    if not policy.scale_to_zero or status is None:
        return False
    for condition in status.conditions or ():
        if condition.type == ConditionType.SCALED_TO_ZERO:
            return condition.status == ConditionStatus.TRUE
    return False
