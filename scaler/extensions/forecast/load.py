"""A metric as the load of the whole target, which does not depend on how many replicas there are.

The sum over all pods that count for the metric, or the value of an object or external metric with an `AverageValue` target. What a
pod uses while it starts does not count: otherwise the pods that are added for a forecast would let it expect more.
"""

from collections.abc import Mapping

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.readings import ExternalValues, PodSample, PodSamples, Reading
from scaler.algorithm.replicas import counted_samples, external_sum
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import MetricSourceType, MetricSpec, QuantityText
from scaler.extensions.forecast.state import Load

MEMORY = "memory"


def why_not_load(metric: MetricSpec) -> str | None:
    """Why the metric is not a load; None if it is one."""
    if metric.is_input:
        return "it is only an input"
    match metric.type:
        case MetricSourceType.PODS:
            return None
        case MetricSourceType.RESOURCE | MetricSourceType.CONTAINER_RESOURCE:
            source = metric.resource or metric.container_resource
            if source is not None and source.name == MEMORY:
                return "memory does not follow the load"
            return None
        case _ if metric.of_target is not None:
            if metric.of_target.target.average_value is None:
                return "its target is not of the type AverageValue, so its value is not a sum that replicas share"
            return None
    return f"metrics of the type {metric.type} are unknown"


def load_of(
    metric: MetricSpec, reading: Reading, found: MetricDerivation, workload: Workload
) -> Load | None:
    """The load at present; None if the metric has failed, its pods request nothing, or its sum is negative, which scales to the maximum."""
    if found.failure:
        return None
    if isinstance(reading, PodSamples):
        return _of_pods(metric, _counted(reading.by_pod, found), workload)
    if isinstance(reading, ExternalValues) and external_sum(reading.values_milli) < 0:
        return None
    source = metric.of_target
    if source is None or source.target.average_value is None or found.value_milli is None:
        return None
    return _load(found.value_milli, source.target.average_value)


def _counted(samples: Mapping[str, PodSample], found: MetricDerivation) -> dict[str, int]:
    return {} if found.groups is None else counted_samples(samples, found.groups)


def _of_pods(
    metric: MetricSpec, samples_milli: Mapping[str, int], workload: Workload
) -> Load | None:
    total = sum(samples_milli.values())
    if metric.pods is not None:
        average = metric.pods.target.average_value
        return None if average is None else _load(total, average)
    source = metric.resource or metric.container_resource
    if source is None:
        return None
    target = source.target
    if target.average_value is not None:
        return _load(total, target.average_value)
    if target.average_utilization is None:
        return None
    requests = pod_requests(
        workload.pods,
        resource=source.name,
        container=metric.container_resource.container if metric.container_resource else "",
        pod_level_resources=workload.policy.pod_level_resources,
    )
    known = [requests[name] for name in samples_milli if name in requests]
    per_replica = sum(known) / len(known) * target.average_utilization / 100 if known else 0.0
    return Load(total=total / 1000, per_replica=per_replica / 1000) if per_replica > 0.0 else None


def _load(total_milli: int, per_replica: QuantityText) -> Load | None:
    per_replica_milli = milli(per_replica)
    if per_replica_milli <= 0:
        return None
    return Load(total=total_milli / 1000, per_replica=per_replica_milli / 1000)
