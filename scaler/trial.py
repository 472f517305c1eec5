"""Pure: the last word on what is written.

Every way through a reconcile ends here, whether metrics, a bound or a failure decided. So what may still
change, hold back or only show a count applies to all of them, and it is the only place that says `rescale`.
"""

import msgspec

from scaler.model.autoscaler import Condition
from scaler.model.decision import Branch, Decision, ErrorClass, Event, Situation, warning
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory

BELOW_MIN = "Current number of replicas below Spec.MinReplicas"


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
        reason = reason or BELOW_MIN
    held = ""
    if situation.outdated and desired < current:
        held = f"not scaled down from {current} to {desired}: {situation.outdated}"
        desired, reason = current, ""
    if current > 0 and desired == 0 and situation.policy.can_scale_to_zero:
        # Remembered before it is written, since the answer to the write may get lost.
        memory = msgspec.structs.replace(memory, scaled_to_zero=True)
    return Decision(
        autoscaler=situation.autoscaler,
        branch=Branch(derivation.branch),
        policy=situation.policy,
        current_replicas=current,
        desired_replicas=desired,
        rescale=desired != current,
        rescale_reason=reason,
        conditions=conditions,
        memory=memory,
        derivation=msgspec.structs.replace(
            derivation,
            desired_replicas=desired,
            rescale_reason=reason,
            lifted_to_min=lifted,
            held=held,
        ),
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
    """Write nothing: there is no count to go by."""
    return Decision(
        autoscaler=situation.autoscaler,
        branch=Branch(derivation.branch),
        policy=situation.policy,
        current_replicas=situation.scale.spec_replicas,
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


def _leaves_zero_below_min(situation: Situation, desired: int) -> bool:
    """The controller scaled to zero, and the minimum was raised since."""
    return (
        situation.scale.spec_replicas == 0
        and situation.was_scaled_to_zero
        and desired < situation.policy.min_replicas
    )
