"""Which pods a scale-down should delete: the least busy ones (`behavior.scaleDown.podDeletionCost`).

A ReplicaSet deletes pods that are not ready first, and then those with the lowest
`controller.kubernetes.io/pod-deletion-cost`; a pod without that annotation costs 0.
"""

from collections.abc import Mapping, Sequence

from scaler.algorithm.decision import PodAnnotation
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.observed import DELETION_COST, Pod
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

    def pod_annotations(self, rules: str, draft: Draft) -> tuple[PodAnnotation, ...]:
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
) -> tuple[PodAnnotation, ...]:
    """The pods whose cost must change before `deleted` of them go. Nothing, if the metric has no values."""
    samples = _samples(metric_name, signals)
    live = [each for each in pods if each.metadata.deletion_timestamp is None]
    measured = [each for each in live if each.metadata.name in samples]
    if not measured:
        return ()
    by_load = sorted(
        measured, key=lambda pod: (samples[pod.metadata.name].value_milli, pod.metadata.name)
    )
    chosen = {pod.metadata.name for pod in by_load[:deleted]}
    found = []
    for pod in live:
        name, cost = pod.metadata.name, pod.metadata.annotations.deletion_cost
        if name in chosen and cost != DELETED_FIRST:
            found.append(_cost(name, DELETED_FIRST))
        elif name not in chosen and cost == DELETED_FIRST:
            # Chosen for an earlier scale-down, which did not delete it; it may be busy now.
            found.append(_cost(name, None))
    return tuple(found)


def _cost(pod_name: str, cost: str | None) -> PodAnnotation:
    return PodAnnotation(
        pod_name=pod_name, name=DELETION_COST, value=cost, failed_reason="FailedPodDeletionCost"
    )


def _samples(metric_name: str, signals: Sequence[Signal]) -> Mapping[str, PodSample]:
    for each in signals:
        if each.metric.name == metric_name and isinstance(each.reading, PodSamples):
            return each.reading.by_pod
    return {}
