"""Pure: the second half of a reconcile, from what was measured to what is to be done.

    signal -> recommend -> normalize -> trial

What happens after the scale was (or was not) written is `scaler.settle`.
"""

from collections.abc import Sequence

import msgspec

from scaler.forecast.foresee import Foreseen, acting_floor, foresee, remembered
from scaler.forecast.remark import forecast_remark, verdict_events
from scaler.model.activity import Activity
from scaler.model.autoscaler import ConditionType, MetricSpec
from scaler.model.decision import (
    Ask,
    Decision,
    ErrorClass,
    Event,
    PodCost,
    Situation,
    warning,
)
from scaler.model.derivation import Derivation, ForecastStep
from scaler.model.extensions import RolloutPolicy
from scaler.model.memory import NOTHING_REMEMBERED, ExtensionMemory
from scaler.model.observed import Pod, TargetPods
from scaler.model.policy import Policy
from scaler.model.readings import Reading, Signal
from scaler.model.remark import Remark
from scaler.normalize.extended import Target, normalize_extended, with_extensions
from scaler.normalize.history import held
from scaler.recommend.activity import activity
from scaler.recommend.combine import Recommended, recommend
from scaler.recommend.deletion_cost import deletion_costs
from scaler.recommend.load import load_of
from scaler.recommend.pods import count_ready
from scaler.recommend.rollout import without_rollout
from scaler.recommend.workload import Workload
from scaler.report.conditions import Conditions, unable_to_compute
from scaler.signal.signal import signal
from scaler.trial.trial import trial, uncomputable

_NO_ACTIVITY = Activity()
ALL_BELOW_TARGET = "All metrics below target"


def decide(
    ask: Ask, pods: TargetPods, readings: Sequence[Reading], now_unix_seconds: float
) -> Decision:
    """What to do now. `readings` belong to `ask.metrics`, in their order; ambiguous pods need none."""
    situation = ask.situation
    if pods.are_ambiguous:
        return _ambiguous(situation, pods, now_unix_seconds)
    extensions = situation.memory.extensions or NOTHING_REMEMBERED
    signals = signal(ask.metrics, readings)
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
            ask.metrics,
            pods.pods,
            recommended,
            _foreseen(situation, signals, recommended, workload),
            now_unix_seconds,
        )
    return msgspec.structs.replace(
        decision,
        current_metrics=tuple(each.status for each in recommended.proposals),
        deletion_costs=_deletion_costs(decision, ask.metrics, pods.pods, readings),
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


def _by_metrics(
    situation: Situation,
    derivation: Derivation,
    metrics: Sequence[MetricSpec],
    pods: Sequence[Pod],
    recommended: Recommended,
    foreseen: Foreseen | None,
    now: float,
) -> Decision:
    current, policy = situation.scale.spec_replicas, situation.policy
    found = normalize_extended(
        situation.memory,
        policy,
        Target(
            current=current,
            pods=pods,
            ready_pods=0 if policy.panic is None else count_ready(pods),
            activity=_NO_ACTIVITY
            if policy.zero is None
            else activity(metrics, recommended.proposals),
        ),
        recommended=max(0, recommended.replicas or 0),
        records=recommended.records,
        floor=None if foreseen is None else acting_floor(foreseen, policy),
        now_unix_seconds=now,
    )
    normalized = found.normalized
    memory, forecast = found.memory, None
    if foreseen is not None:
        memory, forecast = remembered(
            foreseen,
            policy,
            memory,
            stabilized=normalized.stabilization.stabilized,
            others=_highest_of_others(recommended, metrics, policy),
        )
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_active(recommended.winner_name)
    conditions.able_to_scale(normalized.stabilization.reason)
    conditions.scaling_limited(normalized.bound.reason, is_limited=normalized.is_limited)
    decision = trial(
        situation,
        msgspec.structs.replace(
            derivation,
            proposed=found.recommended,
            zero=found.zero,
            stabilization=normalized.stabilization,
            forecast=forecast,
            bound=normalized.bound,
            remarks=_remarks(derivation, found.remarks, forecast, policy),
        ),
        desired=found.desired,
        # The reason is fixed before normalization: it may not fit the result.
        reason=_reason(found.recommended, current, recommended.winner_name),
        memory=memory,
        conditions=conditions.as_tuple(),
    )
    return msgspec.structs.replace(
        decision,
        events=(*_failures(recommended), *_forecast_events(situation, forecast)),
        error=recommended.error,
        error_class=ErrorClass.INTERNAL if recommended.error else ErrorClass.NONE,
    )


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
    return foresee(
        rules,
        situation.memory,
        load,
        period_seconds=situation.policy.sync_period_seconds,
        now_unix_seconds=workload.now_unix_seconds,
    )


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
    derivation: Derivation,
    found: tuple[Remark, ...],
    forecast: ForecastStep | None,
    policy: Policy,
) -> tuple[Remark, ...]:
    before = derivation.remarks
    if forecast is not None and policy.forecast is not None:
        # `plan` has put in that of the last reconcile.
        before = tuple(
            each for each in before if each.condition is not ConditionType.FORECAST_RELIABLE
        )
        before = (*before, forecast_remark(policy.forecast, forecast.verdict, forecast))
    return (*before, *found)


def _forecast_events(situation: Situation, forecast: ForecastStep | None) -> tuple[Event, ...]:
    before = situation.memory.forecast_state
    if forecast is None or before is None:
        return ()
    return verdict_events(before.verdict, forecast.verdict)


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
