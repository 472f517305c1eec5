"""The stream stays open while there is a direct connection, and nothing is used after it is lost."""

import asyncio

import msgspec
import pytest
from aiohttp import web

from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.telemetry import Telemetry
from scaler.runtime.clients import MetricsClient, metrics_budget
from scaler.runtime.stream_connection import StreamConnection
from tests.deadline import DEADLINE_SECONDS
from wire.api.metric_stream import (
    PATH,
    PATHS_MAX,
    PATHS_MAX_BY_DEFAULT,
    StreamedResponse,
    StreamUpdate,
    decode_request,
    encode,
)
from wire.api.offers import LARGE_METRIC_STREAM
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection

METRIC = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


class Source:
    def __init__(self, server):
        self.server = server

    async def read(self, *, refused: bool = False):
        return ClusterAccess(server=self.server, authorization="Bearer secret")


class Pauses:
    """Of no duration, and their number since the last stream that lasted."""

    def __init__(self):
        self.count = 0

    def next_seconds(self):
        self.count += 1
        return 0.0

    def reset(self):
        self.count = 0


class World:
    """A server on loopback, and a scaler with a direct connection to it."""

    def __init__(self):
        self.sockets, self.tokens, self.watched = [], [], []
        self.pauses = Pauses()
        self.now_seconds = 0.0
        self.refusal = 0
        self.ends_at_once = False
        self.location = ""
        self.client = None
        self.offered = set()
        self.stream = MetricStream(asyncio.get_running_loop().time)
        self.telemetry = Telemetry()
        self.connection = StreamConnection(
            self,
            self.stream,
            self.telemetry,
            backoff=self.pauses,
            monotonic=lambda: self.now_seconds,
        )

    def streaming(self):
        return self.client

    def offers(self, client, name):
        return client is self.client and name in self.offered

    async def connected(self, client_of):
        await self.becomes(lambda: client_of() is not None)
        return client_of()

    def reader(self, group, version):
        return self.client if group == "external.metrics.k8s.io" else None

    async def serve(self, request):
        self.tokens.append(request.headers["Authorization"])
        if self.location and "elsewhere" not in request.query:
            raise web.HTTPTemporaryRedirect(self.location)
        if self.refusal:
            return web.Response(status=self.refusal)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        if self.ends_at_once:
            return socket
        async for message in socket:
            found = decode_request(message.data)
            self.watched += [each.path for each in found.watch]
            for each in found.watch:
                response = StreamedResponse(each.id, 200, msgspec.Raw(b"{}"))
                await socket.send_bytes(encode(StreamUpdate(responses=(response,))))
            await socket.send_bytes(encode(StreamUpdate(as_of=found.now)))
        return socket

    async def elsewhere(self, request):
        self.redirected.append(dict(request.headers))
        return web.Response(status=404)

    @property
    def is_open(self):
        name = "loadline_scaler_stream_connected"
        return self.telemetry.registry.get_sample_value(name) == 1

    async def becomes(self, condition):
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                if condition():
                    return
                await asyncio.sleep(0)

    def has_response(self):
        self.stream.watch(METRIC)
        return self.stream.use(METRIC, 5.0) is not None


@pytest.fixture
async def world():
    made = World()
    app = web.Application()
    app.router.add_get(PATH, made.serve)
    app.router.add_get("/elsewhere", made.elsewhere)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    source = Source(f"http://127.0.0.1:{runner.addresses[0][1]}")
    connection = Connection(source, await source.read(), user_agent="test/1")
    made.client = MetricsClient(connection, metrics_budget())
    task = asyncio.create_task(made.connection.run())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await runner.cleanup()


async def test_a_watched_metric_has_its_response(world):
    await world.becomes(world.has_response)
    assert world.is_open
    assert world.watched == [METRIC]
    assert world.tokens == ["Bearer secret"]


@pytest.mark.parametrize(
    ("offered", "expected"),
    [((), PATHS_MAX_BY_DEFAULT), ((LARGE_METRIC_STREAM,), PATHS_MAX)],
    ids=["not offered", "offered"],
)
async def test_more_paths_are_watched_only_of_an_adapter_that_offers_it(world, offered, expected):
    world.offered.update(offered)
    await world.becomes(world.has_response)
    for number in range(expected):
        world.stream.watch(f"{METRIC}_{number}")
    assert len(world.stream) == expected


async def test_after_the_server_has_disconnected_nothing_is_used_until_it_is_connected_again(world):
    await world.becomes(world.has_response)
    await world.sockets[0].close()
    await world.becomes(lambda: not world.is_open)
    assert world.stream.use(METRIC, 5.0) is None
    await world.becomes(world.has_response)
    assert len(world.sockets) == 2
    assert world.watched == [METRIC, METRIC]


async def test_an_invalid_message_ends_the_stream(world, caplog):
    await world.becomes(lambda: world.sockets)
    await world.sockets[0].send_bytes(b"not JSON")
    await world.becomes(lambda: "sent an invalid message" in caplog.text)


async def test_the_stream_ends_with_the_direct_connection(world):
    await world.becomes(world.has_response)
    first, world.client = world.client, None
    assert world.stream.use(METRIC, 5.0) is None, "another server may serve it now"
    await world.becomes(lambda: not world.is_open)
    world.client = first
    await world.becomes(world.has_response)


async def test_a_stream_that_the_adapter_refuses_is_reported_and_tried_again(world, caplog):
    world.refusal = 403
    await world.becomes(lambda: "metrics are not streamed" in caplog.text)
    await world.becomes(lambda: len(world.tokens) > 1)
    world.refusal = 0
    await world.becomes(world.has_response)


async def test_pauses_grow_while_streams_that_are_accepted_end_at_once(world):
    world.ends_at_once = True
    await world.becomes(lambda: world.pauses.count == 3)
    assert len(world.sockets) == 3


async def test_a_stream_that_has_lasted_a_minute_is_opened_again_after_the_first_pause(world):
    world.ends_at_once = True
    await world.becomes(lambda: world.pauses.count == 3)
    world.ends_at_once = False
    await world.becomes(world.has_response)
    world.now_seconds += 59.0
    await world.sockets[-1].close()
    await world.becomes(lambda: world.pauses.count == 4)
    await world.becomes(world.has_response)
    world.now_seconds += 60.0
    await world.sockets[-1].close()
    await world.becomes(lambda: world.pauses.count == 1)


async def test_a_redirect_is_not_followed_with_the_token(world, caplog):
    world.location = f"{PATH}?elsewhere"
    await world.becomes(lambda: "metrics are not streamed" in caplog.text)
    assert world.sockets == []
