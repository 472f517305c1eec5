"""Pure: what a metric of a spec requests from which metrics API. Equal requests have the same response."""

from typing import ClassVar

import msgspec

from scaler.algorithm import samples
from scaler.algorithm.from_object import NO_TARGET, has_object_target
from scaler.algorithm.readings import ComputedFrom, MetricFailed
from scaler.api.autoscaler import (
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    MetricSpec,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.api.labels import NOTHING, Selector, from_label_selector


class ExternalRequest(msgspec.Struct, frozen=True, gc=False):
    """All series of a metric in a namespace."""

    group: ClassVar[str] = external_metrics.GROUP
    api: ClassVar[str] = samples.EXTERNAL_API

    namespace: str
    metric: str
    selector: Selector


class ObjectRequest(msgspec.Struct, frozen=True, gc=False):
    """The metric of one object."""

    group: ClassVar[str] = custom_metrics.GROUP
    api: ClassVar[str] = samples.CUSTOM_API

    namespace: str
    metric: str
    described: CrossVersionObjectReference
    selector: Selector


class PodsRequest(msgspec.Struct, frozen=True, gc=False):
    """The metric of every pod that `pods` matches."""

    group: ClassVar[str] = custom_metrics.GROUP
    api: ClassVar[str] = samples.CUSTOM_API

    namespace: str
    metric: str
    pods: Selector
    selector: Selector


class UsageRequest(msgspec.Struct, frozen=True, gc=False):
    """The usage of a resource by the pods that `pods` matches; of all their containers if `container` is empty."""

    group: ClassVar[str] = resource_metrics.GROUP
    api: ClassVar[str] = samples.RESOURCE_API

    namespace: str
    pods: Selector
    resource: str
    container: str = ""


MetricRequest = ExternalRequest | ObjectRequest | PodsRequest | UsageRequest


def request_of(
    namespace: str, metric: MetricSpec, pod_selector: Selector
) -> MetricRequest | ComputedFrom | MetricFailed:
    """What to request for a metric; or its reading, if nothing is to be requested.

    A metric whose type names a source that is not set is of an unknown type.
    """
    if metric.is_computed:
        return ComputedFrom()
    named = metric.object or metric.pods or metric.external
    try:
        # As upstream, a selector that selects nothing is sent like no selector.
        selector = NOTHING if named is None else from_label_selector(named.metric.selector)
    except ValueError as error:
        return MetricFailed(str(error))
    match metric:
        case MetricSpec(type="Object", object=ObjectMetricSource() as source):
            if not has_object_target(source):
                return MetricFailed(NO_TARGET)
            described = source.described_object
            return ObjectRequest(namespace, source.metric.name, described, selector)
        case MetricSpec(type="Pods", pods=PodsMetricSource(metric=identifier)):
            return PodsRequest(namespace, identifier.name, pod_selector, selector)
        case MetricSpec(type="External", external=ExternalMetricSource(metric=identifier)):
            return ExternalRequest(namespace, identifier.name, selector)
        case MetricSpec(type="Resource", resource=ResourceMetricSource(name=resource)):
            return UsageRequest(namespace, pod_selector, resource)
        case MetricSpec(
            type="ContainerResource",
            container_resource=ContainerResourceMetricSource(name=resource, container=container),
        ):
            return UsageRequest(namespace, pod_selector, resource, container)
    return MetricFailed(f'unknown metric source type "{metric.type}"')
