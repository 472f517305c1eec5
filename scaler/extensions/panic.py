"""A sudden load: scale up without limits, and do not scale down (`behavior.scaleUp.panic`).

Upstream: the panic mode of Knative Serving (pkg/autoscaler/scaling/autoscaler.go, `Scale`). Its panic window is a
short average of the same metric; here it is that of the recommendations, so one reconcile is enough where the
window is shorter than the period.
"""

import math

import msgspec

from scaler.algorithm.bounds import DESIRED_WITHIN_RANGE, TOO_MANY_REPLICAS
from scaler.algorithm.derivation import Bound
from scaler.algorithm.memory import NOTHING_REMEMBERED, Memory, PanicMemory, PanicSample
from scaler.algorithm.normalize import Normalized
from scaler.algorithm.policy import PanicRules, Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType


class Panic(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is None while there is no panic. `samples` are the recommendations of the window."""

    state: PanicMemory | None
    samples: tuple[PanicSample, ...]


def panic(
    rules: PanicRules,
    memory: Memory,
    *,
    recommended: int,
    ready_pods: int,
    now_unix_seconds: float,
) -> Panic:
    """Begin, continue or end it."""
    samples = (
        *_within(memory.panic_samples, now_unix_seconds - rules.window_seconds),
        PanicSample(replicas=recommended, made_at_unix_seconds=now_unix_seconds),
    )
    recent = math.ceil(sum(each.replicas for each in samples) / len(samples))
    before = (memory.extensions or NOTHING_REMEMBERED).panic
    state = panic_state(
        before,
        rules,
        stable=recommended,
        recent=recent,
        ready_pods=ready_pods,
        now_unix_seconds=now_unix_seconds,
    )
    return Panic(state=state, samples=samples)


def panic_state(
    before: PanicMemory | None,
    rules: PanicRules,
    *,
    stable: int,
    recent: int,
    ready_pods: int,
    now_unix_seconds: float,
) -> PanicMemory | None:
    """Knative's rule. `stable` and `recent` are the pods that the long and the short average need."""
    is_over = recent / max(1, ready_pods) >= rules.threshold_ratio
    if not is_over and (
        before is None or before.over_at_unix_seconds + rules.hold_seconds < now_unix_seconds
    ):
        return None
    return PanicMemory(
        over_at_unix_seconds=now_unix_seconds
        if is_over or before is None
        else before.over_at_unix_seconds,
        highest=max(stable, recent, 0 if before is None else before.highest),
    )


def in_panic(
    normalized: Normalized, state: PanicMemory, policy: Policy, current: int
) -> Normalized:
    """The highest count of this panic, at least the current one: no window and no policy limits it."""
    wanted = max(state.highest, current)
    after = max(min(wanted, policy.max_replicas), policy.min_replicas)
    bound = Bound(
        min_replicas=policy.min_replicas,
        max_replicas=policy.max_replicas,
        before=wanted,
        after=after,
        reason=TOO_MANY_REPLICAS if after < wanted else DESIRED_WITHIN_RANGE,
    )
    return msgspec.structs.replace(normalized, bound=bound)


def panic_remark(rules: PanicRules, found: Panic, *, limited: int, desired: int) -> Remark:
    """`limited` is the count that windows and policies would have left."""
    percent = f"{rules.threshold_ratio * 100:g} % of the ready pods"
    if found.state is None:
        return Remark(
            condition=ConditionType.PANICKING,
            active=False,
            reason="NotPanicking",
            message=f"the metrics propose less than {percent}",
        )
    return Remark(
        condition=ConditionType.PANICKING,
        active=True,
        reason="Panicking",
        message=f"the metrics propose at least {percent}, or did within the last "
        f"{rules.hold_seconds:g} s: scaling up without limits, and not down",
        detail="" if limited == desired else f"Without that it would have {limited}.",
        holds=limited != desired,
    )


def _within(samples: tuple[PanicSample, ...], after: float) -> tuple[PanicSample, ...]:
    return tuple(each for each in samples if each.made_at_unix_seconds > after)
