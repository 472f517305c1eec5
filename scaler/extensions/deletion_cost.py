"""Which pods a scale-down should delete: the least busy ones (`behavior.scaleDown.podDeletionCost`).

A ReplicaSet deletes pods that are not ready first, and then those with the lowest
`controller.kubernetes.io/pod-deletion-cost`; a pod without that annotation costs 0. Costs that others have set stay:
a second annotation says which cost is the scaler's.
"""

from collections.abc import Mapping, Sequence

from scaler.algorithm.decision import PodPatch
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.observed import DELETION_COST, OWN_DELETION_COST, Pod
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import PodSample, PodSamples, Signal
from scaler.api.autoscaler import Behavior, ScaleDownRules

# Lower than the 0 of all other pods.
DELETED_FIRST = "-1"


class DeletionCost(Extension[str, None]):
    """Its rule is the name of the metric."""

    name = "podDeletionCost"

    def rules(self, given: Given, policy: Policy) -> str | None:
        """None without the field: then the ReplicaSet chooses."""
        match given.spec.behavior:
            case Behavior(scale_down=ScaleDownRules(pod_deletion_cost=cost)) if cost is not None:
                return cost.metric
        return None

    def pod_annotations(self, rules: str, draft: Draft) -> tuple[PodPatch, ...]:
        """Those that must change before this scale-down."""
        turn = draft.turn
        deleted = turn.current_replicas - draft.replicas
        return deletion_costs(rules, draft.signals, turn.pods, deleted=deleted)


def deletion_costs(
    metric_name: str,
    signals: Sequence[Signal],
    pods: Sequence[Pod],
    *,
    deleted: int,
) -> tuple[PodPatch, ...]:
    """The pods whose cost must change before `deleted` of them go. Nothing, if the metric has no values."""
    samples = _samples(metric_name, signals)
    live = [each for each in pods if each.metadata.deletion_timestamp is None]
    free = [each for each in live if not _has_another_cost(each)]
    measured = [each for each in free if each.metadata.name in samples]
    if not measured:
        return ()
    by_load = sorted(
        measured, key=lambda pod: (samples[pod.metadata.name].value_milli, pod.metadata.name)
    )
    # Those with such a cost of another client go as well.
    others = sum(_goes_before_the_rest(each) for each in live if _has_another_cost(each))
    chosen = {pod.metadata.name for pod in by_load[: max(deleted - others, 0)]}
    patches = (_patch(each, is_chosen=each.metadata.name in chosen) for each in live)
    return tuple(each for each in patches if each is not None)


def _has_another_cost(pod: Pod) -> bool:
    annotations = pod.metadata.annotations
    return annotations.deletion_cost not in ("", annotations.own_deletion_cost)


def _goes_before_the_rest(pod: Pod) -> bool:
    """kube-apiserver accepts only integers."""
    try:
        return int(pod.metadata.annotations.deletion_cost) <= int(DELETED_FIRST)
    except ValueError:
        return False


def _patch(pod: Pod, *, is_chosen: bool) -> PodPatch | None:
    """What makes the cost of a pod, and the scaler's note of it, right; None if they are."""
    found = pod.metadata.annotations
    wanted: dict[str, str | None] = {}
    if is_chosen:
        if (found.deletion_cost, found.own_deletion_cost) != (DELETED_FIRST, DELETED_FIRST):
            wanted = {DELETION_COST: DELETED_FIRST, OWN_DELETION_COST: DELETED_FIRST}
    elif found.own_deletion_cost:
        # Chosen for an earlier scale-down, which did not delete it; it may be busy now.
        wanted = {OWN_DELETION_COST: None}
        if not _has_another_cost(pod):
            wanted[DELETION_COST] = None
    if not wanted:
        return None
    return PodPatch(
        pod_name=pod.metadata.name,
        resource_version=pod.metadata.resource_version,
        annotations=wanted,
        failed_reason="FailedPodDeletionCost",
    )


def _samples(metric_name: str, signals: Sequence[Signal]) -> Mapping[str, PodSample]:
    for each in signals:
        if each.metric.name == metric_name and isinstance(each.reading, PodSamples):
            return each.reading.by_pod
    return {}
