"""Reads the metrics of a spec: which API, which request, and the wording of a failure.

Upstream: the `Get*Metric*` calls of `ReplicaCalculator` (replica_calculator.go).
"""

import time
from collections.abc import Callable, Sequence

from scaler.gather.bounded_reader import BoundedReader, no_answer
from scaler.gather.custom import CustomMetrics, PreferredVersion
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

# A metric that takes longer has failed, so that a reconcile is over before the next one is due. The
# minimum is for periods so short that only tests use them.
DEADLINE_PERIODS = 2 / 3
DEADLINE_SECONDS_MIN = 1.0
# The request of a shared response was sent at most this long ago, and at most a tenth of the sync period.
FRESH_SECONDS_MAX = 1.0
FRESH_PERIODS = 0.1

_Response = Reading | PodMetricsList
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
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`period_seconds`: of the autoscalers that do not have their own."""
        self._telemetry = telemetry
        self._monotonic = monotonic
        self._period_seconds = period_seconds
        bounded = BoundedReader(kube, deadline_seconds=_deadline_seconds(period_seconds))
        version = PreferredVersion(bounded, period_seconds=period_seconds, monotonic=monotonic)
        self._custom = CustomMetrics(bounded, version, mapper)
        self._external = ExternalMetrics(bounded)
        self._resource = ResourceMetrics(bounded)
        self._responses: SharedResponses[MetricRequest, _Response] = SharedResponses(
            fresh_seconds_max=_fresh_seconds(period_seconds), monotonic=monotonic
        )

    async def read_all(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
    ) -> tuple[TimedReading, ...]:
        """All metrics of a spec concurrently, in its order. `period_seconds` limits their age and the time to read them."""
        # A request that several autoscalers share must not take longer than one of them without a period waits.
        shorter = self._period_seconds
        if period_seconds is not None:
            shorter = min(shorter, period_seconds)
        fresh_seconds, deadline_seconds = _fresh_seconds(shorter), _deadline_seconds(shorter)
        started_seconds = self._monotonic()
        wanted = [request_of(namespace, metric, pod_selector) for metric in metrics]
        sent = {
            request: self._sent(request, fresh_seconds)
            for request in wanted
            if not isinstance(request, NOT_REQUESTED)
        }
        await responded(sent.values(), deadline_seconds)
        return tuple(
            TimedReading(each, 0.0)
            if isinstance(each, NOT_REQUESTED)
            else _timed_reading(each, sent[each], started_seconds, deadline_seconds)
            for each in wanted
        )

    def _sent(self, request: MetricRequest, fresh_seconds: float) -> Sent[_Response]:
        """What was sent for it already, if that is new enough; otherwise it is sent now."""
        if isinstance(request, UsageRequest):
            # The usage of all resources and containers is in one response.
            request = UsageRequest(request.namespace, request.pods, "")
        found = self._responses.find(request, fresh_seconds)
        self._telemetry.count_metrics_request(request.group, shared=found is not None)
        return found or self._responses.send(request, lambda: self._response(request))

    async def _response(self, request: MetricRequest) -> _Response:
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


def _timed_reading(
    request: MetricRequest, sent: Sent[_Response], started_seconds: float, deadline_seconds: float
) -> TimedReading:
    waited_seconds = sent.waited_seconds(started_seconds)
    if not sent.task.done():
        failed = samples.fetch_failed(request.api, no_answer(deadline_seconds))
        return TimedReading(failed, waited_seconds)
    return TimedReading(_reading(request, sent.task.result()), waited_seconds)


def _reading(request: MetricRequest, response: _Response) -> Reading:
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
