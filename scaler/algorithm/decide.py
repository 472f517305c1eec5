"""Pure: the second half of a reconcile, from what was measured to what is to be done.

    signal -> recommend -> normalize -> trial

What happens after the scale was (or was not) written is `scaler.algorithm.settle`.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.combine import Recommended, recommend
from scaler.algorithm.conditions import Conditions, unable_to_compute
from scaler.algorithm.decision import (
    Ask,
    Decision,
    ErrorClass,
    Event,
    PodCost,
    Situation,
    warning,
)
from scaler.algorithm.derivation import Derivation, ForecastStep
from scaler.algorithm.guard import trial, uncomputable
from scaler.algorithm.memory import NOTHING_REMEMBERED, ExtensionMemory, Memory
from scaler.algorithm.observed import Pod, TargetPods
from scaler.algorithm.pod_groups import count_ready
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import Reading, Signal
from scaler.algorithm.recommendations import held
from scaler.algorithm.remark import Remark
from scaler.algorithm.signal import signal
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import MetricSpec
from scaler.api.extension_spec import RolloutPolicy
from scaler.extensions.candidate.evaluate import Blended, blend
from scaler.extensions.deletion_cost import deletion_costs
from scaler.extensions.forecast.foresee import Foreseen, acting_floor, foresee, remembered
from scaler.extensions.forecast.load import load_of
from scaler.extensions.forecast.remark import forecast_remark, learnt_event, verdict_events
from scaler.extensions.normalize_extended import (
    Extended,
    Target,
    normalize_extended,
    with_extensions,
)
from scaler.extensions.rollout import without_rollout
from scaler.extensions.scale_to_zero.activity import activity
from scaler.extensions.scale_to_zero.activity_of_metrics import Activity

_NO_ACTIVITY = Activity()
ALL_BELOW_TARGET = "All metrics below target"


class _CandidateSignals(msgspec.Struct, frozen=True, kw_only=True):
    of_candidate: Sequence[Signal]
    abort_when: Sequence[Signal]


def decide(
    ask: Ask, pods: TargetPods, readings: Sequence[Reading], now_unix_seconds: float
) -> Decision:
    """What to do now. `readings` belong to `ask.metrics`, in their order; ambiguous pods need none."""
    situation = ask.situation
    if pods.are_ambiguous:
        return _ambiguous(situation, pods, now_unix_seconds)
    extensions = situation.memory.extensions or NOTHING_REMEMBERED
    own, extra = ask.metrics, None
    signals = signal(ask.metrics, readings)
    if ask.candidate is not None:
        extra = _CandidateSignals(
            of_candidate=[signals[place] for place in ask.candidate.metrics],
            abort_when=[signals[place] for place in ask.candidate.abort_when],
        )
        own, signals = own[: ask.candidate.of_spec], signals[: ask.candidate.of_spec]
    workload = _workload(situation, pods, now_unix_seconds)
    recommended = recommend(signals, workload, extensions.metrics)
    if situation.policy.rollout != RolloutPolicy.COUNT:
        recommended = _without_rollout(recommended, signals, workload, extensions)
    derivation = msgspec.structs.replace(
        situation.derivation,
        made_at_unix_seconds=now_unix_seconds,
        metrics=tuple(each.derivation for each in recommended.proposals),
        winner=recommended.winner,
        remarks=(*situation.derivation.remarks, *recommended.remarks),
    )
    if recommended.replicas is None:
        decision = _blocked(situation, derivation, recommended, now_unix_seconds)
    else:
        decision = _by_metrics(
            situation,
            derivation,
            own,
            workload,
            recommended,
            _foreseen(situation, signals, recommended, workload),
            extra,
        )
    return msgspec.structs.replace(
        decision,
        current_metrics=tuple(each.status for each in recommended.proposals),
        deletion_costs=_deletion_costs(decision, own, pods.pods, readings),
    )


def _without_rollout(
    recommended: Recommended,
    signals: Sequence[Signal],
    workload: Workload,
    extensions: ExtensionMemory,
) -> Recommended:
    found = without_rollout(
        workload.policy.rollout,
        recommended,
        signals,
        workload.pods,
        replicas=workload.spec_replicas,
        recommend=lambda fewer, pods: recommend(
            fewer, msgspec.structs.replace(workload, pods=pods), extensions.metrics
        ),
    )
    remarks = (*found.recommended.remarks, found.remark)
    return msgspec.structs.replace(found.recommended, remarks=remarks)


def _deletion_costs(
    decision: Decision,
    metrics: Sequence[MetricSpec],
    pods: Sequence[Pod],
    readings: Sequence[Reading],
) -> tuple[PodCost, ...]:
    name, desired = decision.policy.deletion_cost_metric, decision.desired_replicas
    if not name or not decision.rescale or desired is None:
        return ()
    deleted = decision.current_replicas - desired
    if deleted <= 0:
        return ()
    return deletion_costs(name, metrics, readings, pods, deleted=deleted)


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
    extensions = situation.memory.extensions or NOTHING_REMEMBERED
    conditions = Conditions(situation.conditions, now)
    if recommended.blocking is not None:
        message = unable_to_compute(recommended.blocking.message)
        conditions.scaling_inactive(recommended.blocking.reason, message)
    return uncomputable(
        situation,
        derivation,
        error=recommended.error,
        memory=with_extensions(
            held(situation.memory, situation.policy, now),
            ExtensionMemory(metrics=recommended.records, panic=extensions.panic),
        ),
        conditions=conditions.as_tuple(),
        events=_failures(recommended),
    )


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the spec, its forecast and its candidate result in. `desired` is the count of all together."""

    extended: Extended
    desired: int
    memory: Memory
    forecast: ForecastStep | None
    blended: Blended | None


def _by_metrics(
    situation: Situation,
    derivation: Derivation,
    metrics: Sequence[MetricSpec],
    workload: Workload,
    recommended: Recommended,
    foreseen: Foreseen | None,
    candidate: _CandidateSignals | None,
) -> Decision:
    found = _found(situation, metrics, workload, recommended, foreseen, candidate)
    extended, forecast, blended = found.extended, found.forecast, found.blended
    normalized = extended.normalized
    conditions = Conditions(situation.conditions, workload.now_unix_seconds)
    conditions.scaling_active(recommended.winner_name)
    conditions.able_to_scale(normalized.stabilization.reason)
    conditions.scaling_limited(normalized.bound.reason, is_limited=normalized.is_limited)
    decision = trial(
        situation,
        msgspec.structs.replace(
            derivation,
            proposed=extended.recommended,
            zero=extended.zero,
            stabilization=normalized.stabilization,
            forecast=forecast,
            bound=normalized.bound,
            candidate=None if blended is None else blended.step,
            remarks=_remarks(situation, derivation, extended.remarks, forecast, blended),
        ),
        desired=found.desired,
        reason=_reason_of(found, workload.spec_replicas, recommended.winner_name),
        memory=found.memory,
        conditions=conditions.as_tuple(),
    )
    return msgspec.structs.replace(
        decision,
        events=(
            *_failures(recommended),
            *_forecast_events(situation, forecast),
            *(() if blended is None else blended.events),
        ),
        error=recommended.error,
        error_class=ErrorClass.INTERNAL if recommended.error else ErrorClass.NONE,
    )


def _found(
    situation: Situation,
    metrics: Sequence[MetricSpec],
    workload: Workload,
    recommended: Recommended,
    foreseen: Foreseen | None,
    candidate: _CandidateSignals | None,
) -> _Found:
    policy, pods, now = situation.policy, workload.pods, workload.now_unix_seconds
    floor = None if foreseen is None else acting_floor(foreseen, policy)
    found = normalize_extended(
        situation.memory,
        policy,
        Target(
            current=workload.spec_replicas,
            pods=pods,
            ready_pods=0 if policy.panic is None else count_ready(pods),
            activity=_NO_ACTIVITY
            if policy.zero is None
            else activity(metrics, recommended.proposals),
        ),
        recommended=max(0, recommended.replicas or 0),
        records=recommended.records,
        floor=floor,
        now_unix_seconds=now,
    )
    memory, forecast = found.memory, None
    if foreseen is not None:
        memory, forecast = remembered(
            foreseen,
            policy,
            memory,
            stabilized=found.normalized.stabilization.stabilized,
            others=_highest_of_others(recommended, metrics, policy),
        )
    desired, blended = found.desired, None
    if candidate is not None and policy.candidate is not None:
        blended = blend(
            policy.candidate,
            situation.memory,
            candidate.of_candidate,
            candidate.abort_when,
            workload,
            of_spec=desired,
            floor=floor,
            now_unix_seconds=now,
        )
        desired = blended.desired
        memory = msgspec.structs.replace(memory, candidate=blended.memory)
    return _Found(
        extended=found, desired=desired, memory=memory, forecast=forecast, blended=blended
    )


def _reason_of(found: _Found, current: int, winner_name: str) -> str:
    """Without forecast and candidate it is fixed before normalization, and may not fit the result."""
    blended, forecast = found.blended, found.forecast
    if blended is not None and blended.desired != found.extended.desired:
        return f"the candidate has {blended.step.weight_percent} %"
    is_lifted = forecast is not None and forecast.acts and forecast.after > forecast.before
    if is_lifted and found.desired > current and forecast is not None:
        return f"forecast of {forecast.metric}"
    return _reason(found.extended.recommended, current, winner_name)


def _foreseen(
    situation: Situation, signals: Sequence[Signal], recommended: Recommended, workload: Workload
) -> Foreseen | None:
    rules = situation.policy.forecast
    if rules is None or rules.problem:
        return None
    load = next(
        load_of(signal.metric, signal.reading, proposal.derivation, workload)
        for signal, proposal in zip(signals, recommended.proposals, strict=True)
        if signal.metric.name == rules.metric
    )
    return foresee(rules, situation.memory, load, workload.now_unix_seconds)


def _highest_of_others(
    recommended: Recommended, metrics: Sequence[MetricSpec], policy: Policy
) -> int:
    """The highest proposal of the metrics that are not forecast."""
    name = "" if policy.forecast is None else policy.forecast.metric
    return max(
        (
            proposal.derivation.proposal or 0
            for metric, proposal in zip(metrics, recommended.proposals, strict=True)
            if metric.name != name
        ),
        default=0,
    )


def _remarks(
    situation: Situation,
    derivation: Derivation,
    found: tuple[Remark, ...],
    forecast: ForecastStep | None,
    blended: Blended | None,
) -> tuple[Remark, ...]:
    """Those that `plan` made from the last reconcile are replaced."""
    added = found
    rules, history = situation.policy.forecast, situation.history
    if forecast is not None and rules is not None:
        added = (forecast_remark(rules, forecast.verdict, forecast, history=history), *added)
    if blended is not None:
        added = (*added, blended.remark)
    known = {each.condition for each in added}
    return (*(each for each in derivation.remarks if each.condition not in known), *added)


def _forecast_events(situation: Situation, forecast: ForecastStep | None) -> tuple[Event, ...]:
    before = situation.memory.forecast_state
    rules = situation.policy.forecast
    if forecast is None or before is None or rules is None:
        return ()
    turned = verdict_events(before.verdict, forecast.verdict)
    if situation.has_learnt_history and before.recorded is not None:
        return (learnt_event(rules, before, before.recorded), *turned)
    return turned


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
