"""Pure: the second half of a reconcile, from what was measured to what is to be done.

What happens after the scale was (or was not) written is `scaler.algorithm.settle`.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.combine import Recommended
from scaler.algorithm.compute import compute
from scaler.algorithm.conditions import unable_to_compute
from scaler.algorithm.decision import Decision, ErrorClass, Event, warning
from scaler.algorithm.draft import Ask, Draft, Turn
from scaler.algorithm.guard import decided, uncomputable
from scaler.algorithm.observed import TargetPods
from scaler.algorithm.readings import Reading
from scaler.algorithm.signal import signal
from scaler.api.autoscaler import metrics_of

ALL_BELOW_TARGET = "All metrics below target"


def decide(
    ask: Ask, pods: TargetPods, readings: Sequence[Reading], now_unix_seconds: float
) -> Decision:
    """What to do now. `readings` belong to `ask.metrics`, in their order; ambiguous pods need none."""
    turn = msgspec.structs.replace(
        ask.turn,
        inputs={**ask.turn.inputs, **pods.inputs},
        matching_pods=pods.pods,
        pods=pods.pods,
        signals=() if pods.are_ambiguous else signal(ask.metrics, readings),
        moment=ask.turn.moment.later(now_unix_seconds),
    )
    if pods.are_ambiguous:
        return _ambiguous(turn, pods)
    scale = turn.scale
    for part in turn.parts:
        turn = part.extension.measured(part.rules, turn)
    draft = compute(turn, turn.signals[: len(metrics_of(turn.autoscaler.spec))])
    if turn.scale is not scale:
        # An extension lets it decide from another count than that of the target, which is what is written to.
        draft.turn = msgspec.structs.replace(turn, scale=scale, replicas_of_target=None)
    recommended = draft.recommended
    if recommended is None or recommended.replicas is None:
        decision = _blocked(draft, recommended or Recommended(proposals=(), replicas=None))
    else:
        decision = _by_metrics(draft, recommended)
    proposals = () if recommended is None else recommended.proposals
    return msgspec.structs.replace(
        decision, current_metrics=tuple(each.status for each in proposals)
    )


def refused(ask: Ask) -> Decision:
    """The autoscaler was deleted after its Scale was read: it scales nothing any more (upstream's `hpaSelectorStore`)."""
    turn = ask.turn
    message = (
        f"{turn.policy.kind.short_name} {turn.autoscaler.key} was deleted during reconciliation"
    )
    return uncomputable(Draft(turn), problem=message, error=message, events=())


def _ambiguous(turn: Turn, pods: TargetPods) -> Decision:
    """Another autoscaler controls some of these pods, so their metrics do not say how many to have."""
    message = f"pods by selector {turn.scale.selector} are controlled by {_several(turn, pods)}"
    draft = Draft(turn)
    draft.hold(were_read=False)
    draft.conditions.scaling_inactive("AmbiguousSelector", message)
    return uncomputable(
        draft,
        problem=message,
        error=message,
        events=(warning("AmbiguousSelector", message),),
    )


def _several(turn: Turn, pods: TargetPods) -> str:
    """Of two, which upstream takes at random, the first ones: the text stays the same."""
    upstream, found = turn.policy.upstream, pods.controlled_by
    keys = " ".join(found[:2] if upstream.names_two_of_ambiguous else found)
    if upstream.has_ambiguous_text:
        return f"more than one HPA (e.g. [{keys}])"
    return f"multiple HPAs: [{keys}]"


def _blocked(draft: Draft, recommended: Recommended) -> Decision:
    """Too many metrics failed to go by the others."""
    draft.hold(were_read=True)
    if recommended.blocking is not None:
        message = unable_to_compute(recommended.blocking.message)
        draft.conditions.scaling_inactive(recommended.blocking.reason, message)
    assert recommended.error is not None  # noqa: S101 - `combine` says why there is no count
    return uncomputable(
        draft,
        error=recommended.error,
        error_class=_error_class(draft.turn, recommended),
        events=_failures(recommended),
    )


def _by_metrics(draft: Draft, recommended: Recommended) -> Decision:
    turn, conditions = draft.turn, draft.conditions
    conditions.scaling_active(recommended.winner_name)
    if draft.stabilization is not None:
        conditions.able_to_scale(draft.stabilization.reason)
    if draft.bound is not None:
        is_limited = draft.bound.before != draft.bound.after
        conditions.scaling_limited(draft.bound.reason, is_limited=is_limited)
    for part in turn.parts:
        part.extension.decided(part.rules, draft)
    draft.reason = draft.reason or _reason(draft, recommended.winner_name)
    draft.events[:0] = _failures(recommended)
    return msgspec.structs.replace(
        decided(draft),
        error=recommended.error,
        error_class=_error_class(turn, recommended) if recommended.error else ErrorClass.NONE,
    )


def _error_class(turn: Turn, recommended: Recommended) -> ErrorClass:
    """Before Kubernetes 1.37, the error around that of the first failed metric hid that it is the spec's."""
    is_spec_error = recommended.is_spec_error and turn.policy.upstream.counts_wrapped_spec_errors
    return ErrorClass.SPEC if is_spec_error else ErrorClass.INTERNAL


def _reason(draft: Draft, winner_name: str) -> str:
    """It is fixed before normalization, so it may not fit the result."""
    proposed, current = draft.proposed or 0, draft.turn.current_replicas
    if draft.scale_up_reason and draft.replicas > current:
        return draft.scale_up_reason
    if proposed > current:
        return f"{winner_name} above target"
    return ALL_BELOW_TARGET if proposed < current else ""


def _failures(recommended: Recommended) -> tuple[Event, ...]:
    """One event for each failed metric, in the order of the spec."""
    return tuple(
        warning(failure.reason, failure.message)
        for each in recommended.proposals
        if (failure := each.reported_failure) is not None
    )
