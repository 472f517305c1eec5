"""Pure: the last word on what is written.

Every way through a reconcile ends here, whether metrics, a bound or a failure decided. So what may still
change, hold back or only show a count applies to all of them, and it is the only place that says `rescale`.
"""

import msgspec

from scaler.algorithm.decision import Branch, Decision, ErrorClass, Event, Situation, warning
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import Condition
from scaler.extensions.suspension import DRY_RUN, suspend

BELOW_MIN = "Current number of replicas below Spec.MinReplicas"
OUTDATED_CACHE = "OutdatedCache"
INVALID_SCHEDULE = "InvalidSchedule"


def below_min(policy: Policy) -> str:
    """The reason of a rescale to the minimum, which may be that of a schedule."""
    if policy.schedule is None or not policy.schedule.sets_min:
        return BELOW_MIN
    return f"Current number of replicas below minReplicas {policy.min_replicas} of a schedule"


def trial(
    situation: Situation,
    derivation: Derivation,
    *,
    desired: int,
    reason: str = "",
    memory: Memory,
    conditions: tuple[Condition, ...],
) -> Decision:
    """Write `desired`, if it differs from the current count; from zero at least the minimum."""
    current = situation.scale.spec_replicas
    lifted = _leaves_zero_below_min(situation, desired)
    if lifted:
        desired = situation.policy.min_replicas
        reason = reason or below_min(situation.policy)
    held = ""
    if desired < current and (unsafe := situation.outdated or _unknown_floor(situation.policy)):
        held = f"not scaled down from {current} to {desired}: {unsafe}"
        desired, reason = current, ""
    derivation = msgspec.structs.replace(derivation, lifted_to_min=lifted, held=held)
    if held:
        held_by = OUTDATED_CACHE if situation.outdated else INVALID_SCHEDULE
        derivation = msgspec.structs.replace(derivation, held_by=held_by)
    return _decided(situation, derivation, desired, reason, memory, conditions)


def _decided(
    situation: Situation,
    derivation: Derivation,
    desired: int,
    reason: str,
    memory: Memory,
    conditions: tuple[Condition, ...],
) -> Decision:
    """What `spec.suspend` and `spec.mode` leave of a decision."""
    policy, current = situation.policy, situation.scale.spec_replicas
    if policy.suspension is not None or policy.is_dry_run:
        desired, reason, derivation = _restrained(policy, derivation, current, desired, reason)
    rescale = desired != current and not policy.is_dry_run
    sets_zero = current > 0 and desired == 0 and rescale
    if sets_zero and (policy.can_scale_to_zero or _holds_at_zero(policy, derivation)):
        # Remembered before it is written, since the answer to the write may get lost.
        memory = msgspec.structs.replace(memory, scaled_to_zero=True)
    return Decision(
        autoscaler=situation.autoscaler,
        branch=Branch(derivation.branch),
        policy=policy,
        current_replicas=current,
        desired_replicas=desired,
        rescale=rescale,
        rescale_reason=reason,
        conditions=conditions,
        memory=memory,
        derivation=msgspec.structs.replace(
            derivation, desired_replicas=desired, rescale_reason=reason
        ),
    )


def _restrained(
    policy: Policy, derivation: Derivation, current: int, desired: int, reason: str
) -> tuple[int, str, Derivation]:
    remarks = derivation.remarks
    if policy.suspension is not None:
        now = derivation.made_at_unix_seconds
        suspended = suspend(policy.suspension, current=current, desired=desired, now=now)
        remarks = (*remarks, suspended.remark)
        if suspended.replicas != desired:
            desired, reason = suspended.replicas, suspended.reason
    if policy.is_dry_run:
        remarks = (*remarks, DRY_RUN)
    derivation = msgspec.structs.replace(derivation, remarks=remarks, is_dry_run=policy.is_dry_run)
    return desired, reason, derivation


def _holds_at_zero(policy: Policy, derivation: Derivation) -> bool:
    """Whether the zero is `spec.suspend`'s, which is left again when the suspension ends."""
    suspension = policy.suspension
    return (
        policy.scale_to_zero
        and suspension is not None
        and suspension.replicas == 0
        and suspension.is_active(derivation.made_at_unix_seconds)
    )


def undecided(
    situation: Situation,
    derivation: Derivation,
    *,
    error: str,
    error_class: ErrorClass = ErrorClass.INTERNAL,
    memory: Memory,
    conditions: tuple[Condition, ...],
    events: tuple[Event, ...] = (),
    events_after_status: tuple[Event, ...] = (),
) -> Decision:
    """Write nothing, because there is no count to go by; or the replicas of `spec.suspend`, which need none."""
    policy, current = situation.policy, situation.scale.spec_replicas
    branch = Branch(derivation.branch)
    if policy.suspension is not None or policy.is_dry_run:
        desired, _, restrained = _restrained(policy, derivation, current, current, "")
        if desired != current and branch is Branch.METRICS:
            decision = _decided(situation, derivation, current, "", memory, conditions)
            return msgspec.structs.replace(
                decision,
                events=events,
                events_after_status=events_after_status,
                error=error,
                error_class=error_class,
            )
        derivation = restrained
    return Decision(
        autoscaler=situation.autoscaler,
        branch=branch,
        policy=policy,
        current_replicas=current,
        conditions=conditions,
        events=events,
        events_after_status=events_after_status,
        memory=memory,
        error=error,
        error_class=error_class,
        derivation=derivation,
    )


def uncomputable(
    situation: Situation,
    derivation: Derivation,
    *,
    error: str,
    memory: Memory,
    conditions: tuple[Condition, ...],
    events: tuple[Event, ...],
) -> Decision:
    """Write nothing: the metrics do not result in a count; upstream says so once more after the status."""
    reference = situation.autoscaler.spec.scale_target_ref
    target = f"{reference.kind}/{situation.autoscaler.metadata.namespace}/{reference.name}"
    return undecided(
        situation,
        derivation,
        error="failed to compute desired number of replicas based on listed metrics "
        f"for {target}: {error}",
        memory=memory,
        conditions=conditions,
        events=events,
        events_after_status=(warning("FailedComputeMetricsReplicas", error),),
    )


def _unknown_floor(policy: Policy) -> str:
    return "" if policy.schedule is None else policy.schedule.problem


def _leaves_zero_below_min(situation: Situation, desired: int) -> bool:
    """The controller scaled to zero, and the minimum was raised since."""
    return (
        situation.scale.spec_replicas == 0
        and situation.was_scaled_to_zero
        and desired < situation.policy.min_replicas
    )
