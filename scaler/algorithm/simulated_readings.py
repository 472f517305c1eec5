"""The reading that a metric would have with a value that a user gives, for `loadline-scaler simulate`."""

import math
from collections.abc import Sequence

from scaler.algorithm.amounts import milli
from scaler.algorithm.observed import Pod
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.readings import (
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSample,
    PodSamples,
    Reading,
)
from scaler.algorithm.unusable import MetricUnusable
from scaler.api.autoscaler import MetricSourceType, MetricSpec

FAILS = "fails"
SIMULATED_FAILURE = "the failure is simulated"
# Later than every pod turned ready: a value that is given counts for each ready pod, however young it is.
_SAMPLED_AT_UNIX_SECONDS = math.inf


def simulated(
    metric: MetricSpec, value: str, pods: Sequence[Pod], *, pod_level_resources: bool
) -> Reading:
    """The value as the metrics API would return it; for a metric per pod, each pod has it. Raises ValueError."""
    if value == FAILS:
        return MetricFailed(SIMULATED_FAILURE)
    if metric.is_computed:
        raise ValueError(
            f"{metric.name} is a formula: give the metrics that it is computed from instead"
        )
    if metric.type == MetricSourceType.EXTERNAL:
        return ExternalValues((milli(value),))
    if metric.type == MetricSourceType.OBJECT:
        return ObjectValue(milli(value))
    running = [each for each in pods if each.status.phase == "Running"]
    return PodSamples(
        {
            name: PodSample(
                value_milli=value_milli, sampled_at_unix_seconds=_SAMPLED_AT_UNIX_SECONDS
            )
            for name, value_milli in _by_pod(metric, value, running, pod_level_resources).items()
        }
    )


def _by_pod(
    metric: MetricSpec, value: str, pods: Sequence[Pod], pod_level_resources: bool
) -> dict[str, int]:
    """The value of each pod; of a resource also as a percentage of what the pod requests."""
    source = metric.resource or metric.container_resource
    if not value.endswith("%") or source is None:
        return dict.fromkeys([each.metadata.name for each in pods], milli(value))
    container = metric.container_resource.container if metric.container_resource else ""
    percent_milli = milli(value.removesuffix("%"))
    try:
        requests = pod_requests(
            pods, resource=source.name, container=container, pod_level_resources=pod_level_resources
        )
    except MetricUnusable as error:
        raise ValueError(f"{value} of the requests: {error}") from error
    return {name: request * percent_milli // 100_000 for name, request in requests.items()}
