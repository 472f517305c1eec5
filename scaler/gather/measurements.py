"""Reads the metrics of a spec: which API, which request, and the wording of a failure.

Upstream: the `Get*Metric*` calls of `ReplicaCalculator` (replica_calculator.go).
"""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from scaler.gather.bounded_reader import BoundedReader, no_answer
from scaler.gather.custom import CustomMetrics, PreferredVersion
from scaler.gather.external import ExternalMetrics
from scaler.gather.metrics_api import MetricUnavailable
from scaler.gather.resource import ResourceMetrics
from scaler.gather.shared_reader import ReaderWithin, SharedReader
from scaler.model.autoscaler import (
    ContainerResourceMetricSource,
    ExternalMetricSource,
    MetricSourceType,
    MetricSpec,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from scaler.model.readings import FormulaInputs, MetricFailed, Reading
from scaler.ports import Mapper, TimedReading
from scaler.recommend.from_object import NO_TARGET, has_object_target
from scaler.signal import samples
from scaler.telemetry import Telemetry
from wire.kube.requests import Reader
from wire.labels import NOTHING, Selector, from_label_selector

# A metric that takes longer has failed, so that a reconcile is over before the next one is due. The
# minimum is for periods so short that only tests use them.
DEADLINE_PERIODS = 2 / 3
DEADLINE_SECONDS_MIN = 1.0
# A shared response is at most this old, and at most a tenth of the sync period.
FRESH_SECONDS_MAX = 1.0
FRESH_PERIODS = 0.1


_API_NAMES: dict[str, str] = {
    MetricSourceType.OBJECT: samples.CUSTOM_API,
    MetricSourceType.PODS: samples.CUSTOM_API,
    MetricSourceType.EXTERNAL: samples.EXTERNAL_API,
    MetricSourceType.RESOURCE: samples.RESOURCE_API,
    MetricSourceType.CONTAINER_RESOURCE: samples.RESOURCE_API,
}


class Measurements:
    """The metrics APIs of one cluster."""

    def __init__(
        self,
        kube: Reader,
        mapper: Mapper,
        telemetry: Telemetry,
        *,
        period_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`period_seconds`: of the autoscalers that do not have their own."""
        self._mapper = mapper
        self._monotonic = monotonic
        self._period_seconds = period_seconds
        bounded = BoundedReader(kube, deadline_seconds=_deadline_seconds(period_seconds))
        self._shared = SharedReader(
            bounded, telemetry, fresh_seconds=_fresh_seconds(period_seconds), monotonic=monotonic
        )
        self._version = PreferredVersion(
            self._shared, period_seconds=period_seconds, monotonic=monotonic
        )
        self._by_period: dict[float, _Clients] = {}

    async def read_all(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
    ) -> tuple[TimedReading, ...]:
        """All metrics of a spec concurrently, in its order. `period_seconds` limits their age and the time to read them."""
        clients = self._clients(self._period_seconds if period_seconds is None else period_seconds)
        reads = (self._timed(clients, namespace, metric, pod_selector) for metric in metrics)
        return tuple(await asyncio.gather(*reads))

    def _clients(self, period_seconds: float) -> "_Clients":
        """Those of one period; a spec has whole seconds up to an hour, so there are at most 3,600."""
        found = self._by_period.get(period_seconds)
        if found is None:
            # A request that several autoscalers share must not take longer than one of them without a period waits.
            shorter = min(period_seconds, self._period_seconds)
            reader = ReaderWithin(self._shared, _fresh_seconds(shorter))
            found = self._by_period[period_seconds] = _Clients(
                deadline_seconds=_deadline_seconds(shorter),
                custom=CustomMetrics(reader, self._version, self._mapper),
                external=ExternalMetrics(reader),
                resource=ResourceMetrics(reader),
            )
        return found

    async def _timed(
        self, clients: "_Clients", namespace: str, metric: MetricSpec, pod_selector: Selector
    ) -> TimedReading:
        started_seconds = self._monotonic()
        reading: Reading
        try:
            async with asyncio.timeout(clients.deadline_seconds):
                reading = await clients.read(namespace, metric, pod_selector)
        except TimeoutError:
            message = no_answer(clients.deadline_seconds)
            reading = samples.fetch_failed(_API_NAMES[metric.type], message)
        return TimedReading(reading, self._monotonic() - started_seconds)


def _deadline_seconds(period_seconds: float) -> float:
    return max(DEADLINE_SECONDS_MIN, DEADLINE_PERIODS * period_seconds)


def _fresh_seconds(period_seconds: float) -> float:
    return min(FRESH_SECONDS_MAX, FRESH_PERIODS * period_seconds)


class _Clients(msgspec.Struct, frozen=True, kw_only=True):
    """The clients of the three metrics APIs for autoscalers of one period."""

    deadline_seconds: float
    custom: CustomMetrics
    external: ExternalMetrics
    resource: ResourceMetrics

    async def read(self, namespace: str, metric: MetricSpec, pod_selector: Selector) -> Reading:
        """Read one metric. A metric whose type names a source that is not set is of an unknown type."""
        if metric.formula is not None:
            return FormulaInputs()
        named = metric.object or metric.pods or metric.external
        try:
            # As upstream, a selector that selects nothing is sent like no selector.
            selector = NOTHING if named is None else from_label_selector(named.metric.selector)
        except ValueError as error:
            return MetricFailed(str(error))
        match metric:
            case MetricSpec(type="Object", object=ObjectMetricSource() as object_source):
                return await self._read_object(namespace, object_source, selector)
            case MetricSpec(type="Pods", pods=PodsMetricSource() as pods_source):
                return await self._read_pods(namespace, pods_source, pod_selector, selector)
            case MetricSpec(type="External", external=ExternalMetricSource() as external_source):
                return await self._read_external(namespace, external_source, selector)
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
        self, namespace: str, source: ObjectMetricSource, selector: Selector
    ) -> Reading:
        if not has_object_target(source):
            return MetricFailed(NO_TARGET)
        try:
            response = await self.custom.of_object(
                namespace, source.metric.name, source.described_object, selector
            )
        except MetricUnavailable as error:
            return samples.fetch_failed(samples.CUSTOM_API, str(error))
        return samples.object_value(response)

    async def _read_pods(
        self, namespace: str, source: PodsMetricSource, pods: Selector, selector: Selector
    ) -> Reading:
        try:
            response = await self.custom.of_pods(namespace, source.metric.name, pods, selector)
        except MetricUnavailable as error:
            return samples.fetch_failed(samples.CUSTOM_API, str(error))
        return samples.pod_samples(response)

    async def _read_external(
        self, namespace: str, source: ExternalMetricSource, selector: Selector
    ) -> Reading:
        try:
            response = await self.external.values(namespace, source.metric.name, selector)
        except MetricUnavailable as error:
            return samples.fetch_failed(samples.EXTERNAL_API, str(error))
        return samples.external_values(response)

    async def _read_resource(
        self, namespace: str, resource: str, container: str, pods: Selector
    ) -> Reading:
        try:
            response = await self.resource.of_pods(namespace, pods)
        except MetricUnavailable as error:
            return samples.fetch_failed(samples.RESOURCE_API, str(error))
        return samples.resource_samples(response, resource=resource, container=container)
