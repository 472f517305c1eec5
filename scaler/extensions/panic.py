"""A sudden load: scale up without limits, and do not scale down (`behavior.scaleUp.panic`).

Upstream: the panic mode of Knative Serving (pkg/autoscaler/scaling/autoscaler.go, `Scale`). Its panic window is a
short average of the same metric; here it is that of the recommendations, so one reconcile is enough where the
window is shorter than the period.
"""

import math

import msgspec

from scaler.algorithm.bounds import DESIRED_WITHIN_RANGE, TOO_MANY_REPLICAS
from scaler.algorithm.derivation import Bound
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.pod_groups import count_ready
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.algorithm.times import past_times
from scaler.api.autoscaler import Behavior, ConditionType, ScaleUpRules
from scaler.api.json_object import JsonObject

# Knative's defaults.
THRESHOLD_PERCENT = 200
WINDOW_SECONDS = 6
HOLD_SECONDS = 60
# Not at each reconcile: half of the default.
STORED_AGAIN_SECONDS = 30.0


class PanicRules(msgspec.Struct, frozen=True, kw_only=True):
    """`behavior.scaleUp.panic`."""

    threshold_ratio: float
    window_seconds: float
    hold_seconds: float


class Panicking(JsonObject, frozen=True, kw_only=True):
    """A panic: when the threshold was last reached, and the highest count so far."""

    over_at_unix_seconds: float
    highest: int


class PanicSample(msgspec.Struct, frozen=True, kw_only=True):
    """One recommendation of the panic window."""

    replicas: int
    made_at_unix_seconds: float


class PanicState(msgspec.Struct, frozen=True, kw_only=True):
    """The panic, None while there is none, and the recommendations of the window, which are not stored."""

    panicking: Panicking | None = None
    samples: tuple[PanicSample, ...] = ()


class Panic(Extension[PanicRules, PanicState]):
    """In a panic, no window and no policy limits a scale-up."""

    name = "panic"
    conditions = (ConditionType.PANICKING,)
    stored_as = "panic"
    state_type = Panicking

    def rules(self, given: Given, policy: Policy) -> PanicRules | None:
        """None without the field, and where scaling up is disabled."""
        match given.spec.behavior:
            case Behavior(scale_up=ScaleUpRules(panic=panic)) if panic is not None:
                if not policy.may_scale_up:
                    return None
                percent, window = panic.threshold_percent, panic.window_seconds
                hold = panic.hold_seconds
                return PanicRules(
                    threshold_ratio=(THRESHOLD_PERCENT if percent is None else percent) / 100.0,
                    window_seconds=float(WINDOW_SECONDS if window is None else window),
                    hold_seconds=float(HOLD_SECONDS if hold is None else hold),
                )
        return None

    def bounded(self, rules: PanicRules, draft: Draft) -> None:
        """The highest count of this panic, at least the current one, instead of what windows and policies leave."""
        turn, policy = draft.turn, draft.turn.policy
        # The window is about as long as the period.
        turn.moment.changes_always()
        state = _continued(rules, draft.states.get(self.name) or PanicState(), draft)
        draft.states[self.name] = state
        limited = draft.replicas
        draft.ignores_policies = state.panicking is not None
        if state.panicking is not None:
            wanted = max(state.panicking.highest, turn.current_replicas)
            after = max(min(wanted, policy.max_replicas), policy.min_replicas)
            draft.bound = Bound(
                min_replicas=policy.min_replicas,
                max_replicas=policy.max_replicas,
                before=wanted,
                after=after,
                reason=TOO_MANY_REPLICAS if after < wanted else DESIRED_WITHIN_RANGE,
            )
            draft.replicas = max(after, limited)
        draft.add(_remark(rules, state, limited=limited, desired=draft.replicas))

    def stored(self, state: PanicState) -> Panicking | None:
        """The panic."""
        return state.panicking

    def restored(self, stored: Panicking, now_unix_seconds: float) -> PanicState:
        """Without the samples of its window, which is a few seconds."""
        return PanicState(panicking=past_times(stored, now_unix_seconds))

    def restores_alike(self, stored: Panicking | None, newer: Panicking | None) -> bool:
        """The time goes on while a panic lasts; a restart shortens it by `STORED_AGAIN_SECONDS` at most."""
        if stored is None or newer is None:
            return stored is newer
        age_seconds = abs(newer.over_at_unix_seconds - stored.over_at_unix_seconds)
        return stored.highest == newer.highest and age_seconds <= STORED_AGAIN_SECONDS


def _continued(rules: PanicRules, before: PanicState, draft: Draft) -> PanicState:
    """Begin, continue or end it. A reconcile that has measured nothing does not begin one."""
    now, measured = draft.turn.moment.now_unix_seconds, _measured(draft)
    samples = tuple(
        each for each in before.samples if each.made_at_unix_seconds > now - rules.window_seconds
    )
    recent = 0
    if measured is not None:
        samples = (*samples, PanicSample(replicas=measured, made_at_unix_seconds=now))
        recent = math.ceil(sum(each.replicas for each in samples) / len(samples))
    panicking = panic_state(
        before.panicking,
        rules,
        stable=measured or 0,
        recent=recent,
        ready_pods=count_ready(draft.turn.pods),
        now_unix_seconds=now,
    )
    return PanicState(panicking=panicking, samples=samples)


def _measured(draft: Draft) -> int | None:
    """The recommendation; the largest proposal of the other metrics if it is that of a fallback, which has measured nothing.

    None without another one.
    """
    found = draft.recommended
    if found is None or found.winner is None:
        return draft.proposed
    if found.proposals[found.winner].fallen_back_from is None:
        return draft.proposed
    return max(
        (
            each.derivation.proposal
            for each in found.proposals
            if each.fallen_back_from is None and each.derivation.proposal is not None
        ),
        default=None,
    )


def panic_state(
    before: Panicking | None,
    rules: PanicRules,
    *,
    stable: int,
    recent: int,
    ready_pods: int,
    now_unix_seconds: float,
) -> Panicking | None:
    """Knative's rule. `stable` and `recent` are the pods that the long and the short average need."""
    is_over = recent / max(1, ready_pods) >= rules.threshold_ratio
    if not is_over and (
        before is None or before.over_at_unix_seconds + rules.hold_seconds < now_unix_seconds
    ):
        return None
    return Panicking(
        over_at_unix_seconds=now_unix_seconds
        if is_over or before is None
        else before.over_at_unix_seconds,
        highest=max(stable, recent, 0 if before is None else before.highest),
    )


def _remark(rules: PanicRules, found: PanicState, *, limited: int, desired: int) -> Remark:
    """`limited` is the count that windows and policies would have left."""
    percent = f"{rules.threshold_ratio * 100:g}% of the ready pods"
    if found.panicking is None:
        return Remark(
            condition=ConditionType.PANICKING,
            active=False,
            reason="NotPanicking",
            message=f"the metrics propose less than {percent}",
        )
    return Remark(
        condition=ConditionType.PANICKING,
        active=True,
        reason="Panicking",
        message=f"the metrics propose at least {percent}, or did within the last "
        f"{rules.hold_seconds:g} s: scaling up without limits, and not down",
        detail="" if limited == desired else f"Without that, the replica count would be {limited}.",
        holds=limited != desired,
    )
