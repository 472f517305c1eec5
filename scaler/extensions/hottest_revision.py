"""The busiest revision of a rollout decides, where the average over all pods hides it (`podReadiness.rollout: HottestRevision`).

A canary has the share of the traffic that its rollout gives it, not that of its pods. While it is overloaded and the
stable pods idle, the average over both may be within the tolerance (argoproj/argo-rollouts #4607).
"""

from collections.abc import Mapping

import msgspec

from scaler.algorithm.combine import combine
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.go_numbers import INT32_MAX, ceil, float_to_int32
from scaler.algorithm.observed import Pod
from scaler.algorithm.policy import Policy, Tolerances
from scaler.algorithm.propose import Proposal, propose
from scaler.algorithm.readings import PodSamples, Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import RolloutPolicy
from scaler.extensions.revisions import live_pods_by_revision

# Each revision is an evaluation of each metric. More of them only exist if labels are not what they seem to be.
REVISIONS_MAX = 20


class HottestRevision(Extension[bool, None]):
    """Raises the proposal of a metric of pods to that of the revision which needs most."""

    name = "hottestRevision"
    conditions = (ConditionType.HOTTEST_REVISION,)

    def rules(self, given: Given, policy: Policy) -> bool | None:
        """None for the other policies."""
        readiness = given.spec.pod_readiness
        if readiness is None or readiness.rollout != RolloutPolicy.HOTTEST_REVISION:
            return None
        return True

    def recommended(self, rules: bool, draft: Draft) -> None:
        """Take the largest proposal again, if a revision needs more than the average over all pods."""
        before = draft.recommended
        revisions = _largest(live_pods_by_revision(draft.turn.pods))
        if before is None or len(revisions) < 2:
            draft.add(_remark(in_progress=len(revisions) > 1))
            return
        workload = draft.workload
        workloads = {
            revision: msgspec.structs.replace(workload, pods=pods)
            for revision, pods in revisions.items()
        }
        proposals = tuple(
            _raised(signal, proposal, workloads, workload)
            for signal, proposal in zip(draft.signals, before.proposals, strict=True)
        )
        draft.recommended = combine(proposals, draft.turn.current_replicas)
        average, found = before.replicas, draft.recommended.replicas
        draft.add(_remark(in_progress=True, raised=found != average, average=average))


def _largest(revisions: Mapping[str, tuple[Pod, ...]]) -> dict[str, tuple[Pod, ...]]:
    ranked = sorted(revisions, key=lambda each: (-len(revisions[each]), each))
    return {each: revisions[each] for each in ranked[:REVISIONS_MAX]}


def _raised(
    signal: Signal,
    proposal: Proposal,
    revisions: Mapping[str, Workload],
    workload: Workload,
) -> Proposal:
    """The proposal of all pods, or that of the revision which needs more. `revisions`: the workload with the pods of each only."""
    known = proposal.derivation.proposal
    if proposal.failure is not None or known is None or not isinstance(signal.reading, PodSamples):
        return proposal
    raised = proposal
    for revision, of_revision in revisions.items():
        pods = of_revision.pods
        of_pods = propose(signal.metric, _only(signal.reading, pods), of_revision).derivation
        ratio = _ratio(of_pods)
        needed = 0 if ratio is None else _replicas(ratio, workload, of_pods.tolerances)
        if needed > known:
            known = needed
            in_words = f"the {len(pods)} pods of revision {revision or 'without a label'}"
            derivation = msgspec.structs.replace(
                proposal.derivation,
                proposal=needed,
                kept="",
                computed_from=f"{in_words}, whose ratio is {ratio:.2f}",
            )
            raised = msgspec.structs.replace(proposal, derivation=derivation)
    return raised


def _only(reading: PodSamples, pods: tuple[Pod, ...]) -> PodSamples:
    # By the pods, not by the samples: that would go through all of them again for each revision.
    by_pod = reading.by_pod
    return PodSamples({name: by_pod[name] for pod in pods if (name := pod.metadata.name) in by_pod})


def _ratio(derivation: MetricDerivation) -> float | None:
    """Of usage and target, with what is assumed for pods that are unready or without a sample; None if it is unknown.

    As for all pods, the assumptions do not reverse the direction.
    """
    first, fill_in = derivation.usage_ratio, derivation.fill_in
    if first is None or fill_in is None or fill_in.usage_ratio is None:
        return first
    second = fill_in.usage_ratio
    return 1.0 if (first < 1.0 < second) or (second < 1.0 < first) else second


def _replicas(ratio: float, workload: Workload, tolerances: Tolerances | None) -> int:
    """As many as the target needs so that a revision with this ratio, and the same share of them, is at its target.

    The replicas of the target, not its pods: what a rollout has in excess of them is not changed by the scale.
    """
    if tolerances is not None and tolerances.is_within(ratio):
        return workload.spec_replicas
    replicas = ceil(ratio * float(workload.measured_replicas))
    return INT32_MAX if replicas > INT32_MAX else float_to_int32(replicas)


def _remark(*, in_progress: bool, raised: bool = False, average: int | None = None) -> Remark:
    if not in_progress:
        return Remark(
            condition=ConditionType.HOTTEST_REVISION,
            active=False,
            reason="NoRollout",
            message="all pods are of the same revision",
        )
    return Remark(
        condition=ConditionType.HOTTEST_REVISION,
        active=True,
        reason="RolloutInProgress",
        message="while pods of several revisions run, the one that needs most replicas decides",
        detail=""
        if not raised
        else "All pods together allow no decision."
        if average is None
        else f"All pods together propose {average}.",
        holds=raised,
    )
