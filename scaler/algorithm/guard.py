"""Pure: the last word on what is written.

Every way through a reconcile ends here, whether metrics, a bound or a failure decided. So what may still
change, hold back or only show a count applies to all of them, and it is the only place that says `rescale`.
"""

import math

import msgspec

from scaler.algorithm.decision import Branch, Decision, ErrorClass, Event, PodPatch, warning
from scaler.algorithm.draft import Draft, Turn

OUTDATED_CACHE = "OutdatedCache"


def decided(draft: Draft) -> Decision:
    """Write `draft.replicas`, if it differs from the current count; from zero at least the minimum."""
    turn, held, held_by = draft.turn, "", ""
    current = turn.current_replicas
    lifted = _leaves_zero_below_min(turn, draft.replicas)
    if lifted:
        draft.replicas = turn.policy.min_replicas
        draft.reason = draft.reason or turn.policy.below_min_reason
    if draft.replicas < current and (unsafe := _unsafe(turn)):
        held_by, message = unsafe
        held = f"not scaled down from {current} to {draft.replicas}: {message}"
        draft.replicas, draft.reason = current, ""
    for part in turn.parts:
        part.extension.final(part.rules, draft)
    stays = draft.replicas == current or turn.policy.is_dry_run
    if stays and turn.branch in (Branch.ABOVE_MAX, Branch.BELOW_MIN):
        # Nothing is measured as long as the target stays outside its bounds.
        draft.hold(were_read=False)
    decision = _written(draft)
    if not (lifted or held):
        return decision
    derivation = msgspec.structs.replace(
        decision.derivation, lifted_to_min=lifted, held=held, held_by=held_by
    )
    return msgspec.structs.replace(decision, derivation=derivation)


def undecided(
    draft: Draft,
    *,
    error: str,
    error_class: ErrorClass,
    problem: str | None,
    events: tuple[Event, ...],
    events_after_status: tuple[Event, ...] = (),
) -> Decision:
    """Write nothing, because the metrics give no count; or minReplicas after a zero that the scaler has set, or what an extension sets."""
    turn = draft.turn
    draft.replicas = turn.current_replicas
    if turn.policy.kind.leaves_zero_for_min and _leaves_zero_below_min(turn, draft.replicas):
        draft.replicas, draft.reason = turn.policy.min_replicas, turn.policy.below_min_reason
    for part in turn.parts:
        part.extension.final(part.rules, draft)
    draft.events[:0] = events
    if draft.replicas != turn.current_replicas and turn.branch is Branch.METRICS:
        decision = _written(draft)
    else:
        decision = _decision(draft)
    derivation = decision.derivation
    if problem:
        derivation = msgspec.structs.replace(derivation, problem=problem)
    return msgspec.structs.replace(
        decision,
        events_after_status=events_after_status,
        error=error,
        error_class=error_class,
        derivation=derivation,
    )


def uncomputable(
    draft: Draft,
    *,
    error: str,
    error_class: ErrorClass = ErrorClass.INTERNAL,
    problem: str | None = None,
    events: tuple[Event, ...],
) -> Decision:
    """Write nothing: the metrics do not result in a count; upstream says so once more after the status."""
    autoscaler = draft.turn.autoscaler
    reference = autoscaler.spec.scale_target_ref
    target = f"{reference.kind}/{autoscaler.metadata.namespace}/{reference.name}"
    return undecided(
        draft,
        error="failed to compute desired number of replicas based on listed metrics "
        f"for {target}: {error}",
        error_class=error_class,
        problem=problem,
        events=events,
        events_after_status=(warning("FailedComputeMetricsReplicas", error),),
    )


def _written(draft: Draft) -> Decision:
    turn, desired = draft.turn, draft.replicas
    policy, current = turn.policy, turn.current_replicas
    rescale = desired != current and not policy.is_dry_run
    sets_zero = current > 0 and desired == 0 and rescale
    if sets_zero and (policy.can_scale_to_zero or draft.zero_is_own):
        # Remembered before it is written, since the answer to the write may get lost.
        draft.memory = msgspec.structs.replace(draft.memory, scaled_to_zero=True)
    decision = _decision(draft)
    annotations: tuple[PodPatch, ...] = ()
    if rescale and desired < current:
        annotations = tuple(
            each
            for part in turn.parts
            for each in part.extension.pod_annotations(part.rules, draft)
        )
    return msgspec.structs.replace(
        decision,
        desired_replicas=desired,
        rescale=rescale,
        rescale_reason=draft.reason,
        pod_annotations=annotations,
        derivation=msgspec.structs.replace(
            decision.derivation, desired_replicas=desired, rescale_reason=draft.reason
        ),
    )


def _decision(draft: Draft) -> Decision:
    turn = draft.turn
    return Decision(
        autoscaler=turn.autoscaler,
        branch=turn.branch,
        policy=turn.policy,
        extensions=turn.settings.extensions,
        parts=turn.parts,
        current_replicas=turn.current_replicas,
        conditions=draft.conditions.as_tuple(),
        events=tuple(draft.events),
        memory=draft.remembered(),
        derivation=draft.derivation(),
        holds_until_unix_seconds=turn.moment.holds_until_unix_seconds,
        due_unix_seconds=_due_unix_seconds(turn),
    )


def _due_unix_seconds(turn: Turn) -> float:
    return min(
        (part.extension.due_unix_seconds(part.rules, turn.moment) for part in turn.parts),
        default=math.inf,
    )


def _unsafe(turn: Turn) -> tuple[str, str] | None:
    """Why nothing may be scaled down, as a reason and a message."""
    if turn.outdated:
        return OUTDATED_CACHE, turn.outdated
    for part in turn.parts:
        if (found := part.extension.holds(part.rules)) is not None:
            return found
    return None


def _leaves_zero_below_min(turn: Turn, desired: int) -> bool:
    """The controller scaled to zero, and the minimum was raised since."""
    return (
        turn.current_replicas == 0
        and turn.was_scaled_to_zero
        and desired < turn.policy.min_replicas
    )
