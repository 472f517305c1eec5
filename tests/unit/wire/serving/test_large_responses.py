"""Large responses are sent as fast as they are read, and together take no more memory than they may."""

import asyncio
import contextlib
import threading

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from testbed.waiting import until
from tests.fakes.clock import FakeClock
from tests.traced_memory import traced_memory
from wire.api.json_pieces import JSONPieces, in_pieces
from wire.serving.access_guard import errors_to_status
from wire.serving.large_responses import (
    LARGE_BYTES,
    SLOW_SECONDS,
    WRITE_BYTES,
    LargeResponse,
    SendingBudget,
)
from wire.serving.rendering import INDENTED_BYTES_MAX, YAML_COST, respond

DOCUMENT = {"items": [{"name": f"web-{number}", "value": "1" * 16_000} for number in range(1_000)]}
"""More than the kernel keeps of what a client does not read."""
SMALL = {"items": [{"name": f"web-{number}", "value": "1"} for number in range(2_000)]}
ENCODED = msgspec.json.encode(DOCUMENT)
REPEATED = b'"' + b"x" * 100_000 + b'"'
OWN = in_pieces(DOCUMENT)
MIB = 1 << 20


def repeating(times):
    pieces = [b"[", REPEATED, *[b",", REPEATED] * (times - 1), b"]"]
    return JSONPieces(pieces, sum(map(len, pieces)), len(REPEATED))


class Serving:
    """A server that responds with one document, and its clients."""

    def __init__(self, document, bytes_max=64 * MIB):
        self.budget = SendingBudget(bytes_max)
        self.yaml_budget = None
        self._document = document
        self._open = contextlib.AsyncExitStack()

    async def __aenter__(self):
        async def respond_with_it(request):
            return respond(
                request,
                self._document,
                budget=self.budget,
                yaml_budget=self.yaml_budget or self.budget,
            )

        app = web.Application(middlewares=[errors_to_status])
        app.router.add_get("/", respond_with_it)
        self.client = await self._open.enter_async_context(TestClient(TestServer(app)))
        return self

    async def __aexit__(self, *_):
        await self._open.aclose()

    async def get(self, **headers):
        return await self.client.get("/", headers=headers)

    async def unread(self, *, is_counted=True):
        """A connection whose client has sent a request and reads nothing of the response."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client.port, limit=1_000)
        before = self.budget.taken
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        if is_counted:
            await asyncio.to_thread(until, lambda: self.budget.taken > before, what="a response")
        else:
            await reader.readline()
        self._open.push_async_callback(closed, writer)
        return reader, writer


async def closed(writer):
    writer.transport.abort()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(DOCUMENT, id="one piece"),
        pytest.param(ENCODED, id="JSON"),
        pytest.param(repeating(50), id="many pieces"),
        pytest.param(JSONPieces([b"1"] * 200_000, 200_000, 200_000), id="small pieces"),
    ],
)
async def test_a_large_response_is_complete_and_its_length_is_known(document):
    async with Serving(document) as serving:
        response = await serving.get()
        body = await response.read()
        assert (
            body
            == b"".join(
                in_pieces(document).pieces
                if not isinstance(document, JSONPieces)
                else document.pieces
            )
            + b"\n"
        )
        assert response.headers["Content-Length"] == str(len(body))
        assert response.content_type == "application/json"


async def test_a_head_request_gets_no_body():
    async with Serving(DOCUMENT) as serving:
        response = await serving.client.head("/")
        assert response.headers["Content-Length"] == str(len(ENCODED) + 1)
        assert await response.read() == b""
        assert serving.budget.taken == 0
        assert await (await serving.get()).json() == DOCUMENT


async def test_a_response_that_is_not_read_takes_what_is_its_own_and_little_more():
    async with Serving(repeating(500)) as serving:
        with traced_memory() as memory:
            reader, _ = await serving.unread()
            await asyncio.sleep(0)
            assert memory.peak_bytes < 20 * WRITE_BYTES < 50_000_000
        assert b"200 OK" in await reader.readline()


async def test_a_response_is_counted_until_it_was_sent():
    async with Serving(DOCUMENT) as serving:
        reader, _ = await serving.unread()
        assert serving.budget.taken == OWN.own_bytes
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(len(ENCODED) + 1)
        await asyncio.to_thread(until, lambda: serving.budget.taken == 0, what="the end")


async def test_a_response_is_not_counted_after_its_client_has_disconnected():
    async with Serving(DOCUMENT) as serving:
        _, writer = await serving.unread()
        writer.transport.abort()
        await asyncio.to_thread(until, lambda: serving.budget.taken == 0, what="the end")


async def test_a_response_that_was_never_sent_is_not_counted():
    budget = SendingBudget(64 * MIB)
    response = LargeResponse([ENCODED], content_type="a/b", own_bytes=100, budget=budget)
    assert budget.taken == 100
    del response
    assert budget.taken == 0


async def test_an_idle_connection_keeps_nothing_of_the_response():
    async with Serving(DOCUMENT) as serving:
        with traced_memory() as memory:
            reader, _ = await serving.unread()
            await reader.readuntil(b"\r\n\r\n")
            left = len(ENCODED) + 1
            while left:
                left -= len(await reader.read(WRITE_BYTES))
            await asyncio.to_thread(until, lambda: serving.budget.taken == 0, what="the end")
            assert memory.kept_bytes < MIB


@pytest.mark.deviation("large-responses")
async def test_a_response_that_does_not_fit_beside_the_others_is_refused_for_a_while():
    async with Serving(DOCUMENT, bytes_max=OWN.own_bytes + 1_000) as serving:
        _, writer = await serving.unread()
        refused = await serving.get()
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        message = (await refused.json())["message"]
        assert message.startswith("other large responses are being sent, and this one has 15.")
        writer.transport.abort()
        await asyncio.to_thread(until, lambda: serving.budget.taken == 0, what="the end")
        assert (await serving.get()).status == 200


async def test_a_response_whose_client_reads_slowly_makes_place_for_another_one():
    clock = FakeClock()
    async with Serving(DOCUMENT) as serving:
        serving.budget = SendingBudget(OWN.own_bytes + 1_000, monotonic=clock)
        reader, _ = await serving.unread()
        clock.seconds = SLOW_SECONDS
        assert await (await serving.get()).json() == DOCUMENT
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(len(ENCODED))
        await asyncio.to_thread(until, lambda: serving.budget.taken == 0, what="the end")


async def test_a_response_whose_client_reads_slowly_is_complete_if_no_other_needs_its_place():
    clock = FakeClock()
    async with Serving(DOCUMENT) as serving:
        serving.budget = SendingBudget(3 * OWN.own_bytes, monotonic=clock)
        reader, _ = await serving.unread()
        clock.seconds = 100 * SLOW_SECONDS
        assert await (await serving.get()).json() == DOCUMENT
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(len(ENCODED) + 1)


async def test_a_response_that_takes_nothing_of_its_own_makes_no_place():
    clock = FakeClock()
    async with Serving(ENCODED) as serving:
        serving.budget = SendingBudget(1_000, monotonic=clock)
        reader, _ = await serving.unread(is_counted=False)
        clock.seconds = SLOW_SECONDS
        assert not serving.budget.begin(object(), 2_000)
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(len(ENCODED) + 1)


async def test_a_response_that_can_never_fit_is_refused_for_good():
    async with Serving(DOCUMENT, bytes_max=OWN.own_bytes - 1) as serving:
        refused = await serving.get()
        assert (refused.status, "Retry-After" in refused.headers) == (413, False)


async def test_yaml_takes_no_place_of_other_responses():
    async with Serving(SMALL) as serving:
        serving.yaml_budget = SendingBudget(16 * MIB)
        serving.budget = SendingBudget(0)
        response = await serving.get(Accept="application/yaml")
        assert msgspec.yaml.decode(await response.read()) == SMALL


async def test_a_small_response_needs_no_place():
    document = {"items": ["x" * (LARGE_BYTES - 100)]}
    async with Serving(document, bytes_max=0) as serving:
        assert await (await serving.get()).json() == document


async def test_a_large_response_is_not_indented():
    async with Serving({"items": ["x" * INDENTED_BYTES_MAX]}) as serving:
        text = await (await serving.get(**{"User-Agent": "curl/8"})).text()
        assert text.count("\n") == 1
    async with Serving({"items": ["x" * (INDENTED_BYTES_MAX - 100)]}) as serving:
        text = await (await serving.get(**{"User-Agent": "curl/8"})).text()
        assert text.count("\n") > 1


async def test_yaml_is_counted_as_what_its_conversion_takes():
    seen = []

    class Recorded(SendingBudget):
        def take(self, size_bytes):
            seen.append((size_bytes, threading.get_ident()))
            return super().take(size_bytes)

    async with Serving(SMALL) as serving:
        serving.budget = Recorded(64 * MIB)
        response = await serving.get(Accept="application/yaml")
        assert msgspec.yaml.decode(await response.read()) == SMALL
        assert response.content_type == "application/yaml"
        assert seen == [(YAML_COST * len(msgspec.json.encode(SMALL)), threading.get_ident())]
        assert serving.budget.taken == 0


async def test_a_document_that_is_too_large_for_yaml_is_refused_for_good():
    async with Serving(DOCUMENT, bytes_max=YAML_COST * len(ENCODED) - 1) as serving:
        refused = await serving.get(Accept="application/yaml")
        assert refused.status == 406
        assert "request JSON" in await refused.text()
        assert await (await serving.get()).json() == DOCUMENT
