"""Pure: what is to be reported and remembered after the scale was written, or was not.

The second half of upstream's `reconcileAutoscaler`, from the outcome of the write to the status.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from scaler.algorithm.conditions import Conditions
from scaler.algorithm.decision import (
    Action,
    Actuation,
    Branch,
    Decision,
    ErrorClass,
    Event,
    EventType,
    Outcome,
    RescaleFailed,
    warning,
)
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.extension import Extension
from scaler.algorithm.history import changed_with_states
from scaler.algorithm.memory import AnyMemory, Change, Memory
from scaler.algorithm.metric_changes import moved_little
from scaler.algorithm.observed import ScaleView
from scaler.algorithm.restart import stored_again_seconds
from scaler.algorithm.why import summarize
from scaler.api.autoscaler import (
    AutoscalerStatus,
    Condition,
)
from wire.api.meta import time_from_unix


def settle(decision: Decision, actuation: Actuation, now_unix_seconds: float) -> Outcome:
    """The status, the events in their order, and the memory. `actuation` counts only for a rescale."""
    if decision.branch is Branch.NO_SCALE:
        # Nothing is known about the target, so everything but the conditions keeps its old value.
        old = _status_before(decision)
        status = msgspec.structs.replace(old, conditions=decision.conditions)
        if decision.policy.kind.has_observed_generation:
            generation = decision.autoscaler.metadata.generation
            status = msgspec.structs.replace(status, observed_generation=generation)
        return _outcome(decision, status)
    if decision.desired_replicas is None:
        return _outcome(decision, _status(decision))
    if not decision.rescale:
        return _kept(decision, decision.desired_replicas, now_unix_seconds)
    if isinstance(actuation, RescaleFailed):
        return _failed(decision, decision.desired_replicas, actuation, now_unix_seconds)
    return _rescaled(decision, decision.desired_replicas, now_unix_seconds)


def memory_after_refusal(
    memory: AnyMemory, refused: Decision, newest: ScaleView | None, now_unix_seconds: float
) -> AnyMemory:
    """The memory with which to decide again, after a write on the basis of a copy was refused.

    A client sends a write again if the response was lost; then the second one conflicts with the first one.
    `newest`: None if the target could not be read.
    """
    desired = refused.desired_replicas
    if desired is None or (newest is not None and newest.spec_replicas != desired):
        return memory
    # What another process stored cannot tell of this write, but what the refused decision made of it can.
    before = memory if isinstance(memory, Memory) else refused.memory
    return _with_unconfirmed(before, refused, desired, now_unix_seconds)


def replicas_after(outcome: Outcome) -> int | None:
    """What the target has after the reconcile; None if it could not be read.

    If the write got no response, it is what the target had before: a process that finds another count knows of the change.
    """
    memory = outcome.memory
    if isinstance(memory, Memory) and memory.unconfirmed is not None:
        return memory.unconfirmed.before
    if outcome.action is Action.NONE:
        return outcome.derivation.current_replicas
    return outcome.derivation.desired_replicas


def same_status(left: AutoscalerStatus, right: AutoscalerStatus) -> bool:
    """Whether writing would change nothing: an absent list is an empty one, as for the API server."""
    return _compared(left) == _compared(right)


def _kept(decision: Decision, desired: int, now: float) -> Outcome:
    """Nothing was to be written; in a dry run that is an event, each time the desired count changes."""
    conditions = Conditions(decision.conditions, now)
    if decision.derivation.held:
        conditions.held(decision.derivation.held_by, decision.derivation.held)
    status = _status(decision, desired=desired, conditions=conditions.as_tuple())
    events: tuple[Event, ...] = ()
    if desired not in (decision.current_replicas, _status_before(decision).desired_replicas):
        message = f"New size would be: {desired}; reason: {decision.rescale_reason}"
        events = (Event(type=EventType.NORMAL, reason="DryRunRescale", message=message),)
    return _outcome(decision, status, *events)


def _failed(decision: Decision, desired: int, failure: RescaleFailed, now: float) -> Outcome:
    error = failure.message
    conditions = Conditions(decision.conditions, now)
    conditions.unable_to_update_scale(error)
    message = f"New size: {desired}; reason: {decision.rescale_reason}; error: {error}"
    outcome = _outcome(
        decision,
        _status(decision, conditions=conditions.as_tuple()),
        warning("FailedRescale", message),
        derivation=msgspec.structs.replace(decision.derivation, rescale_error=error),
    )
    reference = decision.autoscaler.spec.scale_target_ref
    namespace = decision.autoscaler.metadata.namespace
    return msgspec.structs.replace(
        outcome,
        memory=_memory_after_failure(decision, desired, failure, now),
        error=f"failed to rescale {reference.kind}/{namespace}/{reference.name}: {error}",
        error_class=ErrorClass.INTERNAL,
    )


def _rescaled(decision: Decision, desired: int, now: float) -> Outcome:
    conditions = Conditions(decision.conditions, now)
    conditions.rescaled(desired)
    _mark_zero(conditions, decision, desired)
    status = _status(decision, desired=desired, conditions=conditions.as_tuple())
    message = f"New size: {desired}; reason: {decision.rescale_reason}"
    outcome = _outcome(
        decision,
        msgspec.structs.replace(status, last_scale_time=time_from_unix(now)),
        Event(type=EventType.NORMAL, reason="SuccessfulRescale", message=message),
    )
    scaling_up = desired > decision.current_replicas
    return msgspec.structs.replace(
        outcome,
        memory=_memory(decision, desired, now),
        action=Action.SCALE_UP if scaling_up else Action.SCALE_DOWN,
    )


def _mark_zero(conditions: Conditions, decision: Decision, desired: int) -> None:
    """The condition is set again by every rescale, so that it is never stale."""
    policy = decision.policy
    if not policy.upstream.marks_zero:
        return
    if not policy.scale_to_zero:
        conditions.remove_scaled_to_zero()
        return
    conditions.scaled_to_zero(
        by_controller=decision.current_replicas > 0
        and desired == 0
        and decision.memory.scaled_to_zero
    )


def _memory_after_failure(
    decision: Decision, desired: int, failure: RescaleFailed, now: float
) -> Memory:
    """If zero was certainly not written, a later zero is the user's."""
    if failure.may_be_applied:
        return _with_unconfirmed(decision.memory, decision, desired, now)
    if decision.current_replicas == 0:
        return decision.memory
    return _not_at_zero(decision.memory)


def _with_unconfirmed(memory: Memory, decision: Decision, desired: int, now: float) -> Memory:
    change = Change(
        before=decision.current_replicas, after=desired, at_unix_seconds=now, confirmed=False
    )
    return changed_with_states(memory, decision.policy, decision.parts, change)


def _not_at_zero(memory: Memory) -> Memory:
    if not memory.scaled_to_zero:
        return memory
    return msgspec.structs.replace(memory, scaled_to_zero=False)


def _memory(decision: Decision, desired: int, now: float) -> Memory:
    memory = decision.memory if desired == 0 else _not_at_zero(decision.memory)
    change = Change(before=decision.current_replicas, after=desired, at_unix_seconds=now)
    return changed_with_states(memory, decision.policy, decision.parts, change)


def _status(
    decision: Decision,
    *,
    desired: int | None = None,
    conditions: tuple[Condition, ...] | None = None,
) -> AutoscalerStatus:
    """The new status. `observedGeneration` is 0 for an object without a generation, from before Kubernetes 1.37.

    `currentReplicas` is the count that was read, also after a rescale: upstream shows the new one
    only after the next reconcile.
    """
    old = _status_before(decision)
    policy = decision.policy
    is_observed = policy.kind.has_observed_generation or policy.upstream.keeps_generations
    return AutoscalerStatus(
        observed_generation=decision.autoscaler.metadata.generation if is_observed else None,
        last_scale_time=old.last_scale_time,
        current_replicas=decision.current_replicas,
        desired_replicas=old.desired_replicas if desired is None else desired,
        current_metrics=decision.current_metrics,
        conditions=decision.conditions if conditions is None else conditions,
    )


def _status_before(decision: Decision) -> AutoscalerStatus:
    return decision.autoscaler.status or AutoscalerStatus()


def _outcome(
    decision: Decision,
    status: AutoscalerStatus,
    *events: Event,
    derivation: Derivation | None = None,
) -> Outcome:
    derivation = derivation or decision.derivation
    if decision.branch is not Branch.NO_SCALE:
        status = _with_remarks(status, derivation, decision.extensions)
        for part in decision.parts:
            step = derivation.steps.get(part.extension.name)
            status = part.extension.status(part.rules, step, decision.policy, status)
    if decision.policy.kind.explains_in_status:
        status = msgspec.structs.replace(
            status, decision=summarize(derivation, decision.extensions)
        )
    before = _status_before(decision)
    is_changed = not same_status(before, status)
    return Outcome(
        status=status,
        status_changed=is_changed,
        status_may_wait=is_changed and _differs_little(before, status),
        events=(*decision.events, *events),
        events_after_status=decision.events_after_status,
        memory=decision.not_continued or decision.memory,
        stored_seconds_max=_stored_seconds_max(decision),
        error=decision.error,
        error_class=decision.error_class,
        derivation=derivation,
    )


def _differs_little(before: AutoscalerStatus, after: AutoscalerStatus) -> bool:
    metrics = before.current_metrics or ()
    with_same_metrics = msgspec.structs.replace(after, current_metrics=metrics)
    return same_status(before, with_same_metrics) and moved_little(
        metrics, after.current_metrics or ()
    )


def _stored_seconds_max(decision: Decision) -> float:
    """Only while the window holds more replicas than were recommended last.

    A memory that was stored longer ago does not show that its process ran, so `restored` would hold the replicas for
    another window.
    """
    policy, steps = decision.policy, decision.memory.recommendations
    current = decision.current_replicas or 0
    if not steps or steps[-1].replicas >= current or current <= policy.min_replicas:
        return math.inf
    return stored_again_seconds(policy)


def _with_remarks(
    status: AutoscalerStatus, derivation: Derivation, extensions: Sequence[Extension[Any, Any]]
) -> AutoscalerStatus:
    """The conditions of extensions."""
    known = {name for each in extensions for name in each.conditions}
    stale = any(each.type in known for each in status.conditions or ())
    if not derivation.remarks and not stale:
        return status
    conditions = Conditions(status.conditions, derivation.made_at_unix_seconds)
    conditions.remarked(derivation.remarks, known)
    return msgspec.structs.replace(status, conditions=conditions.as_tuple())


def _compared(status: AutoscalerStatus) -> AutoscalerStatus:
    return msgspec.structs.replace(
        status, current_metrics=status.current_metrics or (), conditions=status.conditions or ()
    )
