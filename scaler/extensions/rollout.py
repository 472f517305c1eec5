"""Pods that exist only because of a rollout (`podReadiness.rollout`).

During a rolling update a Deployment has up to `maxSurge` pods more than its replicas. Upstream resizes all ready
pods, so the surge pods, and the usage of pods that are starting, raise the count (kubernetes/kubernetes #72775,
#84142, #90461).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from scaler.algorithm.compute import recommend
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.observed import Pod
from scaler.algorithm.pod_groups import count_ready
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal
from scaler.algorithm.readings import PodSamples, Signal
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import RolloutPolicy
from scaler.extensions.revisions import revision_of

_UNKNOWN = datetime.max.replace(tzinfo=UTC)

_HOLD_NOTHING = ("", RolloutPolicy.COUNT, RolloutPolicy.HOTTEST_REVISION)

_RULE = {
    RolloutPolicy.IGNORE_SURGE.value: "pods in excess of the replicas do not count",
    RolloutPolicy.HOLD_UP.value: "nothing is scaled up",
}


class Rollout(Extension[str, None]):
    """Its rule is the policy: limits a scale-up to what does not come from a rollout in progress."""

    name = "rollout"
    conditions = (ConditionType.ROLLOUT_HELD,)

    def rules(self, given: Given, policy: Policy) -> str | None:
        """None for the policies that hold nothing."""
        readiness = given.spec.pod_readiness
        if readiness is None or readiness.rollout in _HOLD_NOTHING:
            return None
        return readiness.rollout

    def recommended(self, rules: str, draft: Draft) -> None:
        """A recommendation of fewer replicas stays as it is."""
        recommended, replicas = draft.recommended, draft.turn.current_replicas
        live = [each for each in draft.turn.pods if each.is_live]
        newest = _newest_revision(live)
        if not newest:
            draft.add(_remark(rules, in_progress=False))
            return
        proposed = None if recommended is None else recommended.replicas
        if recommended is not None and proposed is not None and proposed > replicas:
            if rules == RolloutPolicy.HOLD_UP:
                draft.recommended = msgspec.structs.replace(recommended, replicas=replicas)
            else:
                surge = _surge(live, newest, draft.workload.measured_replicas)
                _leave_out_surge(draft, surge, proposed)
        found = None if draft.recommended is None else draft.recommended.replicas
        held = proposed if found != proposed else None
        draft.add(_remark(rules, in_progress=True, would_be=held))

    def bounded(self, rules: str, draft: Draft) -> None:
        """Neither a forecast, a panic nor an earlier recommendation scales up what is held; `minReplicas` does."""
        turn, wanted = draft.turn, draft.replicas
        most = max(turn.current_replicas, turn.policy.min_replicas)
        if rules != RolloutPolicy.HOLD_UP:
            return
        draft.holds_up = bool(_newest_revision([each for each in turn.pods if each.is_live]))
        if wanted <= most or not draft.holds_up:
            return
        draft.replicas = most
        if not draft.remarks[ConditionType.ROLLOUT_HELD].holds:
            remark = _remark(rules, in_progress=True, would_be=wanted)
            detail = f"A forecast, a panic or an earlier recommendation would set {wanted}."
            draft.add(msgspec.structs.replace(remark, detail=detail))


def _leave_out_surge(draft: Draft, surge: frozenset[str], proposed: int) -> None:
    """Evaluate the metrics with fewer pods.

    A metric of type AverageValue that is within the tolerance proposes what the status of the target counts, which has the
    surge pods, too (`GetExternalPerPodMetricReplicas`).
    """
    turn = draft.turn
    counted_replicas = min(turn.scale.status_replicas, turn.current_replicas)
    if not surge and counted_replicas == turn.scale.status_replicas:
        return
    kept = tuple(each for each in turn.pods if each.metadata.name not in surge)
    scale = msgspec.structs.replace(turn.scale, status_replicas=counted_replicas)
    fewer = msgspec.structs.replace(turn, pods=kept, scale=scale)
    counted = recommend(fewer, [_without(each, surge) for each in draft.signals])
    found = counted.recommended
    if found is None or found.replicas is None:
        return
    limited = max(turn.current_replicas, min(proposed, found.replicas))
    # The groups of the fewer pods do not name those of the others that count for nothing, such as those that start.
    draft.signals = [
        _without(signal, surge & _not_counted(proposal))
        for signal, proposal in zip(draft.signals, draft.proposals, strict=True)
    ]
    draft.recommended = msgspec.structs.replace(found, replicas=limited)
    draft.states, draft.steps = counted.states, counted.steps
    for remark in counted.remarks.values():
        draft.add(remark)


def _surge(live: Sequence[Pod], newest: str, replicas: int) -> frozenset[str]:
    """The names of the pods beyond the target's replicas: first those that are not ready, then those of old revisions."""
    excess = len(live) - replicas
    if excess <= 0:
        return frozenset()
    ranked = sorted(
        live,
        key=lambda each: (
            count_ready((each,)),
            revision_of(each) == newest,
            each.metadata.name,
        ),
    )
    return frozenset(each.metadata.name for each in ranked[:excess])


def _not_counted(proposal: Proposal) -> frozenset[str]:
    groups = proposal.derivation.groups
    if groups is None:
        return frozenset()
    return frozenset((*groups.ignored, *groups.succeeded, *groups.unready))


def _without(signal: Signal, names: frozenset[str]) -> Signal:
    if not isinstance(signal.reading, PodSamples):
        return signal
    by_pod = {name: each for name, each in signal.reading.by_pod.items() if name not in names}
    return Signal(signal.metric, PodSamples(by_pod))


def _newest_revision(live: Sequence[Pod]) -> str:
    """The revision of the pod that was created last; empty where all pods that have one are of one revision."""
    created: dict[str, datetime] = {}
    for pod in live:
        time = pod.metadata.creation_timestamp or pod.status.start_time or _UNKNOWN
        revision = revision_of(pod)
        if not revision:
            continue
        created[revision] = max(time, created.get(revision, time))
    if len(created) < 2:
        return ""
    return max(created, key=lambda revision: (created[revision], revision))


def _remark(policy: str, *, in_progress: bool, would_be: int | None = None) -> Remark:
    if not in_progress:
        return Remark(
            condition=ConditionType.ROLLOUT_HELD,
            active=False,
            reason="NoRollout",
            message="all pods are of the same revision",
        )
    return Remark(
        condition=ConditionType.ROLLOUT_HELD,
        active=True,
        reason="RolloutInProgress",
        message=f"while pods of several revisions run, {_RULE.get(policy, policy)}",
        detail="" if would_be is None else f"With them, the metrics propose {would_be}.",
        holds=would_be is not None,
    )
