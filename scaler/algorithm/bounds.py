"""The last step of normalization: rate, maximum and minimum (upstream's `convertDesiredReplicasWith{Rules,BehaviorRate}`)."""

from scaler.algorithm.derivation import Bound, Derivation, Rate
from scaler.algorithm.go_numbers import float_to_int32
from scaler.api.autoscaler import ScalingPolicySelect

SCALE_UP_LIMIT = "ScaleUpLimit"
SCALE_DOWN_LIMIT = "ScaleDownLimit"
TOO_MANY_REPLICAS = "TooManyReplicas"
TOO_FEW_REPLICAS = "TooFewReplicas"
DESIRED_WITHIN_RANGE = "DesiredWithinRange"

# Without `behavior`, the reconciles of one period may double the count, or reach four.
_SCALE_UP_LIMIT_FACTOR = 2.0
_SCALE_UP_LIMIT_MINIMUM = 4.0


def bound(
    desired: int,
    *,
    current: int,
    min_replicas: int,
    max_replicas: int,
    period_replicas: int | None = None,
) -> Bound:
    """Without `behavior`: the minimum takes precedence over everything, also over the rate.

    `period_replicas`: the count at the beginning of the period, for one more reconcile in the same period; None for the first one.
    """
    base = current if period_replicas is None else min(current, period_replicas)
    rate_limit = max(_SCALE_UP_LIMIT_FACTOR * float(base), _SCALE_UP_LIMIT_MINIMUM)
    limit = float_to_int32(rate_limit)
    if base < current:
        limit = max(limit, current)
    highest, reason = min(max_replicas, limit), TOO_MANY_REPLICAS
    if max_replicas > limit:
        reason = SCALE_UP_LIMIT
    after = desired
    if desired < min_replicas:
        after, reason = min_replicas, TOO_FEW_REPLICAS
    elif desired > highest:
        after = highest
    else:
        reason = DESIRED_WITHIN_RANGE
    return Bound(
        rate=Rate(direction="up", limit=limit),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        before=desired,
        after=after,
        reason=reason,
    )


def bound_with_behavior(
    desired: int, *, current: int, min_replicas: int, max_replicas: int, rate: Rate | None
) -> Bound:
    """With `behavior`: only the direction that is taken is limited. `rate` is None for neither."""
    after, reason = desired, DESIRED_WITHIN_RANGE
    if rate is not None and desired > current:
        highest = min(max_replicas, rate.limit)
        if desired > highest:
            after = highest
            reason = SCALE_UP_LIMIT if max_replicas > rate.limit else TOO_MANY_REPLICAS
    elif rate is not None and desired < current:
        lowest = max(min_replicas, rate.limit)
        if desired < lowest:
            after = lowest
            reason = SCALE_DOWN_LIMIT if min_replicas < rate.limit else TOO_FEW_REPLICAS
    return Bound(
        rate=rate,
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        before=desired,
        after=after,
        reason=reason,
    )


def is_limited_for_now(derivation: Derivation) -> bool:
    """Whether only a rate keeps replicas from being added that a later reconcile may add, with the same metrics.

    Not if the count does not change although the limit lets it: then something else holds it.
    """
    found, current = derivation.bound, derivation.current_replicas
    if found is None or found.reason != SCALE_UP_LIMIT or found.rate is None or current is None:
        return False
    if found.rate.select_policy == ScalingPolicySelect.DISABLED or derivation.is_dry_run:
        return False
    is_reached = found.rate.limit <= current
    return is_reached or (derivation.desired_replicas or 0) > current
