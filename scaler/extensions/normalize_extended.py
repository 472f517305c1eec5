"""`normalize`, and what the fields add to it that only a LoadAutoscaler has: zero, panic, futility.

Zero changes the recommendation and gives the result a floor. A panic replaces windows and policies. Futility comes
last: whatever asks for more pods, those that do not become ready help nothing.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.derivation import ZeroStep
from scaler.algorithm.memory import NOTHING_REMEMBERED, ExtensionMemory, Memory, MetricRecord
from scaler.algorithm.normalize import Normalized, normalize
from scaler.algorithm.observed import Pod
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.extensions.forecast.floor import Floor
from scaler.extensions.futility import futility
from scaler.extensions.panic import in_panic, panic, panic_remark
from scaler.extensions.scale_to_zero.activity_of_metrics import Activity
from scaler.extensions.scale_to_zero.zero import Zero, zero


class Extended(msgspec.Struct, frozen=True, kw_only=True):
    """The desired count, and how it was computed. `recommended` is what was normalized."""

    normalized: Normalized
    recommended: int
    desired: int
    memory: Memory
    zero: ZeroStep | None = None
    remarks: tuple[Remark, ...] = ()


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the target: its replicas, its pods, and whether its metrics are active."""

    current: int
    pods: Sequence[Pod]
    ready_pods: int
    activity: Activity


def normalize_extended(
    memory: Memory,
    policy: Policy,
    target: Target,
    *,
    recommended: int,
    records: tuple[MetricRecord, ...],
    floor: Floor | None = None,
    now_unix_seconds: float,
) -> Extended:
    """Without any of the fields, the same as `normalize`."""
    now, current = now_unix_seconds, target.current
    near_zero = _zero(memory, policy, target, recommended, now)
    if near_zero is not None:
        recommended = near_zero.recommended
    normalized = normalize(
        memory,
        policy,
        current=current,
        recommended=recommended,
        floor=floor,
        now_unix_seconds=now,
    )
    if near_zero is None and policy.panic is None and policy.futility is None and not records:
        return Extended(
            normalized=normalized,
            recommended=recommended,
            desired=normalized.bound.after,
            memory=with_extensions(normalized.memory, NOTHING_REMEMBERED),
        )
    at_least = 0 if near_zero is None else near_zero.floor
    found = Extended(
        normalized=normalized,
        recommended=recommended,
        desired=max(normalized.bound.after, at_least),
        memory=normalized.memory,
        zero=None if near_zero is None else near_zero.step,
    )
    extensions = ExtensionMemory(
        inactive_since_unix_seconds=None
        if near_zero is None
        else near_zero.inactive_since_unix_seconds,
        metrics=records,
    )
    if policy.panic is not None and policy.may_scale_up:
        found, extensions = _with_panic(found, extensions, memory, policy, target, now)
    if policy.futility is not None:
        found = _with_futility(found, policy, target, now)
    return msgspec.structs.replace(found, memory=with_extensions(found.memory, extensions))


def with_extensions(memory: Memory, extensions: ExtensionMemory) -> Memory:
    """Remember what the next reconcile needs for the fields that only a LoadAutoscaler has."""
    if extensions is NOTHING_REMEMBERED and memory.extensions is None:
        return memory
    found = None if extensions == NOTHING_REMEMBERED else extensions
    if found == memory.extensions:
        return memory
    return msgspec.structs.replace(memory, extensions=found)


def _zero(
    memory: Memory, policy: Policy, target: Target, recommended: int, now: float
) -> Zero | None:
    if policy.zero is None:
        return None
    return zero(
        policy.zero,
        memory,
        target.activity,
        current=target.current,
        recommended=recommended,
        may_leave_zero=policy.may_scale_up,
        now_unix_seconds=now,
    )


def _with_panic(
    found: Extended,
    extensions: ExtensionMemory,
    memory: Memory,
    policy: Policy,
    target: Target,
    now: float,
) -> tuple[Extended, ExtensionMemory]:
    rules = policy.panic
    if rules is None:
        return found, extensions
    result = panic(
        rules,
        memory,
        recommended=found.recommended,
        ready_pods=target.ready_pods,
        now_unix_seconds=now,
    )
    limited = desired = found.desired
    normalized = found.normalized
    if result.state is not None:
        normalized = in_panic(normalized, result.state, policy, target.current)
        desired = max(normalized.bound.after, limited)
    found = msgspec.structs.replace(
        found,
        normalized=normalized,
        desired=desired,
        memory=msgspec.structs.replace(found.memory, panic_samples=result.samples),
        remarks=(*found.remarks, panic_remark(rules, result, limited=limited, desired=desired)),
    )
    return found, msgspec.structs.replace(extensions, panic=result.state)


def _with_futility(found: Extended, policy: Policy, target: Target, now: float) -> Extended:
    if policy.futility is None:
        return found
    result = futility(
        policy.futility,
        target.pods,
        current=target.current,
        desired=found.desired,
        now_unix_seconds=now,
    )
    return msgspec.structs.replace(
        found, desired=result.replicas, remarks=(*found.remarks, result.remark)
    )
