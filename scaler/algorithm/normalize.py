"""A recommendation to a desired count: stabilize, then limit, then bound."""

from scaler.algorithm.bounds import bound, bound_with_behavior
from scaler.algorithm.derivation import Bound, Rate, Stabilization
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.scaling_policies import scale_down_rate, scale_up_rate
from scaler.algorithm.stabilization import stabilize, stabilize_with_behavior


def stabilized(
    memory: Memory, policy: Policy, moment: Moment, *, current: int, recommended: int
) -> tuple[Stabilization, Memory]:
    """What recent recommendations allow, and the memory with this one."""
    behavior = policy.behavior
    if behavior is None:
        return stabilize(
            memory,
            recommended=recommended,
            window_seconds=policy.downscale_stabilization_seconds,
            moment=moment,
        )
    return stabilize_with_behavior(
        memory,
        current=current,
        recommended=recommended,
        up=behavior.scale_up,
        down=behavior.scale_down,
        moment=moment,
    )


def bounded(
    memory: Memory,
    policy: Policy,
    moment: Moment,
    *,
    current: int,
    desired: int,
    period_replicas: int | None = None,
) -> Bound:
    """What rates and bounds allow. `period_replicas`: as in `bound`."""
    behavior = policy.behavior
    low, high = policy.min_replicas, policy.max_replicas
    if behavior is None:
        return bound(
            desired,
            current=current,
            min_replicas=low,
            max_replicas=high,
            period_replicas=period_replicas,
        )
    rate: Rate | None = None
    if desired > current:
        rate = scale_up_rate(
            memory,
            current=current,
            rules=behavior.scale_up,
            moment=moment,
            at_least=int(policy.kind.leaves_zero_by_any_policy),
        )
    elif desired < current:
        rate = scale_down_rate(memory, current=current, rules=behavior.scale_down, moment=moment)
    return bound_with_behavior(
        desired, current=current, min_replicas=low, max_replicas=high, rate=rate
    )
