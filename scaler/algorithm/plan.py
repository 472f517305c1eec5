"""The first half of a reconcile: what applies now, and whether metrics are needed at all.

The order is upstream's (`reconcileAutoscaler`); what follows an `Ask` is `scaler.algorithm.decide`.
"""

import msgspec

from scaler.algorithm.branch import branch_of, was_scaled_to_zero
from scaler.algorithm.conditions import Conditions
from scaler.algorithm.decision import Branch, Decision, ErrorClass, warning
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.draft import Ask, Draft, Turn
from scaler.algorithm.effective_policy import effective_policy
from scaler.algorithm.extension import Given, parts_of
from scaler.algorithm.guard import decided, uncomputable, undecided
from scaler.algorithm.history import begun_with_states, disabled_with_states, held_with_states
from scaler.algorithm.memory import AnyMemory, Memory, StoredMemory
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import Observed, ScaleUnavailable, ScaleView
from scaler.algorithm.policy import Policy
from scaler.algorithm.restart import resumed
from scaler.algorithm.settings import Settings
from scaler.algorithm.spec_limits import METRICS, excess_of_behavior, excess_of_metrics
from scaler.algorithm.target_selector import UnusableSelector, target_selector
from scaler.api.autoscaler import metrics_of


def plan(
    observed: Observed, memory: AnyMemory, settings: Settings, now_unix_seconds: float
) -> Ask | Decision:
    """Decide at once where no metric is needed; otherwise say which metrics are, and of whose pods."""
    moment = Moment(now_unix_seconds)
    given = Given(
        autoscaler=observed.autoscaler,
        spec=observed.autoscaler.spec,
        settings=settings,
        inputs=observed.inputs,
        moment=moment,
        states=memory.states if isinstance(memory, Memory) else {},
    )
    policy = effective_policy(given)
    if isinstance(observed.scale, ScaleUnavailable):
        return _without_scale(observed, observed.scale, policy, settings, memory, moment)
    turn = _turn(observed, observed.scale, policy, settings, memory, moment)
    match turn.branch:
        case Branch.METRICS:
            return _by_metrics(turn)
        case Branch.SHARED_TARGET:
            return _shared_target(turn, observed.rivals)
        case Branch.ABOVE_MAX:
            return _at_once(turn, policy.max_replicas, policy.above_max_reason)
        case Branch.BELOW_MIN:
            return _at_once(turn, policy.min_replicas, policy.below_min_reason)
        case _:
            return _disabled(turn)


def _turn(
    observed: Observed,
    scale: ScaleView,
    policy: Policy,
    settings: Settings,
    before: AnyMemory,
    moment: Moment,
) -> Turn:
    autoscaler, current = observed.autoscaler, scale.spec_replicas
    parts = parts_of(settings.extensions, policy)
    memory = resumed(
        before,
        policy,
        parts,
        replicas=current,
        has_rivals=bool(observed.rivals),
        now_unix_seconds=moment.now_unix_seconds,
    )
    if observed.has_left_zero:
        memory = msgspec.structs.replace(memory, scaled_to_zero=True)
    if memory.scaled_to_zero and (current > 0 or not policy.scale_to_zero):
        memory = msgspec.structs.replace(memory, scaled_to_zero=False)
    by_controller = was_scaled_to_zero(autoscaler, policy, memory)
    branch = branch_of(current, policy, was_scaled_to_zero=by_controller)
    if observed.rivals:
        branch = Branch.SHARED_TARGET
    conditions = _conditions(observed, moment)
    conditions.able_to_scale("SucceededGetScale")
    if memory.scaled_to_zero and policy.upstream.marks_zero:
        # The status that said so may not have been written.
        conditions.scaled_to_zero(by_controller=True)
    if current > 0 and policy.kind.knows_who_set_zero:
        conditions.left_zero()
    turn = Turn(
        autoscaler=autoscaler,
        scale=scale,
        settings=settings,
        policy=policy,
        parts=parts,
        memory=memory,
        moment=moment,
        branch=branch,
        conditions=conditions.as_tuple(),
        inputs=observed.inputs,
        outdated=observed.outdated,
        period_replicas=observed.period_replicas,
        was_scaled_to_zero=by_controller,
    )
    known_replicas = before.known_replicas if isinstance(before, StoredMemory) else None
    return msgspec.structs.replace(turn, memory=begun_with_states(turn, known_replicas))


def _by_metrics(turn: Turn) -> Ask | Decision:
    selector = target_selector(turn.scale)
    if isinstance(selector, UnusableSelector):
        return _unusable_selector(turn, selector)
    of_extensions = [
        (f"spec.{part.extension.name}", part.extension.metrics(part.rules)) for part in turn.parts
    ]
    wanted = [(METRICS, metrics_of(turn.autoscaler.spec)), *of_extensions]
    excess = excess_of_metrics(wanted) or excess_of_behavior(turn.policy.behavior)
    if excess is not None:
        return _too_large(turn, excess)
    metrics = list(metrics_of(turn.autoscaler.spec))
    for _, also in of_extensions:
        metrics += [each for each in also if each not in metrics]
    return Ask(turn=turn, selector=selector, metrics=tuple(metrics))


def _unusable_selector(turn: Turn, selector: UnusableSelector) -> Decision:
    """Without its pods, no metric is computed."""
    draft = Draft(turn)
    draft.hold(were_read=False)
    draft.conditions.scaling_inactive("InvalidSelector", selector.condition_message)
    return uncomputable(
        draft,
        problem=selector.event_message,
        error=selector.event_message,
        events=(warning(selector.event_reason, selector.event_message),),
    )


def _too_large(turn: Turn, excess: str) -> Decision:
    """Evaluating it would delay other autoscalers."""
    draft = Draft(turn)
    draft.hold(were_read=False)
    draft.conditions.scaling_inactive("SpecTooLarge", excess)
    return undecided(
        draft,
        problem=excess,
        error=excess,
        error_class=ErrorClass.SPEC,
        events=(warning("SpecTooLarge", excess),),
    )


def _at_once(turn: Turn, desired: int, reason: str) -> Decision:
    """Outside the bounds: to the bound at once, whatever metrics and history say."""
    draft = Draft(turn)
    draft.replicas, draft.reason = desired, reason
    return decided(draft)


def _disabled(turn: Turn) -> Decision:
    """Zero replicas that the controller did not set disable autoscaling."""
    memory = disabled_with_states(turn.memory, turn.settings.extensions)
    draft = Draft(msgspec.structs.replace(turn, memory=memory))
    draft.conditions.scaling_inactive("ScalingDisabled")
    if turn.policy.upstream.marks_zero and not turn.policy.scale_to_zero:
        draft.conditions.remove_scaled_to_zero()
    return decided(draft)


def _shared_target(turn: Turn, rivals: tuple[str, ...]) -> Decision:
    """Another autoscaler names the same target: scaling it too would make the two fight, also about bounds.

    Not upstream's, whose controller does not see other kinds.
    """
    target = turn.autoscaler.spec.scale_target_ref
    others = " and ".join(rivals)
    message = f"{target.kind}/{target.name} is scaled by {others} as well: delete one of them"
    draft = Draft(turn)
    draft.conditions.scaling_inactive("AmbiguousSelector", message)
    return undecided(
        draft,
        problem=message,
        error=message,
        error_class=ErrorClass.SPEC,
        events=(warning("AmbiguousSelector", message),),
    )


def _without_scale(
    observed: Observed,
    scale: ScaleUnavailable,
    policy: Policy,
    settings: Settings,
    memory: AnyMemory,
    moment: Moment,
) -> Decision:
    """Nothing is known about the target: only the condition changes."""
    if isinstance(memory, Memory):
        parts = parts_of(settings.extensions, policy)
        memory = held_with_states(memory, policy, parts, moment.now_unix_seconds, were_read=False)
    conditions = _conditions(observed, moment)
    conditions.unable_to_get_scale(scale.message)
    return Decision(
        autoscaler=observed.autoscaler,
        branch=Branch.NO_SCALE,
        policy=policy,
        extensions=settings.extensions,
        conditions=conditions.as_tuple(),
        events=(warning("FailedGetScale", scale.message),),
        memory=memory if isinstance(memory, Memory) else Memory(),
        not_continued=memory if isinstance(memory, StoredMemory) else None,
        error=f"{scale.context}: {scale.message}",
        error_class=ErrorClass.SPEC if scale.spec_error else ErrorClass.INTERNAL,
        derivation=Derivation(
            autoscaler=observed.autoscaler.key,
            made_at_unix_seconds=moment.now_unix_seconds,
            branch=Branch.NO_SCALE.value,
            problem=scale.message,
        ),
    )


def _conditions(observed: Observed, moment: Moment) -> Conditions:
    """Those of the last status, to be changed in place."""
    status = observed.autoscaler.status
    return Conditions(status.conditions if status else (), moment.now_unix_seconds)
