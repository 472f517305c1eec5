"""Which branch a reconcile takes, before any metric is requested (the first half of `reconcileAutoscaler`)."""

from scaler.algorithm.decision import Branch
from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import Autoscaler, ConditionStatus, ConditionType


def branch_of(current: int, policy: Policy, *, was_scaled_to_zero: bool) -> Branch:
    """Disabled at zero, above the maximum, below the minimum, or on to the metrics."""
    if current == 0:
        if was_scaled_to_zero and policy.schedule is not None and policy.schedule.sets_min:
            # The floor of a schedule applies whether metrics can be read or not.
            return Branch.BELOW_MIN
        if was_scaled_to_zero and policy.min_replicas > 0 and _needs_no_metric(policy):
            return Branch.BELOW_MIN
        leaves_zero = was_scaled_to_zero and (policy.min_replicas != 0 or policy.has_metric_at_zero)
        return Branch.METRICS if leaves_zero else Branch.DISABLED
    if current > policy.max_replicas:
        return Branch.ABOVE_MAX
    if current < policy.min_replicas:
        return Branch.BELOW_MIN
    return Branch.METRICS


def was_scaled_to_zero(autoscaler: Autoscaler, policy: Policy, memory: Memory) -> bool:
    """Whether the controller itself scaled to zero, according to the status or, before that is written, the memory.

    With `manualZero: Activate` every zero counts as the controller's.
    """
    if not policy.scale_to_zero:
        return False
    if memory.scaled_to_zero or (policy.zero is not None and policy.zero.manual_zero_activates):
        return True
    status = autoscaler.status
    for condition in (status.conditions if status else ()) or ():
        if condition.type == ConditionType.SCALED_TO_ZERO:
            return condition.status == ConditionStatus.TRUE
    return False


def _needs_no_metric(policy: Policy) -> bool:
    """Whether the minimum ends a zero of the controller: metrics of pods cannot be read then, and would never end it.

    The zero of a suspension also ends while metrics fail.
    """
    suspended = policy.suspension is not None
    return policy.kind.leaves_zero_for_min and (suspended or not policy.has_metric_at_zero)
