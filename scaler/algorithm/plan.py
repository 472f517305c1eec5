"""The first half of a reconcile: what applies now, and whether metrics are needed at all.

The order is upstream's (`reconcileAutoscaler`); what follows an `Ask` is `scaler.algorithm.decide`.
"""

import msgspec

from scaler.algorithm.branch import branch_of, was_scaled_to_zero
from scaler.algorithm.conditions import Conditions
from scaler.algorithm.decision import Ask, Branch, Decision, ErrorClass, Situation, warning
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.guard import below_min, trial, uncomputable, undecided
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.observed import Observed, ScaleUnavailable, ScaleView
from scaler.algorithm.policy import Policy
from scaler.algorithm.recommendations import confirmed, held, seeded
from scaler.algorithm.remark import Remark
from scaler.algorithm.restart import restored
from scaler.algorithm.settings import Settings
from scaler.algorithm.target_selector import UnusableSelector, target_selector
from scaler.extensions.candidate.progress import waiting_remark
from scaler.extensions.candidate.rules import (
    candidate_ask,
    candidate_rules,
    candidate_spec,
    with_bounds_of,
    with_candidate,
)
from scaler.extensions.forecast.foresee import continued
from scaler.extensions.forecast.remark import forecast_remark
from scaler.extensions.forecast.warm_start import history_text, warm_started
from scaler.extensions.schedules.bounds import with_schedules

ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"


def plan(
    observed: Observed, memory: Memory, settings: Settings, now_unix_seconds: float
) -> Ask | Decision:
    """Decide at once where no metric is needed; otherwise say which metrics are, and of whose pods."""
    spec = observed.autoscaler.spec
    policy = policy_of(spec, settings)
    if spec.schedules:
        policy = with_schedules(policy, spec.schedules, observed.calendars, now_unix_seconds)
    if spec.candidate is not None:
        of_candidate = policy_of(candidate_spec(spec, spec.candidate), settings)
        rules = candidate_rules(spec.candidate, with_bounds_of(of_candidate, policy))
        policy = msgspec.structs.replace(policy, candidate=rules)
    if isinstance(observed.scale, ScaleUnavailable):
        return _without_scale(observed, observed.scale, policy, memory, now_unix_seconds)
    situation = _situation(observed, observed.scale, policy, memory, now_unix_seconds)
    match situation.derivation.branch:
        case Branch.METRICS:
            return _by_metrics(situation, now_unix_seconds)
        case Branch.SHARED_TARGET:
            return _shared_target(situation, observed.rivals, now_unix_seconds)
        case Branch.ABOVE_MAX:
            return _at_once(situation, policy.max_replicas, _above_max(policy))
        case Branch.BELOW_MIN:
            return _at_once(situation, policy.min_replicas, below_min(policy))
        case _:
            return _disabled(situation, now_unix_seconds)


def _situation(
    observed: Observed, scale: ScaleView, policy: Policy, memory: Memory, now: float
) -> Situation:
    autoscaler, current = observed.autoscaler, scale.spec_replicas
    memory = _continued(observed, memory, policy, current, now)
    state = memory.forecast_state
    memory = warm_started(memory, policy, observed.warm_start, now)
    history = history_text(memory.forecast_state, observed.warm_start)
    by_controller = was_scaled_to_zero(autoscaler, policy, memory)
    branch = branch_of(current, policy, was_scaled_to_zero=by_controller)
    if observed.rivals:
        branch = Branch.SHARED_TARGET
    conditions = _conditions(observed, now)
    conditions.able_to_scale("SucceededGetScale")
    if memory.scaled_to_zero:
        # The status that said so may not have been written.
        conditions.scaled_to_zero(by_controller=True)
    return Situation(
        autoscaler=autoscaler,
        scale=scale,
        policy=policy,
        memory=memory,
        was_scaled_to_zero=by_controller,
        outdated=observed.outdated,
        conditions=conditions.as_tuple(),
        derivation=Derivation(
            autoscaler=autoscaler.key,
            made_at_unix_seconds=now,
            branch=branch.value,
            current_replicas=current,
            status_replicas=scale.status_replicas,
            min_replicas=policy.min_replicas,
            max_replicas=policy.max_replicas,
            remarks=_remarks(policy, memory, history),
        ),
        history=history,
        has_learnt_history=memory.forecast_state is not state,
    )


def _remarks(policy: Policy, memory: Memory, history: str) -> tuple[Remark, ...]:
    """What is known before any metric is read."""
    remarks = () if policy.schedule is None else (policy.schedule.remark,)
    if policy.forecast is not None:
        state = memory.forecast_state
        verdict = None if state is None else state.verdict
        remarks = (*remarks, forecast_remark(policy.forecast, verdict, history=history))
    if policy.candidate is not None:
        remarks = (*remarks, waiting_remark(memory.candidate))
    return remarks


def _continued(
    observed: Observed, memory: Memory, policy: Policy, current: int, now: float
) -> Memory:
    """The memory as this reconcile starts from it: restored after a restart, seeded at the first reconcile."""
    if isinstance(memory, StoredMemory):
        memory = restored(memory, policy, replicas=current, now_unix_seconds=now)
    else:
        memory = confirmed(memory, policy, replicas=current)
    if observed.rivals:
        # Others set the count meanwhile: afterwards, begin with what they leave behind.
        memory = msgspec.structs.replace(memory, recommendations=None)
    if memory.scaled_to_zero and (current > 0 or not policy.scale_to_zero):
        memory = msgspec.structs.replace(memory, scaled_to_zero=False)
    memory = continued(memory, policy.forecast, now)
    memory = with_candidate(memory, policy.candidate)
    return seeded(memory, replicas=current, now_unix_seconds=now)


def _by_metrics(situation: Situation, now: float) -> Ask | Decision:
    selector = target_selector(situation.scale)
    if not isinstance(selector, UnusableSelector):
        metrics, candidate = candidate_ask(situation.autoscaler.spec)
        return Ask(situation=situation, selector=selector, metrics=metrics, candidate=candidate)
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_inactive("InvalidSelector", selector.condition_message)
    return uncomputable(
        situation,
        msgspec.structs.replace(situation.derivation, problem=selector.event_message),
        error=selector.event_message,
        memory=held(situation.memory, situation.policy, now),
        conditions=conditions.as_tuple(),
        events=(warning(selector.event_reason, selector.event_message),),
    )


def _above_max(policy: Policy) -> str:
    if policy.schedule is None or not policy.schedule.sets_max:
        return ABOVE_MAX
    return f"Current number of replicas above maxReplicas {policy.max_replicas} of a schedule"


def _at_once(situation: Situation, desired: int, reason: str) -> Decision:
    """Outside the bounds: to the bound at once, whatever metrics and history say."""
    return trial(
        situation,
        situation.derivation,
        desired=desired,
        reason=reason,
        memory=situation.memory,
        conditions=situation.conditions,
    )


def _disabled(situation: Situation, now: float) -> Decision:
    """Zero replicas that the controller did not set disable autoscaling."""
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_inactive("ScalingDisabled")
    if not situation.policy.scale_to_zero:
        conditions.remove_scaled_to_zero()
    return trial(
        situation,
        situation.derivation,
        desired=situation.scale.spec_replicas,
        # Whatever the metrics do meanwhile is not measured.
        memory=msgspec.structs.replace(situation.memory, extensions=None),
        conditions=conditions.as_tuple(),
    )


def _shared_target(situation: Situation, rivals: tuple[str, ...], now: float) -> Decision:
    """Another autoscaler names the same target: scaling it too would make the two fight, also about bounds.

    Not upstream's, whose controller does not see other kinds.
    """
    target = situation.autoscaler.spec.scale_target_ref
    others = " and ".join(rivals)
    message = f"{target.kind}/{target.name} is scaled by {others} as well: delete one of them"
    conditions = Conditions(situation.conditions, now)
    conditions.scaling_inactive("AmbiguousSelector", message)
    return undecided(
        situation,
        msgspec.structs.replace(situation.derivation, problem=message),
        error=message,
        error_class=ErrorClass.SPEC,
        memory=situation.memory,
        conditions=conditions.as_tuple(),
        events=(warning("AmbiguousSelector", message),),
    )


def _without_scale(
    observed: Observed, scale: ScaleUnavailable, policy: Policy, memory: Memory, now: float
) -> Decision:
    """Nothing is known about the target: only the condition changes."""
    conditions = _conditions(observed, now)
    conditions.unable_to_get_scale(scale.message)
    return Decision(
        autoscaler=observed.autoscaler,
        branch=Branch.NO_SCALE,
        policy=policy,
        conditions=conditions.as_tuple(),
        events=(warning("FailedGetScale", scale.message),),
        memory=held(memory, policy, now),
        error=f"{scale.context}: {scale.message}",
        error_class=ErrorClass.SPEC if scale.spec_error else ErrorClass.INTERNAL,
        derivation=Derivation(
            autoscaler=observed.autoscaler.key,
            made_at_unix_seconds=now,
            branch=Branch.NO_SCALE.value,
            problem=scale.message,
        ),
    )


def _conditions(observed: Observed, now: float) -> Conditions:
    """Those of the last status, to be changed in place."""
    status = observed.autoscaler.status
    return Conditions(status.conditions if status else (), now)
