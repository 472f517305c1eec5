"""When a target goes to zero and leaves it, by the activity of its metrics (`scaleToZero`, `activationValue`).

A metric is active above its activation value, as a scaler of KEDA is (`activationThreshold`). The target goes to
zero once no metric has been active for the cooldown, and leaves zero as soon as one is. Between the two it is scaled by
all of its metrics with at least one replica, as by the HPA of KEDA, which decides nothing at zero. While another minimum
than that of the spec applies, the target is active, as it is for a cron trigger of KEDA.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.decision import Branch
from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal
from scaler.algorithm.readings import Signal
from scaler.api.autoscaler import MetricSpec, MetricTargetType
from scaler.api.extension_spec import ManualZero
from scaler.extensions.measured_value import measured_milli
from wire.api.wording import some

# KEDA's default of `cooldownPeriod`, and the CRD's.
COOLDOWN_SECONDS = 300.0
# Less than any period.
SAME_SECONDS = 1.0
_NEVER_ACTIVE_MILLI = milli("1P")
"""An activation value of cpu or memory that no pod reaches."""


class ZeroRules(msgspec.Struct, frozen=True, kw_only=True):
    """`manual_zero_activates`: whether a zero that a user set counts as the controller's."""

    cooldown_seconds: float
    manual_zero_activates: bool


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the metrics that are active, and whether one is not known, which may be active."""

    active: tuple[str, ...] = ()
    unknown: bool = False


class ZeroStep(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the target may be at zero: the active metrics, and since when there are none.

    `floor`: the least number of replicas, 0 if it may be at zero; `decides` if only that keeps the target from fewer.
    """

    active: tuple[str, ...] = ()
    unknown: bool = False
    inactive_since_unix_seconds: float | None = None
    cooldown_seconds: float
    floor: int
    decides: bool = False


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """For how long no metric was active, before it was not known any more."""

    inactive_seconds: float


Inactive = float | Paused
"""Since when no metric is active, in Unix seconds, without the time in which that was not known."""


class Zero(msgspec.Struct, frozen=True, kw_only=True):
    """What is recommended to the next steps, the least that may result from them, and what is remembered."""

    recommended: int
    floor: int
    inactive: Inactive | None

    @property
    def inactive_since_unix_seconds(self) -> float | None:
        """None while a metric is active, or may be."""
        return None if isinstance(self.inactive, Paused) else self.inactive


class ScaleToZero(Extension[ZeroRules, Inactive]):
    """Its state is None while a metric is active."""

    name = "zero"
    stored_as = "inactiveSinceUnixSeconds"
    state_type = float
    step_type = ZeroStep

    def rules(self, given: Given, policy: Policy) -> ZeroRules | None:
        """Only with `minReplicas: 0`: otherwise a metric that is not active has the minimum as its floor."""
        spec = given.spec
        field = spec.scale_to_zero
        if spec.min_replicas != 0:
            return None
        if field is None:
            if all(metric.activation_value is None for metric in spec.metrics or ()):
                return None
            return ZeroRules(cooldown_seconds=0.0, manual_zero_activates=False)
        given_seconds = field.cooldown_seconds
        return ZeroRules(
            cooldown_seconds=COOLDOWN_SECONDS if given_seconds is None else float(given_seconds),
            manual_zero_activates=field.manual_zero == ManualZero.ACTIVATE,
        )

    def policy(self, rules: ZeroRules, policy: Policy) -> Policy:
        """With `manualZero: Activate` every zero counts as the controller's."""
        return msgspec.structs.replace(
            policy,
            starts_over_at_zero=True,
            manual_zero_activates=rules.manual_zero_activates or policy.manual_zero_activates,
        )

    def begin(
        self,
        rules: ZeroRules,
        state: Inactive | None,
        turn: Turn,
        known_replicas: tuple[int, ...] | None,
    ) -> Inactive | None:
        """While another autoscaler scales the target, no metric is read."""
        return None if turn.branch is Branch.SHARED_TARGET else state

    def held(
        self, rules: ZeroRules, state: Inactive, now_unix_seconds: float, *, were_read: bool
    ) -> Inactive | None:
        """The cooldown begins again if the metrics were not read: one may have been active. Otherwise `recommended` has decided."""
        return state if were_read else None

    def proposals(self, rules: ZeroRules, draft: Draft) -> None:
        """At zero there are no pods: metrics of pods do not fail, and a target of type Value has nothing to multiply yet."""
        if draft.turn.current_replicas == 0:
            known = zip(draft.signals, draft.proposals, strict=True)
            draft.proposals = tuple(
                _without_pods(signal.metric, _to_start(signal.metric, each))
                for signal, each in known
            )

    def recommended(self, rules: ZeroRules, draft: Draft) -> None:
        """Remember since when no metric is active. Whether it may go to zero is known even if one has failed that is never active."""
        if draft.turn.policy.min_replicas > 0:
            draft.states.pop(self.name, None)
            return
        recommended = draft.recommended
        found_activity, found = self._judged(rules, draft, 0)
        draft.states[self.name] = found.inactive
        if recommended is None or recommended.replicas is not None or recommended.winner is None:
            return
        if found.recommended == 0 and not found_activity.unknown:
            draft.recommended = msgspec.structs.replace(recommended, replicas=0, blocking=None)

    def recommendation(self, rules: ZeroRules, draft: Draft) -> None:
        """Zero, or one at least; while the bounds allow no zero, what the metrics recommend."""
        turn = draft.turn
        if turn.policy.min_replicas > 0:
            return
        found_activity, found = self._judged(rules, draft, draft.replicas)
        draft.replicas = found.recommended
        if _has_waited_for_window(turn, found):
            # What is remembered since the last active metric was one at least because of the cooldown.
            draft.memory = msgspec.structs.replace(draft.memory, recommendations=())
        draft.steps[self.name] = ZeroStep(
            active=found_activity.active,
            unknown=found_activity.unknown,
            inactive_since_unix_seconds=found.inactive_since_unix_seconds,
            cooldown_seconds=rules.cooldown_seconds,
            floor=found.floor,
        )

    def _judged(self, rules: ZeroRules, draft: Draft, recommended: int) -> tuple[Activity, Zero]:
        turn = draft.turn
        found = activity(draft.signals, _proposals(draft))
        return found, zero(
            rules,
            draft.states.get(self.name),
            found,
            current=turn.current_replicas,
            recommended=recommended,
            may_leave_zero=turn.policy.may_scale_up,
            moment=turn.moment,
        )

    def bounded(self, rules: ZeroRules, draft: Draft) -> None:
        """The floor applies whatever bounds say."""
        step: ZeroStep | None = draft.steps.get(self.name)
        if step is None:
            return
        since = step.inactive_since_unix_seconds
        is_held_otherwise = since is None or not _is_window_over(draft.turn, since)
        draft.steps[self.name] = msgspec.structs.replace(
            step, decides=draft.replicas <= step.floor and step.floor > 0 and not is_held_otherwise
        )
        draft.replicas = max(draft.replicas, step.floor)

    def sentence(self, step: ZeroStep, now_unix_seconds: float) -> str:
        """Why it may be at zero, or not."""
        if step.active and not step.floor:
            return (
                f"It stays at zero, although {some(step.active)} is above the activation value: "
                "behavior.scaleUp.selectPolicy is Disabled."
            )
        if step.active:
            return (
                f"It stays above zero, because {some(step.active)} is above the activation value."
            )
        if step.unknown and step.floor:
            return "It does not go to zero, because a metric that failed may be above its activation value."
        if step.unknown:
            return "It stays at zero: no metric is known to be above its activation value, and one has failed."
        since = step.inactive_since_unix_seconds or now_unix_seconds
        inactive = (
            f"No metric has been above its activation value for {now_unix_seconds - since:.0f} s"
        )
        if step.floor:
            return f"{inactive}; it goes to zero after a cooldown of {step.cooldown_seconds:g} s."
        return f"{inactive}, so it may go to zero."

    def hold(self, step: ZeroStep) -> tuple[str, str] | None:
        """Where only the cooldown keeps a target without load from zero."""
        if not step.decides:
            return None
        return "Cooldown", f"the cooldown of {step.cooldown_seconds:g} s keeps it from zero"

    def stored(self, state: Inactive) -> float | None:
        """Nothing while it is not known whether a metric is active: after a restart, the cooldown begins again."""
        return None if isinstance(state, Paused) else state

    def restored(self, stored: float, now_unix_seconds: float) -> float:
        """A time of the future is now."""
        return min(stored, now_unix_seconds)

    def shifted(self, state: Inactive, seconds: float) -> Inactive:
        """The same age."""
        return state if isinstance(state, Paused) else state + seconds

    def restores_alike(self, stored: float | None, newer: float | None) -> bool:
        """Times are the same within a second."""
        if stored is None or newer is None:
            return stored is newer
        return abs(stored - newer) <= SAME_SECONDS


def zero(
    rules: ZeroRules,
    known: Inactive | None,
    found: Activity,
    *,
    current: int,
    recommended: int,
    may_leave_zero: bool,
    moment: Moment,
) -> Zero:
    """Decide between zero and one or more; how many more is left to the metrics.

    `may_leave_zero` is False where scaling up is disabled.
    """
    if found.active:
        floor = 0 if current == 0 and not may_leave_zero else 1
        return Zero(recommended=max(1, recommended), floor=floor, inactive=None)
    if found.unknown:
        # KEDA goes on with the cooldown, and does not go to zero either while a trigger fails (`RequestScale`).
        paused = _paused(known, moment)
        if current == 0:
            return Zero(recommended=0, floor=0, inactive=paused)
        return Zero(recommended=max(1, recommended), floor=1, inactive=paused)
    since = _since(known, moment)
    if current > 0 and not moment.reached(since + rules.cooldown_seconds):
        # What is not active may still need replicas, such as cpu after the last message of a queue.
        return Zero(recommended=max(1, recommended), floor=1, inactive=since)
    return Zero(recommended=0, floor=0, inactive=since)


def _paused(known: Inactive | None, moment: Moment) -> Paused | None:
    match known:
        case float():
            return Paused(inactive_seconds=moment.now_unix_seconds - known)
        case _:
            return known


def _since(known: Inactive | None, moment: Moment) -> float:
    match known:
        case Paused():
            return moment.now_unix_seconds - known.inactive_seconds
        case None:
            return moment.now_unix_seconds
        case _:
            return known


def _has_waited_for_window(turn: Turn, found: Zero) -> bool:
    """Whether the target may be at zero, and nothing but the cooldown has recommended more for a whole window.

    So the stabilization window and the cooldown begin together. Nothing else lets a target leave zero than an active metric.
    """
    if found.recommended > 0:
        return False
    since = found.inactive_since_unix_seconds
    return turn.current_replicas == 0 or (since is not None and _is_window_over(turn, since))


def _is_window_over(turn: Turn, since_unix_seconds: float) -> bool:
    """Whether no recommendation from before that time counts any more."""
    until = since_unix_seconds + turn.policy.scale_down_window_seconds
    # Without `behavior`, one that was last made exactly a window ago still counts.
    if turn.policy.behavior is None:
        return turn.moment.passed(until)
    return turn.moment.reached(until)


def activity(signals: Sequence[Signal], proposals: Sequence[Proposal]) -> Activity:
    """The activity of the metrics that scale; `proposals` are for them, in the same order.

    A metric that falls back is active, as in KEDA from 2.19 on (`isActiveOrFallback` in scale_handler.go), unless its fallback proposes
    zero. Without a fallback, a failure starts nothing.
    """
    active: list[str] = []
    unknown = False
    for signal, proposal in zip(signals, proposals, strict=True):
        metric, found = signal.metric, proposal.derivation
        if metric.is_input:
            continue
        value = measured_milli(signal, found)
        if value is not None:
            is_active = value > milli(metric.activation_value or 0)
        elif proposal.failure is not None:
            unknown = unknown or not _is_never_active(metric)
            continue
        else:
            # A fallback proposes in spite of the failure, without a value.
            is_active = (found.proposal or 0) > 0
        if is_active:
            active.append(metric.name or found.name)
    return Activity(active=tuple(active), unknown=unknown)


def _is_never_active(metric: MetricSpec) -> bool:
    """Whether it is cpu or memory with an activation value that no pod reaches, as `migrate` sets it: KEDA reads no activity from them."""
    is_usage = metric.resource is not None or metric.container_resource is not None
    value = metric.activation_value
    return is_usage and value is not None and milli(value) >= _NEVER_ACTIVE_MILLI


def _to_start(metric: MetricSpec, proposal: Proposal) -> Proposal:
    """The proposal at zero replicas. As the HPA of KEDA, which multiplies the ready pods by the ratio, and has one replica at least."""
    found = proposal.derivation
    multiplies = found.usage_ratio is not None and _has_value_target(metric)
    if not multiplies or found.proposal is None or found.proposal <= 1:
        return proposal
    sentence = found.sentence and f"{found.sentence} At zero, that is one replica."
    changed = msgspec.structs.replace(found, proposal=1, ready_pods=0, sentence=sentence)
    return msgspec.structs.replace(proposal, derivation=changed)


def _without_pods(metric: MetricSpec, proposal: Proposal) -> Proposal:
    """Nothing is wrong with a metric that has no value only because there are no pods."""
    failure = proposal.failure
    if failure is None or failure.is_spec_error or metric.of_target is not None:
        return proposal
    found = proposal.derivation
    sentence = f"{found.name}: it has no value, because the target has no pods."
    changed = msgspec.structs.replace(found, failure="", is_input=True, sentence=sentence)
    return msgspec.structs.replace(proposal, derivation=changed, failure=None)


def _has_value_target(metric: MetricSpec) -> bool:
    """By the rules of `external_metric` and `object_metric`."""
    if metric.external is not None:
        return metric.external.target.average_value is None
    source = metric.of_target
    return source is not None and source.target.type == MetricTargetType.VALUE


def _proposals(draft: Draft) -> Sequence[Proposal]:
    return () if draft.recommended is None else draft.recommended.proposals
