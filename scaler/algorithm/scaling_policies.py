"""How far the policies let one reconcile go (upstream's `calculateScale{Up,Down}Limit*`).

Percentages are binary floats, as upstream computes them: 10 pods and 10% up make 12, not 11.
"""

from collections.abc import Iterable
from itertools import accumulate

from scaler.algorithm.derivation import PolicyLimit, Rate
from scaler.algorithm.go_numbers import (
    INT32_MAX,
    INT32_MIN,
    ceil,
    float_to_int32,
    int32,
)
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.api.autoscaler import ScalingPolicy, ScalingPolicySelect, ScalingPolicyType
from scaler.api.history import ScaleEvent

UP = "up"
DOWN = "down"


def scale_up_rate(
    memory: Memory, *, current: int, rules: Rules, moment: Moment, at_least: int = 0
) -> Rate:
    """The highest count that the policies allow now, at least the current one and `at_least`."""
    if rules.select_policy == ScalingPolicySelect.DISABLED:
        return Rate(direction=UP, select_policy=rules.select_policy, limit=current)
    limits = _limits(memory, current=current, rules=rules, moment=moment, direction=UP)
    if rules.select_policy == ScalingPolicySelect.MIN:
        limit = min((each.limit for each in limits), default=INT32_MAX)
    else:
        limit = max((each.limit for each in limits), default=INT32_MIN)
    return Rate(
        direction=UP,
        select_policy=rules.select_policy,
        policies=limits,
        limit=max(limit, current, at_least),
    )


def scale_down_rate(memory: Memory, *, current: int, rules: Rules, moment: Moment) -> Rate:
    """The lowest count that the policies allow now, at most the current one."""
    if rules.select_policy == ScalingPolicySelect.DISABLED:
        return Rate(direction=DOWN, select_policy=rules.select_policy, limit=current)
    limits = _limits(memory, current=current, rules=rules, moment=moment, direction=DOWN)
    if rules.select_policy == ScalingPolicySelect.MIN:
        limit = max((each.limit for each in limits), default=INT32_MIN)
    else:
        limit = min((each.limit for each in limits), default=INT32_MAX)
    return Rate(
        direction=DOWN,
        select_policy=rules.select_policy,
        policies=limits,
        limit=min(limit, current),
    )


def next_addition_unix_seconds(
    memory: Memory, periods_seconds: Iterable[int], now_unix_seconds: float
) -> float:
    """The first moment at which a replica that was added leaves one of these periods, so that a policy may let more be added.

    Infinite if none was added in any of them.
    """
    moment = Moment(now_unix_seconds)
    added = sorted(each.happened_at_unix_seconds for each in memory.scale_up_events)
    for seconds in periods_seconds:
        moment.first_unreached(added, seconds)
    return moment.next_deadline_unix_seconds


def _limits(
    memory: Memory, *, current: int, rules: Rules, moment: Moment, direction: str
) -> tuple[PolicyLimit, ...]:
    ups = _Changes(memory.scale_up_events, uses_up=direction == UP)
    downs = _Changes(memory.scale_down_events, uses_up=direction == DOWN)
    limits: list[PolicyLimit] = []
    limit = 0  # a policy of an unknown type repeats the limit before it
    for policy in rules.policies:
        period = policy.period_seconds
        start = int32(current - ups.within(period, moment) + downs.within(period, moment))
        limit = _limit(policy, start, direction, limit)
        limits.append(
            PolicyLimit(
                type=policy.type,
                value=policy.value,
                period_seconds=policy.period_seconds,
                period_start_replicas=start,
                limit=limit,
            )
        )
    return tuple(limits)


def _limit(policy: ScalingPolicy, start: int, direction: str, before: int) -> int:
    """Up, a fraction counts as a whole pod, or a small target would never grow; down, it does not."""
    match policy.type, direction:
        case ScalingPolicyType.PODS, _:
            return int32(start + policy.value if direction == UP else start - policy.value)
        case ScalingPolicyType.PERCENT, _:
            if direction == UP:
                return float_to_int32(ceil(float(start) * (1 + float(policy.value) / 100)))
            return float_to_int32(float(start) * (1 - float(policy.value) / 100))
        case _:
            return before


class _Changes:
    """The changes of one direction by their times, with the sum of each and all later ones.

    So that many policies and many events cost their sum, not their product.
    `uses_up`: the changes count against the limit; otherwise they widen it, so uncertain ones are left out.
    """

    __slots__ = ("_sums", "_times")

    def __init__(self, events: Iterable[ScaleEvent], *, uses_up: bool) -> None:
        changes = sorted(
            (each.happened_at_unix_seconds, each.replica_change)
            for each in events
            if uses_up or not each.may_be_older
        )
        self._times = [at for at, _ in changes]
        self._sums = list(accumulate((change for _, change in reversed(changes)), initial=0))

    def within(self, period_seconds: int, moment: Moment) -> int:
        """All replicas changed in the period; an event marked outdated still counts here."""
        first = moment.first_unreached(self._times, period_seconds)
        return int32(self._sums[len(self._times) - first])
