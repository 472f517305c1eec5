"""Which pods a scale-down should delete: the least busy ones (`behavior.scaleDown.podDeletionCost`).

A ReplicaSet deletes pods that are not ready first, and then those with the lowest
`controller.kubernetes.io/pod-deletion-cost`; a pod without that annotation costs 0.
"""

from collections.abc import Mapping, Sequence

from scaler.algorithm.decision import PodCost
from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import PodSample, PodSamples, Reading
from scaler.api.autoscaler import MetricSpec

# Lower than the 0 of all other pods.
DELETED_FIRST = "-1"


def deletion_costs(
    metric_name: str,
    metrics: Sequence[MetricSpec],
    readings: Sequence[Reading],
    pods: Sequence[Pod],
    *,
    deleted: int,
) -> tuple[PodCost, ...]:
    """The pods whose cost must change before `deleted` of them go. Nothing, if the metric has no values."""
    samples = _samples(metric_name, metrics, readings)
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
            found.append(PodCost(pod_name=name, cost=DELETED_FIRST))
        elif name not in chosen and cost == DELETED_FIRST:
            # Chosen for an earlier scale-down, which did not delete it; it may be busy now.
            found.append(PodCost(pod_name=name, cost=None))
    return tuple(found)


def _samples(
    metric_name: str, metrics: Sequence[MetricSpec], readings: Sequence[Reading]
) -> Mapping[str, PodSample]:
    for metric, reading in zip(metrics, readings, strict=False):
        if metric.name == metric_name and isinstance(reading, PodSamples):
            return reading.by_pod
    return {}
