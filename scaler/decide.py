"""Pure: one look at one autoscaler, from what was seen and measured to what is to be done.

The order is that of upstream's `reconcileAutoscaler`; what happens after the scale was (or was not)
written is `scaler.settle`.
"""

from collections.abc import Sequence

import msgspec

from scaler.model.autoscaler import MetricStatus
from scaler.model.decision import Branch, Decision, ErrorClass, Event, EventType
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleUnavailable, ScaleView
from scaler.model.readings import Reading
from scaler.model.settings import Settings
from scaler.normalize.history import seeded
from scaler.normalize.normalize import Normalized, normalize
from scaler.recommend.branch import branch_of, min_replicas, was_scaled_to_zero
from scaler.recommend.combine import Recommended, recommend
from scaler.recommend.selector import SelectorProblem, selector_problem
from scaler.recommend.subject import subject_of
from scaler.report.conditions import Conditions, unable_to_compute

ABOVE_MAX = "Current number of replicas above Spec.MaxReplicas"
BELOW_MIN = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW_TARGET = "All metrics below target"


def decide(
    observed: Observed,
    readings: Sequence[Reading],
    memory: Memory,
    settings: Settings,
    now_unix_seconds: float,
) -> Decision:
    """What to do now.

    `readings` belong to `recommend.combine.metrics_of(spec)`, one each; they are looked at only when
    `wants_metrics(observed, settings)` holds and `selector_problem(observed)` is None.
    """
    scale = observed.scale
    if isinstance(scale, ScaleUnavailable):
        return _without_scale(observed, scale, memory, settings, now_unix_seconds)
    look = _Look(observed, scale, memory, settings, now_unix_seconds)
    match branch_of(observed, settings):
        case Branch.DISABLED:
            return look.disabled()
        case Branch.ABOVE_MAX:
            return look.outside(Branch.ABOVE_MAX, observed.autoscaler.spec.max_replicas, ABOVE_MAX)
        case Branch.BELOW_MIN:
            return look.outside(Branch.BELOW_MIN, look.min_replicas, BELOW_MIN)
        case _:
            problem = selector_problem(observed)
            if problem is not None:
                return look.unselectable(problem)
            return look.by_metrics(readings)


def _without_scale(
    observed: Observed,
    scale: ScaleUnavailable,
    memory: Memory,
    settings: Settings,
    now_unix_seconds: float,
) -> Decision:
    """Nothing is known about the target: only the condition changes."""
    autoscaler = observed.autoscaler
    status = autoscaler.status
    conditions = Conditions(status.conditions if status else (), now_unix_seconds)
    conditions.unable_to_get_scale(scale.message)
    return Decision(
        autoscaler=autoscaler,
        branch=Branch.NO_SCALE,
        conditions=conditions.as_tuple(),
        events=(_warning("FailedGetScale", scale.message),),
        memory=memory,
        settings=settings,
        error=f"{scale.context}: {scale.message}",
        error_class=ErrorClass.SPEC if scale.spec_error else ErrorClass.INTERNAL,
        derivation=Derivation(
            autoscaler=autoscaler.key,
            made_at_unix_seconds=now_unix_seconds,
            branch=Branch.NO_SCALE.value,
            problem=scale.message,
        ),
    )


class _Look:
    """One look at a target whose scale is known; each public method is one way it can end."""

    def __init__(
        self,
        observed: Observed,
        scale: ScaleView,
        memory: Memory,
        settings: Settings,
        now_unix_seconds: float,
    ) -> None:
        self.observed = observed
        self.spec = observed.autoscaler.spec
        self.scale = scale
        self.current = scale.spec_replicas
        self.min_replicas = min_replicas(self.spec)
        self.settings = settings
        self.now = now_unix_seconds
        self.memory = seeded(memory, replicas=self.current, now_unix_seconds=now_unix_seconds)
        status = observed.autoscaler.status
        self.conditions = Conditions(status.conditions if status else (), now_unix_seconds)
        self.conditions.able_to_scale("SucceededGetScale")

    def disabled(self) -> Decision:
        """Somebody scaled to zero, and that switches autoscaling off."""
        self.conditions.scaling_inactive("ScalingDisabled")
        if not self.settings.scale_to_zero:
            self.conditions.remove_scaled_to_zero()
        return self._decision(self._derivation(Branch.DISABLED, desired=self.current))

    def outside(self, branch: Branch, desired: int, reason: str) -> Decision:
        """Outside the bounds: go to the bound at once, whatever metrics and history say."""
        return self._decision(self._derivation(branch, desired=desired, reason=reason))

    def unselectable(self, problem: SelectorProblem) -> Decision:
        """The target's pods cannot be told from others."""
        self.conditions.scaling_inactive(problem.condition_reason, problem.condition_message)
        event = _warning(problem.event_reason, problem.event_message)
        return self._undecided((), (event,), problem.event_message, problem.event_message)

    def by_metrics(self, readings: Sequence[Reading]) -> Decision:
        """Recommend, then normalize."""
        subject = subject_of(self.observed, self.scale, self.settings, self.now)
        recommended = recommend(self.spec, readings, subject)
        events = tuple(
            _warning(each.failure.reason, each.failure.message)
            for each in recommended.proposals
            if each.failure is not None
        )
        statuses = tuple(each.status for each in recommended.proposals)
        if recommended.replicas is None:
            if recommended.blocking is not None:
                message = unable_to_compute(recommended.blocking.message)
                self.conditions.scaling_inactive(recommended.blocking.reason, message)
            return self._undecided(statuses, events, recommended.error, "", recommended)
        self.conditions.scaling_active(recommended.winner_name)
        decided = self._normalized(recommended, recommended.replicas)
        return msgspec.structs.replace(
            decided,
            current_metrics=statuses,
            events=events,
            error=recommended.error,
            error_class=ErrorClass.INTERNAL if recommended.error else ErrorClass.NONE,
        )

    def _normalized(self, recommended: Recommended, replicas: int) -> Decision:
        proposed = max(0, replicas)
        normalized = normalize(
            self.memory,
            self.spec,
            current=self.current,
            recommended=proposed,
            min_replicas=self.min_replicas,
            settings=self.settings,
            now_unix_seconds=self.now,
        )
        self.memory = normalized.memory
        self.conditions.able_to_scale(normalized.stabilization.reason)
        self.conditions.scaling_limited(normalized.bound.reason, is_limited=normalized.is_limited)
        # The reason is fixed before normalization: it may not fit what comes out of it.
        reason = self._reason(proposed, recommended.winner_name)
        desired, lifted = normalized.bound.after, False
        if self._leaves_zero_below_min(desired):
            desired, lifted = self.min_replicas, True
            reason = reason or BELOW_MIN
        derivation = self._derivation(
            Branch.METRICS,
            desired=desired,
            reason=reason,
            recommended=recommended,
            normalized=normalized,
            lifted=lifted,
        )
        return self._decision(derivation)

    def _reason(self, proposed: int, winner_name: str) -> str:
        if proposed > self.current:
            return f"{winner_name} above target"
        return ALL_BELOW_TARGET if proposed < self.current else ""

    def _leaves_zero_below_min(self, desired: int) -> bool:
        """We scaled to zero, and the minimum was raised since."""
        return (
            self.current == 0
            and self.min_replicas != 0
            and desired < self.min_replicas
            and was_scaled_to_zero(self.observed, self.settings)
        )

    def _undecided(
        self,
        statuses: tuple[MetricStatus, ...],
        events: tuple[Event, ...],
        error: str,
        problem: str,
        recommended: Recommended | None = None,
    ) -> Decision:
        autoscaler = self.observed.autoscaler
        reference = self.spec.scale_target_ref
        target = f"{reference.kind}/{autoscaler.metadata.namespace}/{reference.name}"
        derivation = self._derivation(
            Branch.METRICS, desired=None, problem=problem, recommended=recommended
        )
        return msgspec.structs.replace(
            self._decision(derivation),
            current_metrics=statuses,
            events=events,
            events_after_status=(_warning("FailedComputeMetricsReplicas", error),),
            error="failed to compute desired number of replicas based on listed metrics "
            f"for {target}: {error}",
            error_class=ErrorClass.INTERNAL,
        )

    def _decision(self, derivation: Derivation) -> Decision:
        desired = derivation.desired_replicas
        return Decision(
            autoscaler=self.observed.autoscaler,
            branch=Branch(derivation.branch),
            current_replicas=self.current,
            desired_replicas=desired,
            rescale=desired is not None and desired != self.current,
            rescale_reason=derivation.rescale_reason,
            conditions=self.conditions.as_tuple(),
            memory=self.memory,
            settings=self.settings,
            derivation=derivation,
        )

    def _derivation(
        self,
        branch: Branch,
        *,
        desired: int | None,
        reason: str = "",
        problem: str = "",
        recommended: Recommended | None = None,
        normalized: Normalized | None = None,
        lifted: bool = False,
    ) -> Derivation:
        return Derivation(
            autoscaler=self.observed.autoscaler.key,
            made_at_unix_seconds=self.now,
            branch=branch.value,
            problem=problem,
            current_replicas=self.current,
            status_replicas=self.scale.status_replicas,
            min_replicas=self.min_replicas,
            max_replicas=self.spec.max_replicas,
            metrics=tuple(each.derivation for each in recommended.proposals) if recommended else (),
            winner=recommended.winner if recommended else None,
            proposed=normalized.stabilization.recommended if normalized else None,
            stabilization=normalized.stabilization if normalized else None,
            bound=normalized.bound if normalized else None,
            lifted_to_min=lifted,
            desired_replicas=desired,
            rescale_reason=reason,
        )


def _warning(reason: str, message: str) -> Event:
    return Event(type=EventType.WARNING, reason=reason, message=message)
