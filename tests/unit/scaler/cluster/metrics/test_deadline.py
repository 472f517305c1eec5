"""A metrics API that hangs fails its own metric in time, and keeps no other from being read."""

import asyncio
from collections.abc import Mapping

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.api.autoscaler import MetricSpec
from scaler.cluster.metrics.bounded_reader import (
    GROUP_REQUESTS_MAX,
    METRIC_REQUESTS_MAX,
    NAMESPACE_REQUESTS_MAX,
    BoundedReader,
)
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.telemetry import Telemetry
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeMapper
from tests.unit.scaler.cluster.metrics.test_measurements import CPU, external, pods
from wire.api.labels import parse
from wire.api.meta import LabelSelector

PODS = parse("app=web")
VALUES = (
    b'{"items": [{"metricName": "queue", "metricLabels": null,'
    b' "timestamp": "2026-01-01T00:00:00Z", "value": "3"}]}'
)
NO_ANSWER = "unable to fetch metrics from external metrics API: no answer within 10s"


class HangingKube:
    """Never responds for metrics whose name contains `hang`; counts the requests in flight."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.in_flight_max = 0

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            await virtual_time.passes(1e6 if "hang" in path else 0.02)
        finally:
            self.in_flight -= 1
        return VALUES


def measurements(kube: HangingKube, period_seconds: float = 15.0) -> Measurements:
    return Measurements(
        kube,
        FakeMapper(),
        Telemetry(),
        period_seconds=period_seconds,
        monotonic=asyncio.get_running_loop().time,
    )


@pytest.mark.deviation("metric-deadline")
def test_a_metric_that_does_not_answer_within_two_thirds_of_the_period_has_failed():
    async def scenario() -> None:
        kube = HangingKube()
        found = (
            await measurements(kube)
            .reads("shop", [external(name="hangs"), external()], PODS)
            .read()
        )
        assert [each.reading for each in found] == [
            MetricFailed(NO_ANSWER),
            ExternalValues((3000,)),
        ]
        assert [round(each.duration_seconds, 2) for each in found] == [10.0, 0.02]
        await virtual_time.passes(0)
        assert kube.in_flight == 0, "the request is given up as well"

    virtual_time.run(scenario())


def test_the_deadline_holds_for_all_requests_that_a_metric_needs():
    """A Pods metric looks up the version of the API first."""

    async def scenario() -> float:
        kube = HangingKube()
        kube_get = kube.get

        async def slow_get(
            path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
        ) -> bytes:
            await virtual_time.passes(7)
            if path == "/apis":
                group = b'{"name": "custom.metrics.k8s.io", "versions": [{"version": "v1beta2"}]}'
                return b'{"groups": [' + group + b"]}"
            return await kube_get(path, params)

        kube.get = slow_get  # type: ignore[method-assign, assignment]
        (found,) = await measurements(kube).reads("shop", [pods()], PODS).read()
        assert isinstance(found.reading, MetricFailed)
        return found.duration_seconds

    assert virtual_time.run(scenario()) == 10.0


def queue_of(number: int, name: str) -> MetricSpec:
    """An External metric that no other autoscaler reads."""
    return external(LabelSelector(match_labels={"queue": str(number)}), name=name)


def hanging_reads(found: Measurements, namespace: str) -> list[asyncio.Task[object]]:
    reads = (
        found.reads(namespace, [queue_of(number, "hangs")], PODS).read()
        for number in range(METRIC_REQUESTS_MAX + 10)
    )
    return [asyncio.create_task(read) for read in reads]


def test_another_metric_of_the_same_namespace_is_read_while_one_hangs():
    async def scenario() -> None:
        kube = HangingKube()
        found = measurements(kube)
        hanging = hanging_reads(found, "shop")
        await virtual_time.passes(1)
        assert kube.in_flight == METRIC_REQUESTS_MAX
        (healthy,) = await found.reads("shop", [external()], PODS).read()
        assert healthy.duration_seconds < 0.1
        for task in hanging:
            (failed,) = await task
            assert failed.reading == MetricFailed(NO_ANSWER)
            assert failed.duration_seconds == pytest.approx(10.0)

    virtual_time.run(scenario())


@pytest.mark.deviation("metric-deadline")
def test_another_namespace_and_another_api_group_are_read_while_one_hangs():
    async def scenario() -> None:
        kube = HangingKube()
        found = measurements(kube)
        for metric in ("hangs", "hangs-too", "hangs-three"):
            for number in range(METRIC_REQUESTS_MAX):
                read = found.reads("shop", [queue_of(number, metric)], PODS).read()
                tasks.add(asyncio.create_task(read))
        await virtual_time.passes(1)
        assert kube.in_flight == NAMESPACE_REQUESTS_MAX
        (healthy,) = await found.reads("bank", [external()], PODS).read()
        assert healthy.duration_seconds < 0.1
        for number in range(10):
            tasks.update(hanging_reads(found, f"hanging-{number}"))
        await virtual_time.passes(1)
        assert kube.in_flight == GROUP_REQUESTS_MAX
        (usage,) = await found.reads("bank", [CPU], PODS).read()
        assert usage.duration_seconds < 0.1

    tasks: set[asyncio.Task[object]] = set()
    virtual_time.run(scenario())


def test_a_limit_is_forgotten_with_its_last_request():
    async def scenario() -> None:
        reader = BoundedReader(HangingKube(), deadline_seconds=1.0)
        await reader.get("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue")
        assert len(reader._limits) == 0

    virtual_time.run(scenario())


@pytest.mark.parametrize(
    ("period_seconds", "deadline_seconds"),
    [
        pytest.param(9, 6, id="two thirds of its own period"),
        pytest.param(1, 5, id="at least five seconds"),
        pytest.param(600, 10, id="not longer than the requests that all share"),
    ],
)
def test_an_autoscaler_with_its_own_period_has_its_own_deadline(period_seconds, deadline_seconds):
    async def scenario() -> None:
        kube = HangingKube()
        (found,) = (
            await measurements(kube)
            .reads("shop", [external(name="hangs")], PODS, period_seconds=period_seconds)
            .read()
        )
        assert isinstance(found.reading, MetricFailed)
        assert found.reading.message.endswith(f"no answer within {deadline_seconds}s")

    virtual_time.run(scenario())
