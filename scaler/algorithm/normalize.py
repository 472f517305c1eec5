"""A recommendation to a desired count: stabilize, then limit, then bound."""

import msgspec

from scaler.algorithm.bounds import bound, bound_with_behavior
from scaler.algorithm.derivation import Bound, Rate, Stabilization
from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import BehaviorRules, Policy
from scaler.algorithm.scaling_policies import scale_down_rate, scale_up_rate
from scaler.algorithm.stabilization import stabilize, stabilize_with_behavior
from scaler.extensions.forecast.floor import Floor, lifted


class Normalized(msgspec.Struct, frozen=True, kw_only=True):
    """The desired count is `bound.after`; both steps carry the reason of a condition."""

    stabilization: Stabilization
    bound: Bound
    memory: Memory

    @property
    def is_limited(self) -> bool:
        """Whether the last step changed the count; that is what ScalingLimited says."""
        return self.bound.before != self.bound.after


def normalize(
    memory: Memory,
    policy: Policy,
    *,
    current: int,
    recommended: int,
    floor: Floor | None = None,
    now_unix_seconds: float,
) -> Normalized:
    """What history, rates and bounds make of a recommendation, and what is remembered of it."""
    if policy.behavior is not None:
        return _with_behavior(
            memory,
            policy,
            policy.behavior,
            current=current,
            recommended=recommended,
            floor=floor,
            now=now_unix_seconds,
        )
    stabilization, memory = stabilize(
        memory,
        recommended=recommended,
        window_seconds=policy.downscale_stabilization_seconds,
        now_unix_seconds=now_unix_seconds,
    )
    bounded = bound(
        lifted(stabilization.stabilized, floor),
        current=current,
        min_replicas=policy.min_replicas,
        max_replicas=policy.max_replicas,
    )
    return Normalized(stabilization=stabilization, bound=bounded, memory=memory)


def _with_behavior(
    memory: Memory,
    policy: Policy,
    behavior: BehaviorRules,
    *,
    current: int,
    recommended: int,
    floor: Floor | None,
    now: float,
) -> Normalized:
    up, down = behavior.scale_up, behavior.scale_down
    stabilization, remembered = stabilize_with_behavior(
        memory, current=current, recommended=recommended, up=up, down=down, now_unix_seconds=now
    )
    stabilized = lifted(stabilization.stabilized, floor)
    rate: Rate | None = None
    if stabilized > current:
        rate = scale_up_rate(
            memory,
            current=current,
            rules=up,
            now_unix_seconds=now,
            at_least=int(policy.kind.leaves_zero_by_any_policy),
        )
    elif stabilized < current:
        rate = scale_down_rate(memory, current=current, rules=down, now_unix_seconds=now)
    bounded = bound_with_behavior(
        stabilized,
        current=current,
        min_replicas=policy.min_replicas,
        max_replicas=policy.max_replicas,
        rate=rate,
    )
    return Normalized(stabilization=stabilization, bound=bounded, memory=remembered)
