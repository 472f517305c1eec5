"""Which branch a reconcile takes, before any metric is requested (the first half of `reconcileAutoscaler`)."""

from scaler.algorithm.decision import Branch
from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import Autoscaler, ConditionStatus, ConditionType


def branch_of(current: int, policy: Policy, *, was_scaled_to_zero: bool) -> Branch:
    """Disabled at zero, above the maximum, below the minimum, or on to the metrics."""
    if current == 0 and not policy.upstream.marks_zero:
        return Branch.METRICS if policy.min_replicas == 0 else Branch.DISABLED
    if current == 0:
        if was_scaled_to_zero and (policy.min_ends_zero or _is_lost_at_zero(policy)):
            return Branch.BELOW_MIN
        leaves_zero = was_scaled_to_zero and (policy.min_replicas != 0 or policy.has_metric_at_zero)
        return Branch.METRICS if leaves_zero else Branch.DISABLED
    if current > policy.max_replicas:
        return Branch.ABOVE_MAX
    if current < policy.min_replicas:
        return Branch.BELOW_MIN
    return Branch.METRICS


def was_scaled_to_zero(autoscaler: Autoscaler, policy: Policy, memory: Memory) -> bool:
    """Whether the controller itself scaled to zero, according to the status or, before that is written, the memory."""
    if not policy.scale_to_zero or not policy.upstream.marks_zero:
        return False
    if memory.scaled_to_zero or policy.manual_zero_activates:
        return True
    status = autoscaler.status
    for condition in (status.conditions if status else ()) or ():
        if condition.type == ConditionType.SCALED_TO_ZERO:
            return condition.status == ConditionStatus.TRUE
    return False


def _is_lost_at_zero(policy: Policy) -> bool:
    """Whether only the minimum can end a zero of the controller, because metrics of pods cannot be read there."""
    return (
        policy.kind.leaves_zero_for_min
        and policy.min_replicas > 0
        and not policy.has_metric_at_zero
    )
