"""Reads the metrics of a spec: which API, which request, and the wording of a failure.

Upstream: the `Get*Metric*` calls of `ReplicaCalculator` (replica_calculator.go).
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence

import msgspec

from scaler.algorithm import samples
from scaler.algorithm.readings import ComputedFrom, MetricFailed, Reading
from scaler.api.autoscaler import MetricSpec
from scaler.cluster.metrics.bounded_reader import BoundedReader, no_answer
from scaler.cluster.metrics.custom import CustomMetrics, PreferredVersion
from scaler.cluster.metrics.direct_reader import DirectReader, Route
from scaler.cluster.metrics.external import external_metric, external_path
from scaler.cluster.metrics.followers import Followers
from scaler.cluster.metrics.metric_requests import (
    ExternalRequest,
    MetricRequest,
    ObjectRequest,
    PodsRequest,
    UsageRequest,
    request_of,
)
from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.metrics.metrics_api import MetricUnavailable
from scaler.cluster.metrics.pod_usage import PodUsage
from scaler.cluster.metrics.resource import ResourceMetrics
from scaler.cluster.metrics.shared_responses import Sent, SharedResponses, responded
from scaler.cluster.metrics.streamed_responses import StreamedReader, StreamedResponses
from scaler.cluster.telemetry import Telemetry
from scaler.cluster.work import counted
from wire.api.labels import Selector
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader
from wire.process.response_budget import until_decoded

# A metric that takes longer has failed, so that a reconcile is over before the next one is due. Under a period
# of a few seconds, a reconcile that is late is better than a slow query that fails.
DEADLINE_PERIODS = 2 / 3
DEADLINE_SECONDS_MIN = 5.0
# The request of a shared response was sent at most this long ago, and at most a tenth of the sync period.
FRESH_SECONDS_MAX = 1.0
FRESH_PERIODS = 0.1
# A streamed response holds for longer without a confirmation: the adapter confirms all about every second, and sends at once what changed.
STREAMED_SECONDS_MAX = 5.0
STREAMED_SECONDS_MIN = 2.5
STREAMED_PERIODS = 1 / 3
# How many values of pods are read without a pause, which takes 5 to 10 ms.
PODS_AT_ONCE_MAX = 5_000

Response = Reading | PodUsage
Shared = dict[MetricRequest, Sent[Response]]
# A computed metric is not read, and a metric without a usable request has failed.
NOT_REQUESTED = (ComputedFrom, MetricFailed)


class TimedReading(msgspec.Struct, frozen=True, gc=False):
    """A reading, and how long it took to get."""

    reading: Reading
    duration_seconds: float


class Measurements:
    """The metrics APIs of one cluster. Nothing raises: a metric that cannot be read is a `MetricFailed`."""

    def __init__(
        self,
        kube: Reader,
        mapper: RestMapper,
        telemetry: Telemetry,
        *,
        period_seconds: float,
        keeps_case: bool = True,
        route: Route | None = None,
        stream: MetricStream | None = None,
        followers: Followers[MetricRequest] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`period_seconds`: of the autoscalers that do not have their own. `keeps_case`: of the names of External metrics, which
        client-go requests in lower case (`Request.URL`). `route`: to the adapter directly, `stream`: what it streams, and `followers`:
        of that only what autoscalers are decided from is kept.
        """
        self._keeps_case = keeps_case
        self._telemetry = telemetry
        self._monotonic = monotonic
        self._period_seconds = period_seconds
        self._deadline_seconds = _deadline_seconds(period_seconds)
        if route is not None:
            kube = DirectReader(
                kube,
                route,
                telemetry,
                deadline_seconds=self._deadline_seconds,
                monotonic=monotonic,
            )
        bounded = BoundedReader(kube, deadline_seconds=self._deadline_seconds)
        version = PreferredVersion(bounded, period_seconds=period_seconds, monotonic=monotonic)
        self._custom = CustomMetrics(version, mapper)
        self._resource = ResourceMetrics(bounded)
        self._responses: SharedResponses[MetricRequest, Response] = SharedResponses(
            fresh_seconds_max=_fresh_seconds(period_seconds), monotonic=monotonic
        )
        followers = Followers() if followers is None else followers
        self.streamed: StreamedResponses[Response] = StreamedResponses(
            MetricStream(monotonic) if stream is None else stream,
            bounded,
            lambda request: bool(followers.of(request)),
            monotonic,
        )
        followers.on_unfollowed = self.streamed.forget

    def reads(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
        since_seconds: float = -math.inf,
    ) -> "MetricReads":
        """What to read for the metrics of a spec. `period_seconds` limits their age and the time to read them.

        Nothing is used that was requested or confirmed before `since_seconds`, by the monotonic clock.
        """
        # A request that several autoscalers share must not take longer than one of them without a period waits.
        shorter = self._period_seconds
        if period_seconds is not None:
            shorter = min(shorter, period_seconds)
        return MetricReads(
            self,
            tuple(request_of(namespace, metric, pod_selector) for metric in metrics),
            ages=Ages(
                fresh_seconds=_fresh_seconds(shorter),
                streamed_seconds=min(_streamed_seconds(shorter), self._monotonic() - since_seconds),
                fresh_since_seconds=since_seconds,
            ),
            deadline_seconds=_deadline_seconds(shorter),
            monotonic=self._monotonic,
        )

    def find(self, request: MetricRequest, ages: "Ages") -> Sent[Response] | None:
        """What was streamed or sent for it already, if that is new enough."""
        sent_as = _sent_as(request)
        streamed = self.streamed.find(sent_as, ages.streamed_seconds)
        return streamed or self._responses.find(
            sent_as, ages.fresh_seconds, ages.fresh_since_seconds
        )

    def find_or_send(self, request: MetricRequest, ages: "Ages") -> Sent[Response]:
        """The same; what is not found is sent now."""
        found = self.find(request, ages)
        if found is not None:
            self.count_found(request, found)
            return found
        sent_as = _sent_as(request)
        reader = self.streamed.reader(sent_as, ages.streamed_seconds)
        result = "sent" if reader.streamed is None else "streamed"
        self._telemetry.count_metrics_request(request.group, result)
        return self._responses.send(
            sent_as,
            lambda: counted(self._response(sent_as, reader)),
            lambda sent: self.streamed.keep(sent_as, reader, sent),
        )

    def count_found(self, request: MetricRequest, found: Sent[Response]) -> None:
        """A response is used for which no request is sent."""
        result = "streamed" if found.was_streamed else "shared"
        self._telemetry.count_metrics_request(request.group, result)

    async def renewed(self, path: str) -> MetricRequest | None:
        """Decode the streamed response of a path that has changed; its request, if there is one.

        None, too, if the stream was lost meanwhile: nothing is sent, since the next reconcile does.
        """
        request = self.streamed.request_of(path)
        if request is None or not self.streamed.holds(request, STREAMED_SECONDS_MAX):
            return None
        ages = Ages(fresh_seconds=0.0, streamed_seconds=STREAMED_SECONDS_MAX)
        await responded((self.find_or_send(request, ages),), self._deadline_seconds)
        return request

    async def _response(self, request: MetricRequest, kube: StreamedReader) -> Response:
        with until_decoded():
            return await self._decoded(request, kube)

    async def _decoded(self, request: MetricRequest, kube: StreamedReader) -> Response:
        try:
            match request:
                case ExternalRequest(namespace, metric, selector):
                    # Its path never changes.
                    name = metric if self._keeps_case else metric.lower()
                    path = kube.known_path or external_path(namespace, name, selector)
                    return await external_metric(kube, path, metric)
                case ObjectRequest(namespace, metric, described, selector):
                    return await self._custom.of_object(
                        kube, namespace, metric, described, selector
                    )
                case PodsRequest(namespace, metric, pods, selector):
                    return await self._custom.of_pods(kube, namespace, metric, pods, selector)
                case UsageRequest(namespace, pods):
                    return await self._resource.of_pods(namespace, pods)
        except MetricUnavailable as error:
            return samples.fetch_failed(request.api, str(error))


class Ages(msgspec.Struct, frozen=True):
    """How old a response may be that another request was sent for, and one that the adapter has streamed.

    `fresh_since_seconds`: when that other request may have been sent at the earliest.
    """

    fresh_seconds: float
    streamed_seconds: float
    fresh_since_seconds: float = -math.inf


class MetricReads:
    """The requests of one autoscaler."""

    def __init__(
        self,
        measurements: Measurements,
        wanted: tuple[MetricRequest | ComputedFrom | MetricFailed, ...],
        *,
        ages: Ages,
        deadline_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        """`wanted`: by metric, its request, or its reading if there is nothing to request."""
        self._measurements = measurements
        self._wanted = wanted
        self.requests = tuple(each for each in wanted if not isinstance(each, NOT_REQUESTED))
        self._ages = ages
        self._deadline_seconds = deadline_seconds
        self._monotonic = monotonic

    def known(self, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
        """The readings of all metrics: those of last time where a request has to be sent or is in flight.

        Also where a reading has not been made of its response yet, which may take long.
        """
        made = self._made(self._found())
        return tuple(
            last if each is None else each for each, last in zip(made, readings, strict=True)
        )

    def shared_as(self, readings: tuple[Reading, ...]) -> Shared | None:
        """The responses, if none of them needs a request and they lead to these readings. If a reconcile uses them: `count`."""
        found = self._found()
        return found if self._made(found) == readings else None

    def count(self, found: Shared) -> None:
        """A reconcile uses what `shared_as` has found."""
        for request, sent in found.items():
            self._measurements.count_found(request, sent)

    def _found(self) -> Shared:
        """The responses that are known without a request."""
        found: Shared = {}
        for request in self.requests:
            sent = self._measurements.find(request, self._ages)
            if sent is not None and sent.in_flight is None:
                found[request] = sent
        return found

    def _made(self, found: Shared) -> tuple[Reading | None, ...]:
        """The readings of these responses; None for each that is not known."""
        return tuple(
            each
            if isinstance(each, NOT_REQUESTED)
            else _reading(each, found[each].response())
            if each in found
            else None
            for each in self._wanted
        )

    async def read(self) -> tuple[TimedReading, ...]:
        """All metrics concurrently, in the order of the spec."""
        started_seconds = self._monotonic()
        sent = {
            request: self._measurements.find_or_send(request, self._ages)
            for request in self.requests
        }
        await responded(sent.values(), self._deadline_seconds)
        await _read_usage(sent)
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


async def _read_usage(sent: Shared) -> None:
    """Make the readings of usage. Everything else goes on between them: many metrics of many pods take long."""
    pods = 0
    for request, each in sent.items():
        if not isinstance(request, UsageRequest) or each.in_flight is not None:
            continue
        usage = each.response()
        if isinstance(usage, PodUsage) and _reading(request, usage) is None:
            await usage.read(request.resource, request.container)
            pods += usage.pods
        if pods >= PODS_AT_ONCE_MAX:
            await asyncio.sleep(0)
            pods = 0


def _timed_reading(
    request: MetricRequest, sent: Sent[Response], started_seconds: float, deadline_seconds: float
) -> TimedReading:
    waited_seconds = sent.waited_seconds(started_seconds)
    reading = None if sent.in_flight is not None else _reading(request, sent.response())
    if reading is None:
        reading = samples.fetch_failed(request.api, no_answer(deadline_seconds))
    return TimedReading(reading, waited_seconds)


def _reading(request: MetricRequest, response: Response) -> Reading | None:
    """None if it was not made yet."""
    match request, response:
        case UsageRequest(resource=resource, container=container), PodUsage():
            return response.known(resource, container)
        case _, PodUsage():
            raise TypeError(f"{request} has the usage of pods as its response")
        case _:
            return response


def _deadline_seconds(period_seconds: float) -> float:
    return max(DEADLINE_SECONDS_MIN, DEADLINE_PERIODS * period_seconds)


def _fresh_seconds(period_seconds: float) -> float:
    return min(FRESH_SECONDS_MAX, FRESH_PERIODS * period_seconds)


def _streamed_seconds(period_seconds: float) -> float:
    return min(STREAMED_SECONDS_MAX, max(STREAMED_SECONDS_MIN, STREAMED_PERIODS * period_seconds))
