"""The stream of the adapter, with the client of the scaler, over real connections on loopback."""

import asyncio
import contextlib

import aiohttp
import msgspec
import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from adapter.answer import KnownRequest
from adapter.caches import STREAMS_BYTES
from adapter.watching import endpoint
from adapter.watching.endpoint import MetricStreams
from adapter.watching.rounds import Rounds
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.watching.test_rounds import FakeAnswers, document, request
from wire.api.metric_stream import (
    PATH,
    PATHS_MAX,
    StreamedResponse,
    StreamRequest,
    WatchedPath,
    decode_update,
    encode,
    goes_on,
)
from wire.api.status import Unavailable, failure, forbidden, not_found, unauthorized
from wire.process.byte_budget import ByteBudget
from wire.serving.access_guard import USER
from wire.serving.attributes import User
from wire.serving.listener import Listener
from wire.serving.request_path import check_path

QUEUE = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


SCALER = User(name="scaler", groups=("scalers", "system:authenticated"))


class Access:
    """Authenticates and authorizes as the test says."""

    def __init__(self):
        self.is_authenticated = True
        self.user = SCALER
        self.refusal = None
        self.is_away = False
        self.forbidden = set()
        self.slow = {}
        """The resources whose reviews continue only when the event is set."""
        self.checked = []

    async def admit(self, _):
        if not self.is_authenticated:
            raise unauthorized()
        if self.refusal is not None:
            raise self.refusal
        return self.user

    async def authorize(self, user, attributes):
        self.checked.append((user.name, attributes.verb, attributes.namespace, attributes.resource))
        if self.is_away:
            raise Unavailable("no connection to kube-apiserver")
        if attributes.resource in self.slow:
            await self.slow[attributes.resource].wait()
        if attributes.resource in self.forbidden:
            raise forbidden(f"{attributes.resource} is forbidden")


def read(path):
    if not path.startswith("/apis/external.metrics.k8s.io"):
        raise not_found(f"no such path: {path}")
    check_path(path.partition("?")[0])
    return KnownRequest(request(metric=path.partition("?")[0].rpartition("/")[2]))


class Adapter:
    """A listener with nothing but the stream; the test begins the rounds."""

    def __init__(self, bytes_max=STREAMS_BYTES):
        self.answers, self.access, self.seconds = FakeAnswers(), Access(), 1000.0
        self.time_passes = asyncio.Event()
        self.rounds = Rounds(self.answers.answer, budget=ByteBudget(bytes_max))
        self.streams = MetricStreams(
            self.rounds,
            read,
            self.access.admit,
            self.access,
            send_seconds=0.5,
            review_wait_seconds=0.01,
            sleep=self.sleep,
            monotonic=lambda: self.seconds,
        )

        @web.middleware
        async def authenticated(requested, handler):
            requested[USER] = SCALER
            return await handler(requested)

        app = web.Application(middlewares=[authenticated])
        self.streams.add_route(app)
        self.listener = Listener(app, drain_seconds=0.1)

    async def sleep(self, _):
        await self.time_passes.wait()
        self.time_passes.clear()

    @contextlib.asynccontextmanager
    async def client(self):
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                f"http://127.0.0.1:{self.listener.port}{PATH}",
                timeout=aiohttp.ClientWSTimeout(ws_close=0.1),
            ) as socket,
        ):
            yield Client(self, socket)


class Client:
    def __init__(self, adapter, socket):
        self.adapter, self.socket, self.now = adapter, socket, 0.0

    async def send(self, *, stop=(), **paths):
        watch = tuple(WatchedPath(int(name[1:]), path) for name, path in paths.items())
        self.now += 1.0
        await self.socket.send_bytes(encode(StreamRequest(now=self.now, watch=watch, stop=stop)))

    async def round(self, *, watched):
        """The responses of a round that begins after the adapter has all messages: id to (code, body)."""
        await arrives(lambda: len(self.adapter.rounds) == watched)
        await self.adapter.rounds.round()
        found = {}
        while True:
            update = decode_update(await self.socket.receive_bytes(timeout=DEADLINE_SECONDS))
            found |= {each.id: (each.code, bytes(each.body)) for each in update.responses}
            if update.as_of is not None:
                return update.as_of, found


async def arrives(condition):
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0)


async def test_the_first_round_sends_everything_and_later_ones_what_has_changed(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=f"{QUEUE}_2")
        as_of, found = await client.round(watched=2)
        assert as_of == 1.0
        assert found.keys() == {1, 2}
        assert found[1][0] == 200
        assert b'"value":"1"' in found[1][1]
        assert await client.round(watched=2) == (1.0, {})
        adapter.answers.responses["queue"] = document("2")
        _, found = await client.round(watched=2)
        assert found.keys() == {1}
        assert b'"value":"2"' in found[1][1]


async def test_each_path_is_authorized_as_a_get_of_it(adapter):
    adapter.access.forbidden = {"secret"}
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=QUEUE.replace("queue", "secret"))
        _, found = await client.round(watched=1)
    assert {number: code for number, (code, _) in found.items()} == {1: 200, 2: 403}
    assert b'"value"' not in found[2][1]
    assert ("scaler", "list", "shop", "queue") in adapter.access.checked
    assert adapter.answers.requested == ["queue"], "what may not be read is not evaluated"


async def test_a_permission_that_is_revoked_ends_the_responses_of_its_path(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        adapter.access.forbidden = {"queue"}
        adapter.answers.responses["queue"] = document("2")
        adapter.seconds += endpoint.RECHECK_SECONDS
        _, found = await client.round(watched=1)
        assert found[1][0] == 403
        evaluated = len(adapter.answers.requested)
        adapter.answers.responses["queue"] = document("3")
        assert (await client.round(watched=0))[1] == {}
        assert len(adapter.answers.requested) == evaluated
        adapter.access.forbidden = set()
        adapter.seconds += endpoint.RECHECK_SECONDS
        await client.round(watched=0)
        _, found = await client.round(watched=1)
        assert found[1][0] == 200


async def test_a_permission_that_cannot_be_reviewed_is_a_failure_until_it_can_be(adapter):
    async with adapter.client() as client:
        adapter.access.is_away = True
        await client.send(_1=QUEUE)
        await arrives(lambda: adapter.access.checked)
        _, found = await client.round(watched=0)
        assert found[1][0] == 503
        assert (await client.round(watched=0))[1] == {}
        adapter.access.is_away = False
        await client.round(watched=0)
        _, found = await client.round(watched=1)
        assert found[1][0] == 200


async def test_a_review_that_hangs_delays_no_other_path(adapter):
    other = f"{QUEUE}_2"
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=other)
        await client.round(watched=2)
        ends = adapter.access.slow["queue"] = asyncio.Event()
        adapter.answers.responses["queue_2"] = document("2")
        adapter.seconds += endpoint.RECHECK_SECONDS
        _, found = await client.round(watched=2)
        assert {number: code for number, (code, _) in found.items()} == {1: 429, 2: 200}
        assert b'"value":"2"' in found[2][1]
        response = StreamedResponse(1, 429, msgspec.Raw(found[1][1]))
        assert goes_on(response), "the client continues to watch it, and sends a GET meanwhile"
        ends.set()
        await client.round(watched=1)
        _, found = await client.round(watched=2)
        assert found[1][0] == 200


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/apis/unknown/v1/x", id="no such API"),
        pytest.param(f"{QUEUE}%zz", id="malformed"),
    ],
)
async def test_a_path_that_is_none_is_refused_and_the_others_are_served(adapter, path):
    async with adapter.client() as client:
        await client.send(_1=path, _2=QUEUE)
        _, found = await client.round(watched=1)
    assert found[1][0] in (400, 404)
    assert found[2][0] == 200


async def test_the_refusal_of_a_long_path_does_not_quote_it(adapter):
    """Up to PATHS_MAX of them wait for the end of a round."""
    async with adapter.client() as client:
        await client.send(_1=f"/{'x' * 5_000}", _2=QUEUE)
        _, found = await client.round(watched=1)
    assert (found[1][0], found[2][0]) == (429, 200)
    assert "send a GET" in str(found[1][1])


async def test_what_is_no_longer_watched_is_not_evaluated_also_after_a_client_has_gone(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=f"{QUEUE}_2")
        await client.round(watched=2)
        await client.send(stop=(1,))
        await arrives(lambda: len(adapter.rounds) == 1)
    await arrives(lambda: len(adapter.rounds) == 0)


async def test_streams_and_what_is_watched_are_counted(adapter):
    exported = REGISTRY.get_sample_value
    async with adapter.client() as first, adapter.client() as second:
        await first.send(_1=QUEUE, _2=f"{QUEUE}_2")
        await second.send(_1=QUEUE)
        await arrives(lambda: len(adapter.rounds) == 2)
        assert exported("loadline_adapter_streams") == 2
        assert exported("loadline_adapter_watched_metrics") == 2
    await arrives(lambda: exported("loadline_adapter_streams") == 0)
    await arrives(lambda: exported("loadline_adapter_watched_metrics") == 0)


def ended(reason):
    """How many streams the adapter has ended for this reason."""
    labels = {"reason": reason}
    return REGISTRY.get_sample_value("loadline_adapter_streams_ended_total", labels) or 0


@pytest.mark.parametrize(
    "message", [b"not JSON", b'{"now":1,"x":' + b"[" * 2_000 + b"]" * 2_000 + b"}"]
)
async def test_a_client_that_does_not_follow_the_protocol_is_disconnected(adapter, message):
    before = ended("protocol")
    async with adapter.client() as client:
        await client.socket.send_bytes(message)
        message = await client.socket.receive(timeout=DEADLINE_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE
    assert ended("protocol") == before + 1


async def test_a_client_that_watches_too_many_paths_is_disconnected(adapter):
    before = ended("protocol")
    half = PATHS_MAX // 2
    async with adapter.client() as client:
        await client.send(**{f"_{each}": "/" for each in range(1, half)})
        others = {f"_{each}": "/" for each in range(half, PATHS_MAX)}
        await client.send(**others, _0=QUEUE)
        await arrives(lambda: len(adapter.rounds) == 1)
        await client.send(**{f"_{PATHS_MAX}": QUEUE})
        message = await client.socket.receive(timeout=DEADLINE_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE
    assert ended("protocol") == before + 1


async def test_a_token_that_is_no_longer_valid_ends_the_stream(adapter):
    before = ended("not_admitted")
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        adapter.time_passes.set()
        await client.round(watched=1)
        adapter.access.is_authenticated = False
        adapter.time_passes.set()
        message = await client.socket.receive(timeout=DEADLINE_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE
    assert ended("not_admitted") == before + 1


@pytest.mark.parametrize(
    ("user", "refusal"),
    [
        pytest.param(User(name="scaler", groups=("system:authenticated",)), None, id="a group"),
        pytest.param(SCALER, forbidden("cannot impersonate"), id="impersonation"),
        pytest.param(SCALER, forbidden(f"cannot get {PATH}"), id="the path of streams"),
    ],
)
async def test_what_a_client_has_lost_ends_its_stream(adapter, user, refusal):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        adapter.access.user, adapter.access.refusal = user, refusal
        adapter.time_passes.set()
        message = await client.socket.receive(timeout=DEADLINE_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Unavailable("no connection to kube-apiserver"), id="no review"),
        pytest.param(failure(429, "too many reviews"), id="a full queue"),
    ],
)
async def test_a_stream_stays_open_while_its_client_cannot_be_reviewed(adapter, refusal):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        adapter.access.refusal = refusal
        adapter.time_passes.set()
        await arrives(lambda: not adapter.time_passes.is_set())
        assert await client.round(watched=1) == (1.0, {})


async def test_a_plain_get_is_refused(adapter):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{adapter.listener.port}{PATH}") as response,
    ):
        assert response.status >= 400


async def test_a_stopping_adapter_ends_its_streams(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        closing = asyncio.create_task(adapter.streams.close())
        message = await client.socket.receive(timeout=DEADLINE_SECONDS)
        assert message.type is aiohttp.WSMsgType.CLOSE
        await closing


async def test_a_client_that_does_not_read_is_disconnected_and_holds_up_no_round(adapter):
    large = document("1", labels={"large": "x" * 1_000_000})
    async with adapter.client() as slow, adapter.client() as quick:
        paths = {f"_{number}": f"{QUEUE}_{number}" for number in range(1, 17)}
        adapter.answers.responses = {f"queue_{number}": large for number in range(1, 17)}
        await slow.send(**paths)
        await quick.send(_1=QUEUE)
        await arrives(lambda: len(adapter.rounds) == 17)
        slow.socket._reader._protocol.pause_reading()
        _, found = await quick.round(watched=17)
        assert found.keys() == {1}
        await arrives(lambda: len(adapter.rounds) == 1)
        adapter.answers.responses["queue"] = document("2")
        _, found = await quick.round(watched=1)
        assert found.keys() == {1}
