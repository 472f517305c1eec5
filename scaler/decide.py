"""Pure: the second half of a reconcile, from what was measured to what is to be done.

    signal -> recommend -> normalize -> trial

What happens after the scale was (or was not) written is `scaler.settle`.
"""

from collections.abc import Sequence

import msgspec

from scaler.model.autoscaler import MetricSpec
from scaler.model.decision import Ask, Decision, ErrorClass, Event, Situation, warning
from scaler.model.derivation import Derivation
from scaler.model.memory import NOTHING_REMEMBERED, ExtensionMemory, Memory
from scaler.model.observed import TargetPods
from scaler.model.readings import Reading
from scaler.normalize.history import held
from scaler.normalize.normalize import normalize
from scaler.normalize.zero import Zero, zero
from scaler.recommend.activity import activity
from scaler.recommend.combine import Recommended, recommend
from scaler.recommend.workload import Workload
from scaler.report.conditions import Conditions, unable_to_compute
from scaler.signal.signal import signal
from scaler.trial.trial import trial, uncomputable

ALL_BELOW_TARGET = "All metrics below target"


def decide(
    ask: Ask, pods: TargetPods, readings: Sequence[Reading], now_unix_seconds: float
) -> Decision:
    """What to do now. `readings` belong to `ask.metrics`, in their order; ambiguous pods need none."""
    situation = ask.situation
    if pods.are_ambiguous:
        return _ambiguous(situation, pods, now_unix_seconds)
    remembered = situation.memory.extensions or NOTHING_REMEMBERED
    recommended = recommend(
        signal(ask.metrics, readings),
        _workload(situation, pods, now_unix_seconds),
        remembered.metrics,
    )
    derivation = msgspec.structs.replace(
        situation.derivation,
        made_at_unix_seconds=now_unix_seconds,
        metrics=tuple(each.derivation for each in recommended.proposals),
        winner=recommended.winner,
        remarks=recommended.remarks,
    )
    if recommended.replicas is None:
        decision = _blocked(situation, derivation, recommended, now_unix_seconds)
    else:
        decision = _by_metrics(situation, derivation, ask.metrics, recommended, now_unix_seconds)
    return msgspec.structs.replace(
        decision, current_metrics=tuple(each.status for each in recommended.proposals)
    )


def _workload(situation: Situation, pods: TargetPods, now: float) -> Workload:
    return Workload(
        namespace=situation.autoscaler.metadata.namespace,
        pods=pods.pods,
        spec_replicas=situation.scale.spec_replicas,
        status_replicas=situation.scale.status_replicas,
        policy=situation.policy,
        now_unix_seconds=now,
    )


def _ambiguous(situation: Situation, pods: TargetPods, now: float) -> Decision:
    """Another autoscaler controls some of these pods, so their metrics do not say how many to have."""
    keys = " ".join(pods.controlled_by)
    selector = situation.scale.selector
    message = f"pods by selector {selector} are controlled by multiple HPAs: [{keys}]"
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_inactive("AmbiguousSelector", message)
    return uncomputable(
        situation,
        msgspec.structs.replace(situation.derivation, problem=message),
        error=message,
        memory=held(situation.memory, situation.policy, now),
        conditions=conditions.as_tuple(),
        events=(warning("AmbiguousSelector", message),),
    )


def _blocked(
    situation: Situation, derivation: Derivation, recommended: Recommended, now: float
) -> Decision:
    """Too many metrics failed to go by the others."""
    conditions = Conditions(situation.conditions, now)
    if recommended.blocking is not None:
        message = unable_to_compute(recommended.blocking.message)
        conditions.scaling_inactive(recommended.blocking.reason, message)
    return uncomputable(
        situation,
        derivation,
        error=recommended.error,
        memory=_with_extensions(held(situation.memory, situation.policy, now), recommended, None),
        conditions=conditions.as_tuple(),
        events=_failures(recommended),
    )


def _by_metrics(
    situation: Situation,
    derivation: Derivation,
    metrics: Sequence[MetricSpec],
    recommended: Recommended,
    now: float,
) -> Decision:
    current, policy = situation.scale.spec_replicas, situation.policy
    replicas = max(0, recommended.replicas or 0)
    near_zero: Zero | None = None
    if policy.zero is not None:
        near_zero = zero(
            policy.zero,
            situation.memory,
            activity(metrics, recommended.proposals),
            current=current,
            recommended=replicas,
            may_leave_zero=policy.may_scale_up,
            now_unix_seconds=now,
        )
        replicas = near_zero.recommended
    normalized = normalize(
        situation.memory, policy, current=current, recommended=replicas, now_unix_seconds=now
    )
    desired = max(normalized.bound.after, 0 if near_zero is None else near_zero.floor)
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_active(recommended.winner_name)
    conditions.able_to_scale(normalized.stabilization.reason)
    conditions.scaling_limited(normalized.bound.reason, is_limited=normalized.is_limited)
    decision = trial(
        situation,
        msgspec.structs.replace(
            derivation,
            proposed=replicas,
            zero=near_zero and near_zero.step,
            stabilization=normalized.stabilization,
            bound=normalized.bound,
        ),
        desired=desired,
        # The reason is fixed before normalization: it may not fit the result.
        reason=_reason(replicas, current, recommended.winner_name),
        memory=_with_extensions(normalized.memory, recommended, near_zero),
        conditions=conditions.as_tuple(),
    )
    return msgspec.structs.replace(
        decision,
        events=_failures(recommended),
        error=recommended.error,
        error_class=ErrorClass.INTERNAL if recommended.error else ErrorClass.NONE,
    )


def _with_extensions(memory: Memory, recommended: Recommended, near_zero: Zero | None) -> Memory:
    """Remember what the next reconcile needs for the fields that only a LoadAutoscaler has."""
    extensions = ExtensionMemory(
        inactive_since_unix_seconds=None
        if near_zero is None
        else near_zero.inactive_since_unix_seconds,
        metrics=recommended.records,
    )
    found = None if extensions == NOTHING_REMEMBERED else extensions
    if found == memory.extensions:
        return memory
    return msgspec.structs.replace(memory, extensions=found)


def _reason(proposed: int, current: int, winner_name: str) -> str:
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
