"""Reads the metrics of a spec: which API, which request, and the wording of a failure.

Upstream: the `Get*Metric*` calls of `ReplicaCalculator` (replica_calculator.go).
"""

import time
from collections.abc import Callable, Sequence

from scaler.gather.bounded_reader import BoundedReader, no_answer
from scaler.gather.custom import CustomMetrics, PreferredVersion
from scaler.gather.direct_reader import DirectReader, Route
from scaler.gather.external import ExternalMetrics
from scaler.gather.metric_requests import (
    ExternalRequest,
    MetricRequest,
    ObjectRequest,
    PodsRequest,
    UsageRequest,
    request_of,
)
from scaler.gather.metrics_api import MetricUnavailable
from scaler.gather.resource import ResourceMetrics
from scaler.gather.shared_responses import Sent, SharedResponses, responded
from scaler.model.autoscaler import MetricSpec
from scaler.model.readings import FormulaInputs, MetricFailed, Reading
from scaler.ports import Mapper, TimedReading
from scaler.signal import samples
from scaler.telemetry import Telemetry
from wire.kube.requests import Reader
from wire.labels import Selector
from wire.resource_metrics import PodMetricsList

# A metric that takes longer has failed, so that a reconcile is over before the next one is due. Under a period
# of a few seconds, a reconcile that is late is better than a slow query that fails.
DEADLINE_PERIODS = 2 / 3
DEADLINE_SECONDS_MIN = 5.0
# The request of a shared response was sent at most this long ago, and at most a tenth of the sync period.
FRESH_SECONDS_MAX = 1.0
FRESH_PERIODS = 0.1

Response = Reading | PodMetricsList
# A formula is computed from other metrics, and a metric without a usable request has failed.
NOT_REQUESTED = (FormulaInputs, MetricFailed)


class Measurements:
    """The metrics APIs of one cluster."""

    def __init__(
        self,
        kube: Reader,
        mapper: Mapper,
        telemetry: Telemetry,
        *,
        period_seconds: float,
        route: Route | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`period_seconds`: of the autoscalers that do not have their own. `route`: to the adapter directly."""
        self._telemetry = telemetry
        self._monotonic = monotonic
        self._period_seconds = period_seconds
        deadline_seconds = _deadline_seconds(period_seconds)
        if route is not None:
            kube = DirectReader(kube, route, telemetry, deadline_seconds=deadline_seconds)
        bounded = BoundedReader(kube, deadline_seconds=deadline_seconds)
        version = PreferredVersion(bounded, period_seconds=period_seconds, monotonic=monotonic)
        self._custom = CustomMetrics(bounded, version, mapper)
        self._external = ExternalMetrics(bounded)
        self._resource = ResourceMetrics(bounded)
        self._responses: SharedResponses[MetricRequest, Response] = SharedResponses(
            fresh_seconds_max=_fresh_seconds(period_seconds), monotonic=monotonic
        )

    def reads(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
    ) -> "MetricReads":
        """What to read for the metrics of a spec. `period_seconds` limits their age and the time to read them."""
        # A request that several autoscalers share must not take longer than one of them without a period waits.
        shorter = self._period_seconds
        if period_seconds is not None:
            shorter = min(shorter, period_seconds)
        return MetricReads(
            self,
            tuple(request_of(namespace, metric, pod_selector) for metric in metrics),
            fresh_seconds=_fresh_seconds(shorter),
            deadline_seconds=_deadline_seconds(shorter),
            monotonic=self._monotonic,
        )

    def find(self, request: MetricRequest, fresh_seconds: float) -> Sent[Response] | None:
        """What was sent for it already, if that is new enough."""
        return self._responses.find(_sent_as(request), fresh_seconds)

    def find_or_send(self, request: MetricRequest, fresh_seconds: float) -> Sent[Response]:
        """What was sent for it already, if that is new enough; otherwise it is sent now."""
        sent_as = _sent_as(request)
        found = self._responses.find(sent_as, fresh_seconds)
        self._telemetry.count_metrics_request(request.group, shared=found is not None)
        return found or self._responses.send(sent_as, lambda: self._response(sent_as))

    def count_shared(self, request: MetricRequest) -> None:
        """A response that was found is used."""
        self._telemetry.count_metrics_request(request.group, shared=True)

    async def _response(self, request: MetricRequest) -> Response:
        try:
            match request:
                case ExternalRequest(namespace, metric, selector):
                    return samples.external_values(
                        await self._external.values(namespace, metric, selector)
                    )
                case ObjectRequest(namespace, metric, described, selector):
                    return samples.object_value(
                        await self._custom.of_object(namespace, metric, described, selector)
                    )
                case PodsRequest(namespace, metric, pods, selector):
                    return samples.pod_samples(
                        await self._custom.of_pods(namespace, metric, pods, selector)
                    )
                case UsageRequest(namespace, pods):
                    return await self._resource.of_pods(namespace, pods)
        except MetricUnavailable as error:
            return samples.fetch_failed(request.api, str(error))


class MetricReads:
    """The requests of one autoscaler."""

    def __init__(
        self,
        measurements: Measurements,
        wanted: tuple[MetricRequest | FormulaInputs | MetricFailed, ...],
        *,
        fresh_seconds: float,
        deadline_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        """`wanted`: by metric, its request, or its reading if there is nothing to request."""
        self._measurements = measurements
        self._wanted = wanted
        self._requests = [each for each in wanted if not isinstance(each, NOT_REQUESTED)]
        self._fresh_seconds = fresh_seconds
        self._deadline_seconds = deadline_seconds
        self._monotonic = monotonic

    def shared(self) -> tuple[Reading, ...] | None:
        """The readings of all metrics, if they need no request; None if a request has to be sent or is in flight."""
        found: dict[MetricRequest, Reading] = {}
        for request in self._requests:
            sent = self._measurements.find(request, self._fresh_seconds)
            if sent is None or not sent.task.done():
                return None
            found[request] = _reading(request, sent.task.result())
        for request in self._requests:
            self._measurements.count_shared(request)
        return tuple(
            each if isinstance(each, NOT_REQUESTED) else found[each] for each in self._wanted
        )

    async def read(self) -> tuple[TimedReading, ...]:
        """All metrics concurrently, in the order of the spec."""
        started_seconds = self._monotonic()
        sent = {
            request: self._measurements.find_or_send(request, self._fresh_seconds)
            for request in self._requests
        }
        await responded(sent.values(), self._deadline_seconds)
        return tuple(
            TimedReading(each, 0.0)
            if isinstance(each, NOT_REQUESTED)
            else _timed_reading(each, sent[each], started_seconds, self._deadline_seconds)
            for each in self._wanted
        )


def _sent_as(request: MetricRequest) -> MetricRequest:
    """The usage of all resources and containers is in one response."""
    if isinstance(request, UsageRequest):
        return UsageRequest(request.namespace, request.pods, "")
    return request


def _timed_reading(
    request: MetricRequest, sent: Sent[Response], started_seconds: float, deadline_seconds: float
) -> TimedReading:
    waited_seconds = sent.waited_seconds(started_seconds)
    if not sent.task.done():
        failed = samples.fetch_failed(request.api, no_answer(deadline_seconds))
        return TimedReading(failed, waited_seconds)
    return TimedReading(_reading(request, sent.task.result()), waited_seconds)


def _reading(request: MetricRequest, response: Response) -> Reading:
    match request, response:
        case UsageRequest(resource=resource, container=container), PodMetricsList():
            return samples.resource_samples(response, resource=resource, container=container)
        case _, PodMetricsList():
            raise TypeError(f"{request} has the usage of pods as its response")
        case _:
            return response


def _deadline_seconds(period_seconds: float) -> float:
    return max(DEADLINE_SECONDS_MIN, DEADLINE_PERIODS * period_seconds)


def _fresh_seconds(period_seconds: float) -> float:
    return min(FRESH_SECONDS_MAX, FRESH_PERIODS * period_seconds)
