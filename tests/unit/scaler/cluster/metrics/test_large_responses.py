"""A large response is read in parts, between which the event loop does everything else."""

import asyncio
from typing import Any

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed, ObjectValue, PodSamples
from scaler.api.autoscaler import MetricSpec
from scaler.cluster.metrics.measurements import PODS_AT_ONCE_MAX
from scaler.cluster.metrics.metrics_api import SERIES_BYTES_MAX
from scaler.cluster.metrics.response_parts import PART_BYTES, UNDIVIDED_BYTES_MAX
from tests.fakes.scaler import FakeKube
from tests.other_tasks import turns_during
from tests.traced_memory import traced_memory
from tests.unit.scaler.cluster.metrics.test_measurements import (
    APP_CPU,
    CPU,
    CUSTOM,
    EXTERNAL,
    PODS,
    external,
    kube_with,
    measurements,
    of_object,
    pods,
    read,
    value,
)
from wire.process.response_budget import ResponseBudget

USAGE = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"
COUNT = 6_000


def series(number: int) -> dict[str, Any]:
    return {"metricName": "queue", "metricLabels": {"pod": f"web-{number}"}, "value": f"{number}"}


def usage(number: int) -> dict[str, Any]:
    containers = [{"name": name, "usage": {"cpu": f"{number}m"}} for name in ("app", "proxy")]
    return {"metadata": {"name": f"web-{number}"}, "window": "15s", "containers": containers}


def kube_of(count: int) -> FakeKube:
    """Three APIs with that many items in each response."""
    kube = kube_with()
    for path, item in {
        f"{EXTERNAL}/queue": series,
        f"{CUSTOM}/pods/*/rps": lambda number: value(f"web-{number}", f"{number}"),
        USAGE: usage,
    }.items():
        kube.serve(path, {"metadata": None, "items": [item(number) for number in range(count)]})
    return kube


@pytest.mark.parametrize("metric", [external(), pods(), CPU, APP_CPU], ids=lambda each: each.type)
async def test_other_tasks_go_on_between_the_parts_of_a_large_response(metric):
    kube = kube_of(COUNT)
    smallest = min(len(kube.answers[path]) for path in (f"{EXTERNAL}/queue", USAGE))
    assert smallest > UNDIVIDED_BYTES_MAX
    _, few = await turns_during(read(measurements(kube_of(1)), metric))
    _, turns = await turns_during(read(measurements(kube), metric))
    assert turns > few + smallest / PART_BYTES


async def test_a_large_response_has_the_readings_of_all_of_its_parts():
    metrics = measurements(kube_of(COUNT))
    found = await read(metrics, external())
    assert found == ExternalValues(tuple(number * 1_000 for number in range(COUNT)))
    for metric, of_each in ((pods(), 1_000), (CPU, 2), (APP_CPU, 1)):
        reading = await read(metrics, metric)
        assert isinstance(reading, PodSamples)
        expected = {f"web-{number}": number * of_each for number in range(COUNT)}
        assert {name: each.value_milli for name, each in reading.by_pod.items()} == expected


@pytest.mark.parametrize(
    ("metric", "path", "item"),
    [
        pytest.param(external(), f"{EXTERNAL}/queue", series, id="External"),
        pytest.param(pods(), f"{CUSTOM}/pods/*/rps", lambda _: value("x", "1"), id="Pods"),
    ],
)
async def test_one_value_in_a_large_response_that_is_not_a_quantity_fails_it(metric, path, item):
    kube = kube_of(COUNT)
    kube.serve(path, {"items": [*map(item, range(COUNT)), {**item(0), "value": "many"}]})
    failed = await read(measurements(kube), metric)
    assert isinstance(failed, MetricFailed)
    small = kube_of(1)
    small.serve(path, {"items": [{**item(0), "value": "many"}]})
    assert await read(measurements(small), metric) == failed


async def test_a_large_response_of_an_object_fails_with_the_number_of_all_of_its_items():
    kube = kube_with()
    path = f"{CUSTOM}/services/front/hits"
    kube.serve(path, {"items": [value("front", "1")] * COUNT})
    failed = await read(measurements(kube), of_object("Service"))
    assert isinstance(failed, MetricFailed)
    assert f"returned {COUNT} results" in failed.message
    kube.serve(path, {"metadata": {"x": "x" * UNDIVIDED_BYTES_MAX}, "items": [value("front", "1")]})
    assert await read(measurements(kube), of_object("Service")) == ObjectValue(1_000)


@pytest.mark.parametrize("body", [b"[" * 300_000, b'{"items":[' + b" " * 300_000, b"1" * 300_000])
async def test_a_large_response_that_is_not_a_list_is_malformed(body):
    kube = kube_with()
    kube.answers[f"{EXTERNAL}/queue"] = body
    failed = await read(measurements(kube), external())
    assert isinstance(failed, MetricFailed)
    assert "the response is malformed" in failed.message


@pytest.mark.deviation("series-limit")
@pytest.mark.parametrize(
    ("metric", "path"),
    [(external(), f"{EXTERNAL}/queue"), (of_object("Service"), f"{CUSTOM}/services/front/hits")],
    ids=["External", "Object"],
)
async def test_a_response_of_more_than_8_mib_to_one_value_is_not_read(metric, path):
    kube = kube_with()
    kube.answers[path] = body = b'{"items":[]}' + b" " * SERIES_BYTES_MAX
    failed = await read(measurements(kube), metric)
    assert isinstance(failed, MetricFailed)
    assert f"has {len(body)} bytes, and those of more than 8388608 are not read" in failed.message
    kube.answers[path] = body[:SERIES_BYTES_MAX]
    assert "are not read" not in str(await read(measurements(kube), metric))


def containers(count: int) -> list[MetricSpec]:
    assert APP_CPU.container_resource is not None
    return [
        MetricSpec(
            type="ContainerResource",
            container_resource=type(APP_CPU.container_resource)(
                name="cpu", container=f"c{number}", target=APP_CPU.container_resource.target
            ),
        )
        for number in range(count)
    ]


async def test_metrics_with_the_same_response_share_their_readings():
    metrics = measurements(kube_of(2))
    reads = metrics.reads("shop", [CPU, APP_CPU, CPU], PODS)
    first, of_container, third = [each.reading for each in await reads.read()]
    assert first is third
    assert first != of_container
    (shared,) = metrics.reads("shop", [APP_CPU], PODS).known((first,))
    assert shared is of_container


async def test_a_reading_that_is_not_made_yet_is_not_made_without_pauses():
    metrics = measurements(kube_of(2))
    await read(metrics, CPU)
    reads = metrics.reads("shop", [APP_CPU], PODS)
    before = MetricFailed("not read yet")
    assert reads.known((before,)) == (before,)
    (reading,) = [each.reading for each in await reads.read()]
    assert reads.known((before,)) == (reading,)


async def test_other_tasks_go_on_between_many_readings_of_one_response():
    kube = kube_of(1_000)
    assert len(kube.answers[USAGE]) < UNDIVIDED_BYTES_MAX
    _, few = await turns_during(measurements(kube).reads("shop", containers(1), PODS).read())
    _, many = await turns_during(measurements(kube).reads("shop", containers(30), PODS).read())
    assert many >= few + 30_000 / PODS_AT_ONCE_MAX - 1


# Its values take 15 times as much in memory as in a response.
SELECTOR = {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["aa"] * 990}]}
LABELS = {f"{number:x}": "" for number in range(1_000)}


@pytest.mark.parametrize(
    ("metric", "path", "item"),
    [
        pytest.param(
            pods(),
            f"{CUSTOM}/pods/*/rps",
            lambda number: {**value(f"web-{number}", "1"), "metric": {"selector": SELECTOR}},
            id="the selector of the request",
        ),
        pytest.param(
            of_object("Service"),
            f"{CUSTOM}/services/front/hits",
            lambda _: {**value("front", "1"), "metric": {"selector": SELECTOR}},
            id="the same of an object",
        ),
        pytest.param(
            external(),
            f"{EXTERNAL}/queue",
            lambda number: {**series(number), "metricLabels": LABELS},
            id="the labels of series",
        ),
        pytest.param(
            CPU,
            USAGE,
            lambda number: {**usage(number), "metadata": {"name": f"w{number}", "labels": LABELS}},
            id="the labels of pods",
        ),
    ],
)
async def test_what_the_items_of_a_response_repeat_does_not_take_many_times_its_size(
    metric, path, item
):
    kube = kube_with()
    kube.serve(path, {"metadata": {}, "items": [item(number) for number in range(600)]})
    size_bytes = len(kube.answers[path])
    assert size_bytes > 2_000_000
    reads = measurements(kube).reads("shop", [metric], PODS)
    with traced_memory() as traced:
        await reads.read()
        assert traced.peak_bytes < 1.5 * size_bytes
        assert traced.kept_bytes < 0.3 * size_bytes


async def test_a_response_counts_until_it_is_decoded():
    budget = ResponseBudget(10_000, response_bytes_max=10_000_000, free_bytes=0)
    kube = kube_of(COUNT)
    used: list[int] = []

    class Server:
        """Counts what it reads."""

        async def get(self, path: str, params: object = None, *, accept: str = "") -> bytes:
            body = await kube.get(path)
            with budget.claim() as claim:
                await claim.grow(len(body))
            return body

    async def note() -> None:
        while True:
            used.append(budget.used_bytes)
            await asyncio.sleep(0)

    noting = asyncio.create_task(note())
    await measurements(Server()).reads("shop", [external()], PODS).read()
    noting.cancel()
    size_bytes = len(kube.answers[f"{EXTERNAL}/queue"])
    assert used.count(size_bytes) > size_bytes / PART_BYTES - 1
    assert budget.used_bytes == 0
