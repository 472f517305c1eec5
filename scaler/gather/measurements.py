"""One metric of a spec to one reading: which API, which question, and what its failure is called.

Upstream: the `Get*Metric*` calls of `ReplicaCalculator` (replica_calculator.go).
"""

import time
from collections.abc import Callable

from scaler.gather.answers import NoAnswer
from scaler.gather.custom import CustomMetrics, PreferredVersion
from scaler.gather.external import ExternalMetrics
from scaler.gather.questions import SharedQuestions
from scaler.gather.resource import ResourceMetrics
from scaler.model.autoscaler import (
    ContainerResourceMetricSource,
    ExternalMetricSource,
    MetricSpec,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from scaler.model.readings import MetricFailed, Reading
from scaler.ports import Mapper, Reader
from scaler.recommend import samples
from scaler.recommend.from_object import NO_TARGET, has_object_target
from scaler.telemetry import Telemetry
from wire.labels import NOTHING, Selector, from_label_selector

# No autoscaler sees an answer older than this, nor older than a tenth of its period.
FRESH_SECONDS_MAX = 1.0
FRESH_PERIODS = 0.1


class Measurements:
    """The metrics APIs behind one API server."""

    def __init__(
        self,
        kube: Reader,
        mapper: Mapper,
        telemetry: Telemetry,
        *,
        period_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        fresh_seconds = min(FRESH_SECONDS_MAX, FRESH_PERIODS * period_seconds)
        questions = SharedQuestions(
            kube, telemetry, fresh_seconds=fresh_seconds, monotonic=monotonic
        )
        version = PreferredVersion(questions, period_seconds=period_seconds, monotonic=monotonic)
        self._custom = CustomMetrics(questions, version, mapper)
        self._external = ExternalMetrics(questions)
        self._resource = ResourceMetrics(questions)

    async def read(self, namespace: str, metric: MetricSpec, pod_selector: Selector) -> Reading:
        """Ask for one metric. A source that the metric's type names but does not set is no metric at all."""
        named = metric.object or metric.pods or metric.external
        try:
            # Upstream's selector that selects nothing prints as no selector, too.
            asked = NOTHING if named is None else from_label_selector(named.metric.selector)
        except ValueError as error:
            return MetricFailed(str(error))
        match metric:
            case MetricSpec(type="Object", object=ObjectMetricSource() as object_source):
                return await self._read_object(namespace, object_source, asked)
            case MetricSpec(type="Pods", pods=PodsMetricSource() as pods_source):
                return await self._read_pods(namespace, pods_source, pod_selector, asked)
            case MetricSpec(type="External", external=ExternalMetricSource() as external_source):
                return await self._read_external(namespace, external_source, asked)
            case MetricSpec(type="Resource", resource=ResourceMetricSource(name=resource)):
                return await self._read_resource(namespace, resource, "", pod_selector)
            case MetricSpec(
                type="ContainerResource",
                container_resource=ContainerResourceMetricSource(
                    name=resource, container=container
                ),
            ):
                return await self._read_resource(namespace, resource, container, pod_selector)
        return MetricFailed(f'unknown metric source type "{metric.type}"')

    async def _read_object(
        self, namespace: str, source: ObjectMetricSource, asked: Selector
    ) -> Reading:
        if not has_object_target(source):
            return MetricFailed(NO_TARGET)
        try:
            answer = await self._custom.of_object(
                namespace, source.metric.name, source.described_object, asked
            )
        except NoAnswer as error:
            return samples.fetch_failed(samples.CUSTOM_API, str(error))
        return samples.object_value(answer)

    async def _read_pods(
        self, namespace: str, source: PodsMetricSource, pods: Selector, asked: Selector
    ) -> Reading:
        try:
            answer = await self._custom.of_pods(namespace, source.metric.name, pods, asked)
        except NoAnswer as error:
            return samples.fetch_failed(samples.CUSTOM_API, str(error))
        return samples.pod_samples(answer)

    async def _read_external(
        self, namespace: str, source: ExternalMetricSource, asked: Selector
    ) -> Reading:
        try:
            answer = await self._external.values(namespace, source.metric.name, asked)
        except NoAnswer as error:
            return samples.fetch_failed(samples.EXTERNAL_API, str(error))
        return samples.external_values(answer)

    async def _read_resource(
        self, namespace: str, resource: str, container: str, pods: Selector
    ) -> Reading:
        try:
            answer = await self._resource.of_pods(namespace, pods)
        except NoAnswer as error:
            return samples.fetch_failed(samples.RESOURCE_API, str(error))
        return samples.resource_samples(answer, resource=resource, container=container)
