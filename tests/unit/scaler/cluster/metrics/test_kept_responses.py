"""How long something is kept of a streamed response and its request."""

import asyncio

import msgspec
import pytest

from scaler.cluster.metrics.metric_stream import UNUSED_SECONDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.metrics.test_measurements import external
from tests.unit.scaler.cluster.metrics.test_streamed_measurements import (
    METRICS,
    PODS,
    World,
    with_round,
)
from wire.api.metric_stream import StreamedResponse, StreamUpdate


def test_nothing_is_kept_of_a_metric_that_no_autoscaler_has_any_more():
    async def scenario() -> None:
        world = World()
        world.open()
        for names in (("external", "pods"), ("pods",)):
            await world.read(*names)
            world.seconds += 15.0
            world.round()
        assert world.kept == (2, 2)
        world.followers.forget(f"shop/{('external', 'pods')}")
        assert world.kept == (1, 1)
        world.followers.forget(f"shop/{('pods',)}")
        assert world.kept == (0, 0)

    virtual_time.run(scenario())


def test_a_response_that_arrives_after_its_autoscaler_was_deleted_is_not_kept():
    async def scenario() -> None:
        world = World()
        world.open()
        reads = world.streamed.reads("shop", [world.spec("external")], PODS)
        world.followers.follow("shop/web", reads.requests)
        reading = asyncio.ensure_future(reads.read())
        await asyncio.sleep(0)
        world.followers.forget("shop/web")
        await reading
        assert world.kept == (0, 0)

    virtual_time.run(scenario())


@pytest.mark.parametrize("how", ["lost", "unused", "refused"])
def test_nothing_is_kept_of_a_response_that_the_stream_has_dropped(how):
    async def scenario() -> None:
        world = World()
        world.open()
        await world.read("external")
        await with_round(world, "external")
        assert world.kept == (1, 1)
        match how:
            case "lost":
                world.stream.closed()
            case "unused":
                world.seconds += UNUSED_SECONDS + 10.0
                list(world.stream.requests())
            case "refused":
                [number] = world.watched
                refusal = StreamedResponse(number, 403, msgspec.Raw(b"{}"))
                world.stream.received(StreamUpdate(responses=(refusal,)))
        assert world.kept == (0, 0)
        world.gets()
        world.seconds += 1.5
        await world.read("external")
        assert world.gets() == [METRICS["external"][1]]

    virtual_time.run(scenario())


def test_without_a_stream_no_requests_are_kept():
    async def scenario() -> None:
        world = World()
        await world.read("external", "pods")
        assert world.kept == (0, 0)

    virtual_time.run(scenario())


def test_two_names_of_one_metric_are_both_read_from_the_stream_until_neither_is_needed():
    """client-go requests the names of External metrics of HPAs in lower case."""

    async def scenario() -> None:
        world = World(keeps_case=False)
        world.open()
        path = METRICS["external"][1]
        specs = {name: external(name=name) for name in ("queue", "Queue")}
        for _ in range(3):
            world.seconds += 15.0
            world.round()
            world.gets()
            for name, spec in specs.items():
                reads = world.streamed.reads("shop", [spec], PODS)
                world.followers.follow(f"shop/{name}", reads.requests)
                await reads.read()
        assert world.gets() == []
        assert world.kept == (2, 1)
        world.followers.forget("shop/queue")
        assert world.kept == (1, 1)
        assert world.streamed.streamed.request_of(path) is not None
        world.followers.forget("shop/Queue")
        assert world.kept == (0, 0)

    virtual_time.run(scenario())
