"""Equal requests that are made within a moment are sent once, whether there is a response, a failure or none yet."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed, PodSamples, Reading
from scaler.api.autoscaler import MetricSpec, ResourceMetricSource
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.telemetry import Telemetry
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeMapper
from tests.unit.scaler.cluster.metrics.test_measurements import APP_CPU, AT, CPU, WANTED, external
from wire.api.labels import parse
from wire.api.meta import LabelSelector
from wire.api.status import Unavailable

PODS = parse("app=web")
MEMORY = MetricSpec(type="Resource", resource=ResourceMetricSource(name="memory", target=WANTED))


class CountingKube:
    """The n-th request gets the value n, after `seconds`, or the error."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.sent = 0
        self.seconds = seconds
        self.error: Exception | None = None

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        self.sent += 1
        value = str(self.sent)
        await virtual_time.passes(self.seconds)
        if self.error is not None:
            raise self.error
        item = {"metricName": "queue", "metricLabels": {}, "timestamp": AT, "value": value}
        if path.partition("?")[0].endswith("/pods"):
            usage = [{"name": "app", "usage": {"cpu": value, "memory": "1Gi"}}]
            item = {
                "metadata": {"name": "web-1"},
                "timestamp": AT,
                "window": "15s",
                "containers": usage,
            }
        return json.dumps({"items": [item]}).encode()


def over(kube: CountingKube, telemetry: Telemetry | None = None) -> Measurements:
    return Measurements(
        kube,
        FakeMapper(),
        telemetry or Telemetry(),
        period_seconds=15.0,
        monotonic=asyncio.get_running_loop().time,
    )


async def read(
    metrics: Measurements, metric: MetricSpec | None = None, period_seconds: float | None = None
) -> Reading:
    (found,) = await metrics.reads(
        "shop", [metric or external()], PODS, period_seconds=period_seconds
    ).read()
    return found.reading


def of(*values: int) -> ExternalValues:
    return ExternalValues(tuple(1000 * each for each in values))


def test_a_response_to_a_request_from_before_a_moment_is_not_used_after_it():
    async def scenario() -> None:
        metrics = over(CountingKube())
        await read(metrics)
        await virtual_time.passes(0.1)
        since_seconds = asyncio.get_running_loop().time()
        for _ in range(2):
            await virtual_time.passes(0.1)
            reads = metrics.reads("shop", [external()], PODS, since_seconds=since_seconds)
            (found,) = await reads.read()
            assert found.reading == of(2), "the second time the response to the new request"
        assert await read(metrics) == of(2), "others share it, too"

    virtual_time.run(scenario())


@pytest.mark.deviation("shared-metric-requests")
def test_equal_requests_in_flight_share_one_request():
    async def scenario() -> None:
        kube = CountingKube()
        metrics = over(kube)
        assert await asyncio.gather(*(read(metrics) for _ in range(50))) == [of(1)] * 50
        assert kube.sent == 1

    virtual_time.run(scenario())


def test_different_requests_are_sent_separately():
    async def scenario() -> None:
        kube = CountingKube()
        metrics = over(kube)
        selected = external(LabelSelector(match_labels={"queue": "mail"}))
        assert await read(metrics) != await read(metrics, selected)
        await metrics.reads("bank", [external()], PODS).read()
        assert kube.sent == 3

    virtual_time.run(scenario())


@pytest.mark.deviation("shared-metric-requests")
@pytest.mark.parametrize(
    ("age_seconds", "sent"),
    [pytest.param(0.9, 1, id="fresh"), pytest.param(1.0, 2, id="too old")],
)
def test_the_age_of_an_answer_counts_from_its_request(age_seconds, sent):
    async def scenario() -> None:
        kube = CountingKube(seconds=0.5)
        metrics = over(kube)
        await read(metrics)
        await virtual_time.passes(age_seconds - 0.5)
        assert await read(metrics) == of(sent)

    virtual_time.run(scenario())


def test_a_slow_request_is_not_waited_for_by_those_who_come_later_than_the_bound():
    async def scenario() -> None:
        kube = CountingKube(seconds=5)
        metrics = over(kube)
        first = asyncio.create_task(read(metrics))
        await virtual_time.passes(2)
        assert await read(metrics) == of(2), "an answer of its own would not be two seconds older"
        assert await first == of(1)

    virtual_time.run(scenario())


def test_a_failure_is_shared_like_a_value():
    async def scenario() -> None:
        kube = CountingKube()
        kube.error = Unavailable("down")
        metrics = over(kube)
        for _ in range(10):
            assert isinstance(await read(metrics), MetricFailed)
        assert kube.sent == 1
        kube.error = None
        await virtual_time.passes(1)
        assert await read(metrics) == of(2)

    virtual_time.run(scenario())


def test_a_cancelled_reconcile_does_not_fail_the_others():
    async def scenario() -> None:
        metrics = over(CountingKube())
        first, second = (asyncio.create_task(read(metrics)) for _ in range(2))
        await virtual_time.passes(0.01)
        first.cancel()
        assert await second == of(1)
        assert first.cancelled()

    virtual_time.run(scenario())


def test_outdated_answers_are_dropped():
    async def scenario() -> None:
        metrics = over(CountingKube())
        for number in range(100):
            await read(metrics, external(name=f"queue-{number}"))
        await virtual_time.passes(2)
        await read(metrics)
        assert len(metrics._responses) == 1

    virtual_time.run(scenario())


def test_an_autoscaler_with_a_shorter_period_requests_again_for_all():
    async def scenario() -> None:
        metrics = over(CountingKube(seconds=0))
        assert await read(metrics) == of(1)
        await virtual_time.passes(0.1)
        assert await read(metrics, period_seconds=2) == of(1)
        await virtual_time.passes(0.4)
        assert await read(metrics, period_seconds=2) == of(2), "a fifth of a second is its bound"
        assert await read(metrics) == of(2), "and the newer answer is that of the others, too"

    virtual_time.run(scenario())


def test_all_resources_and_containers_are_read_from_one_response():
    async def scenario() -> None:
        kube = CountingKube()
        metrics = over(kube)
        readings = await metrics.reads("shop", [CPU, MEMORY, APP_CPU], PODS).read()
        assert kube.sent == 1
        values = [
            each.reading.by_pod["web-1"].value_milli
            for each in readings
            if isinstance(each.reading, PodSamples)
        ]
        assert values == [1000, 2**30 * 1000, 1000]

    virtual_time.run(scenario())


def test_a_reading_is_that_of_last_time_while_its_metric_needs_a_request():
    async def scenario() -> None:
        kube = CountingKube()
        metrics = over(kube)
        both = metrics.reads("shop", [external(), CPU], PODS)
        before = (of(7), of(8))
        assert both.known(before) == before
        assert both.shared_as(before) is None
        await read(metrics)
        assert both.known(before) == (of(1), of(8)), "the usage of the pods is not known"
        assert both.shared_as((of(1), of(8))) is None
        reading = asyncio.create_task(read(metrics, CPU))
        await virtual_time.passes(0.01)
        assert both.known(before) == (of(1), of(8)), "the request is in flight"
        usage = await reading
        assert both.known(before) == (of(1), usage)
        assert both.shared_as((of(1), usage)) is not None
        assert kube.sent == 2
        await virtual_time.passes(1)
        assert both.known(before) == before
        assert both.shared_as((of(1), usage)) is None

    virtual_time.run(scenario())


def test_what_is_shared_is_counted_only_if_it_is_used_again():
    async def scenario() -> None:
        telemetry = Telemetry()
        metrics = over(CountingKube(), telemetry)
        reads = metrics.reads("shop", [external()], PODS)

        def counted() -> float | None:
            labels = {"group": "external.metrics.k8s.io", "result": "shared"}
            name = "loadline_scaler_metrics_api_requests_total"
            return telemetry.registry.get_sample_value(name, labels)

        assert reads.shared_as((of(1),)) is None
        await reads.read()
        assert reads.known((of(2),)) == (of(1),)
        assert reads.shared_as((of(2),)) is None, "another reconcile is needed, which counts them"
        found = reads.shared_as((of(1),))
        assert found is not None
        assert not counted()
        reads.count(found)
        assert counted() == 1

    virtual_time.run(scenario())
