"""Metrics that every pod has: Pods, Resource and ContainerResource."""

from collections.abc import Mapping

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import MetricDerivation, PodGroups
from scaler.algorithm.go_numbers import int64, quotient
from scaler.algorithm.metric_selector import metric_selector
from scaler.algorithm.pod_groups import group_pods, require_pods
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.ratio import Usage, plain_usage, utilization
from scaler.algorithm.readings import PodSample, PodSamples, Reading
from scaler.algorithm.replicas import PerPod, counted_samples, replicas_per_pod
from scaler.algorithm.unusable import MetricUnusable, layer
from scaler.algorithm.workload import Evaluation, Workload, unusable_reading
from scaler.api.autoscaler import (
    ContainerResourceMetricStatus,
    MetricIdentifier,
    MetricSourceType,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    PodsMetricStatus,
    ResourceMetricStatus,
)
from wire.api.quantity import Format, Quantity, format_milli

MEMORY = "memory"


class _Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource metric of either kind; `container` is empty for the whole pod."""

    type: str
    name: str
    container: str
    target: MetricTarget


def pods_metric(metric: MetricSpec, reading: Reading, workload: Workload) -> Evaluation:
    """An average over the pods' values of a custom metric. Raises MetricUnusable."""
    source = metric.pods
    if source is None or source.target.average_value is None:
        raise MetricUnusable("invalid pods metric source: no average value target was set")
    metric_selector(source.metric)
    if not isinstance(reading, PodSamples):
        with layer(f"unable to get metric {source.metric.name}"):
            raise unusable_reading(reading)
    target_milli = milli(source.target.average_value)
    groups, proposed = _plain(reading.by_pod, workload, resource="", target_milli=target_milli)
    current = MetricValueStatus(average_value=format_milli(proposed.usage.average_milli))
    identifier = MetricIdentifier(name=source.metric.name, selector=source.metric.selector)
    return Evaluation(
        status=MetricStatus(
            type=MetricSourceType.PODS,
            pods=PodsMetricStatus(metric=identifier, current=current),
        ),
        derivation=_derivation(
            MetricSourceType.PODS,
            name=f"pods metric {source.metric.name}",
            target=f"average value {source.target.average_value}",
            groups=groups,
            proposed=proposed,
            workload=workload,
        ),
    )


def resource_metric(metric: MetricSpec, reading: Reading, workload: Workload) -> Evaluation:
    """A resource (cpu, memory ...) of whole pods. Raises MetricUnusable."""
    source = metric.resource
    if source is None:
        raise MetricUnusable("invalid resource metric source: it is empty")
    resource = _Resource(
        type=MetricSourceType.RESOURCE, name=source.name, container="", target=source.target
    )
    current, derivation = _resource(resource, reading, workload)
    status = MetricStatus(
        type=resource.type, resource=ResourceMetricStatus(name=source.name, current=current)
    )
    return Evaluation(status=status, derivation=derivation)


def container_resource_metric(
    metric: MetricSpec, reading: Reading, workload: Workload
) -> Evaluation:
    """A resource (cpu, memory ...) of one container of each pod. Raises MetricUnusable."""
    source = metric.container_resource
    if source is None:
        raise MetricUnusable("invalid resource metric source: it is empty")
    resource = _Resource(
        type=MetricSourceType.CONTAINER_RESOURCE,
        name=source.name,
        container=source.container,
        target=source.target,
    )
    current, derivation = _resource(resource, reading, workload)
    status = ContainerResourceMetricStatus(
        name=source.name, container=source.container, current=current
    )
    return Evaluation(
        status=MetricStatus(type=resource.type, container_resource=status), derivation=derivation
    )


def resource_quantity(resource: str, value_milli: int) -> str:
    """As metrics-server writes it: memory in Ki, Mi, Gi, anything else decimal (upstream's `buildQuantity`).

    In the text that the API server makes of it: 1075000000 bytes are read back as 1075M.
    """
    if resource != MEMORY:
        return format_milli(value_milli)
    return str(Quantity.parse(str(Quantity.from_milli(value_milli, Format.BINARY_SI))))


def _resource(
    source: _Resource, reading: Reading, workload: Workload
) -> tuple[MetricValueStatus, MetricDerivation]:
    """`averageValue` decides which of the two calculations runs; the target's type does not count."""
    target = source.target
    if target.average_value is not None:
        with layer(f"failed to get {source.name} usage"):
            return _resource_average(source, _samples(source, reading), workload)
    if target.average_utilization is not None:
        with layer(f"failed to get {source.name} utilization"):
            return _resource_utilization(source, _samples(source, reading), workload)
    raise MetricUnusable(
        "invalid resource metric source: neither an average utilization target "
        "nor an average value (usage) target was set"
    )


def _samples(source: _Resource, reading: Reading) -> Mapping[str, PodSample]:
    if not isinstance(reading, PodSamples):
        with layer(f"unable to get metrics for resource {source.name}"):
            raise unusable_reading(reading)
    return reading.by_pod


def _resource_average(
    source: _Resource, samples: Mapping[str, PodSample], workload: Workload
) -> tuple[MetricValueStatus, MetricDerivation]:
    average_value = source.target.average_value
    assert average_value is not None  # noqa: S101 - the caller has just checked
    groups, proposed = _plain(
        samples, workload, resource=source.name, target_milli=milli(average_value)
    )
    current = MetricValueStatus(
        average_value=resource_quantity(source.name, proposed.usage.average_milli)
    )
    derivation = _derivation(
        source.type,
        name=f"{source.name} resource",
        target=f"average value {average_value}",
        groups=groups,
        proposed=proposed,
        workload=workload,
    )
    return current, derivation


def _resource_utilization(
    source: _Resource, samples: Mapping[str, PodSample], workload: Workload
) -> tuple[MetricValueStatus, MetricDerivation]:
    target_percent = source.target.average_utilization
    assert target_percent is not None  # noqa: S101 - the caller has just checked
    groups, proposed = _utilized(samples, workload, source, target_percent)
    current = MetricValueStatus(
        average_utilization=proposed.usage.utilization_percent,
        average_value=resource_quantity(source.name, proposed.usage.average_milli),
    )
    of_container = "container " if source.type == MetricSourceType.CONTAINER_RESOURCE else ""
    derivation = _derivation(
        source.type,
        name=f"{source.name} {of_container}resource utilization (percentage of request)",
        target=f"{target_percent}% of the request",
        groups=groups,
        proposed=proposed,
        workload=workload,
    )
    return current, derivation


def _utilized(
    samples: Mapping[str, PodSample], workload: Workload, source: _Resource, target_percent: int
) -> tuple[PodGroups, PerPod]:
    """The calculation of a utilization: usage over requests, missing pods at their whole request."""
    groups = _group(samples, workload, source.name)
    counted = counted_samples(samples, groups)
    requests = pod_requests(
        workload.pods,
        resource=source.name,
        container=source.container,
        pod_level_resources=workload.policy.pod_level_resources,
    )

    def measure(filled: Mapping[str, int]) -> Usage:
        return utilization(filled, requests, target_percent=target_percent)

    def whole_request(pod: str) -> int:
        return quotient(int64(requests[pod] * max(100, target_percent)), 100)

    proposed = replicas_per_pod(
        counted,
        groups,
        current=workload.spec_replicas,
        tolerances=workload.policy.tolerances,
        measure=measure,
        missing_on_scale_down=whole_request,
    )
    return groups, proposed


def _plain(
    samples: Mapping[str, PodSample], workload: Workload, *, resource: str, target_milli: int
) -> tuple[PodGroups, PerPod]:
    """The calculation of an average value: all samples, missing pods exactly at the target."""
    groups = _group(samples, workload, resource)
    proposed = replicas_per_pod(
        counted_samples(samples, groups),
        groups,
        current=workload.spec_replicas,
        tolerances=workload.policy.tolerances,
        measure=lambda filled: plain_usage(filled, target_milli=target_milli),
        missing_on_scale_down=lambda _: target_milli,
    )
    return groups, proposed


def _group(samples: Mapping[str, PodSample], workload: Workload, resource: str) -> PodGroups:
    require_pods(workload.pods)
    return group_pods(
        workload.pods,
        samples,
        resource=resource,
        policy=workload.policy,
        moment=workload.moment,
    )


def _derivation(
    type_: str,
    *,
    name: str,
    target: str,
    groups: PodGroups,
    proposed: PerPod,
    workload: Workload,
) -> MetricDerivation:
    return MetricDerivation(
        type=type_,
        name=name,
        target=target,
        average_milli=proposed.usage.average_milli,
        utilization_percent=proposed.usage.utilization_percent,
        usage_ratio=proposed.usage.ratio,
        tolerances=workload.policy.tolerances,
        groups=groups,
        ready_pods=len(groups.ready),
        fill_in=proposed.fill_in,
        kept=proposed.kept,
        proposal=proposed.replicas,
    )
