"""What a connection may take, over plain TCP."""

import asyncio
import contextlib

import pytest
from aiohttp import web

from testbed.waiting import until
from tests.deadline import DEADLINE_SECONDS
from tests.unit.wire.serving.connection.connections import (
    OK,
    SMALL_HEADS,
    has_ended,
    ok,
    requested,
    response,
    taken,
)
from wire.serving.connection_shares import (
    CONNECTION_BYTES,
    RECEIVE_BUFFER_BYTES,
    Group,
    Share,
)
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener
from wire.serving.refusal_reasons import Reason

# Two connections with small requests, or one with a large one.
TWO_BYTES = 2 * CONNECTION_BYTES + 4 * 15_000
SMALL = {group: Share(TWO_BYTES, TWO_BYTES) for group in Group}


async def end(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionResetError):
        await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        pytest.param(
            b"GET /ok HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 1_500, b"200", id="many, small"
        ),
        pytest.param(
            b"GET /ok HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9_000 + b"\r\n", b"200", id="one"
        ),
        pytest.param(b"GET /ok HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n", b"431", id="large"),
        pytest.param(
            b"GET /ok HTTP/1.1\r\nHost: a\r\n"
            + b"".join(b"X: " + b"a" * 4_000 + b"\r\n" for _ in range(4)),
            b"431",
            id="large in total",
        ),
        pytest.param(
            b"GET /ok?" + b"a" * 4_000 + b" HTTP/1.1\r\nHost: a\r\n", b"200", id="a target"
        ),
        pytest.param(b"GET /ok?" + b"a" * 6_000 + b" HTTP/1.1\r\n", b"431", id="a long target"),
    ],
)
async def test_the_request_line_and_headers_have_a_limit_in_total(connect, refused, head, code):
    reader, writer = await connect()
    writer.write(head + b"\r\n")
    assert (await reader.read(100)).split(b" ", 2)[1] == code
    assert refused == ([(Reason.HEADERS, "127.0.0.1")] if code == b"431" else [])


@pytest.mark.deviation("target-length")
async def test_a_target_that_is_too_long_is_refused_before_it_has_ended(connect, refused):
    reader, writer = await connect()
    writer.write(b"GET /ok?" + b"a" * 6_000)
    assert (await reader.read(100)).split(b" ", 2)[1] == b"431"
    assert refused == [(Reason.HEADERS, "127.0.0.1")]


async def test_a_body_does_not_count_as_headers(connect):
    reader, writer = await connect()
    writer.write(b"POST /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n")
    for _ in range(4):
        writer.write(b"a" * 10_000)
        await writer.drain()
    assert b"200 OK" in await response(reader)
    writer.write(OK)
    assert b"200 OK" in await response(reader)


@pytest.mark.parametrize(("shares", "limits"), [(SMALL, ConnectionLimits())])
async def test_unfinished_requests_have_a_limit_in_total(connect, listener, refused):
    half = b"GET /ok HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9_000
    first, first_writer = await connect()
    first_writer.write(half)
    await asyncio.to_thread(until, lambda: taken(listener) > 2 * len(half), what="half a request")
    second, second_writer = await connect()
    second_writer.write(half)
    assert b"503 Service Unavailable" in await second.read(100)
    await end(second)
    assert refused == [(Reason.MEMORY, "127.0.0.1")]
    first_writer.write(b"\r\n\r\n")
    assert b"200 OK" in await response(first)
    first_writer.close()
    await asyncio.to_thread(until, lambda: has_ended(listener), what="the end")
    third, third_writer = await connect()
    third_writer.write(half + b"\r\n\r\n")
    assert b"200 OK" in await response(third)


async def test_requests_that_are_being_answered_count_until_they_are_answered():
    answers = asyncio.Event()

    async def waits(_: web.Request) -> web.Response:
        await answers.wait()
        return web.Response(text="ok")

    listener, reader, writer = await requested(waits, shares=SMALL)
    large = b"GET /parts HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 5_000 + b"\r\n\r\n"
    writer.write(large)
    await asyncio.to_thread(until, lambda: taken(listener) > 4 * 5_000, what="two requests")
    second, second_writer = await asyncio.open_connection("127.0.0.1", listener.port)
    second_writer.write(large * 3)
    assert b"503 Service Unavailable" in await second.read(100)
    answers.set()
    assert b"200 OK" in await response(reader)
    assert b"200 OK" in await response(reader)
    for each in (writer, second_writer):
        each.close()
    await listener.stop()


async def test_a_connection_with_many_small_requests_takes_no_more_than_with_one(connect, listener):
    reader, writer = await connect()
    taken_bytes = []
    for _ in range(3):
        writer.write(OK)
        assert b"200 OK" in await response(reader)
        taken_bytes.append(taken(listener))
    assert taken_bytes == [taken_bytes[0]] * 3


async def test_a_connection_reads_no_more_than_one_large_request_ahead():
    answers, begun = asyncio.Event(), []

    async def waits(request: web.Request) -> web.Response:
        begun.append(request)
        await answers.wait()
        return web.Response(text="ok")

    listener, reader, writer = await requested(waits)
    large = b"GET /parts HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 8_000 + b"\r\n\r\n"
    for _ in range(30):
        writer.write(large)
        await asyncio.sleep(0)
    await asyncio.to_thread(until, lambda: begun, what="the first request")
    for _ in range(200):
        await asyncio.sleep(0)
    (place,) = listener._connections.shares._groups[Group.UNKNOWN].places["127.0.0.1"]
    assert place.held_bytes < SMALL_HEADS.head_bytes_max + RECEIVE_BUFFER_BYTES
    answers.set()
    for _ in range(31):
        assert b"200 OK" in await response(reader)
    writer.close()
    await listener.stop()


async def test_requests_wait_until_the_responses_before_them_were_read():
    begun = []

    async def many(request: web.Request) -> web.Response:
        begun.append(request)
        return web.Response(body=b"a" * 30_000)

    listener, reader, writer = await requested(many, limits=ConnectionLimits())
    reader._transport.pause_reading()
    writer.write(b"GET /parts HTTP/1.1\r\nHost: a\r\n\r\n" * 2_000)
    for _ in range(20_000):
        await asyncio.sleep(0)
        if len(begun) > 2_000:
            break
    # The kernel keeps a few megabytes.
    assert len(begun) < 1_000
    writer.transport.abort()
    await listener.stop()


async def test_a_connection_that_does_not_fit_is_closed_before_it_sends_anything():
    share = Share(CONNECTION_BYTES + 10_000, CONNECTION_BYTES + 10_000)
    listener, reader, writer = await requested(ok, shares=dict.fromkeys(Group, share))
    assert b"200 OK" in await response(reader)
    second, second_writer = await asyncio.open_connection("127.0.0.1", listener.port)
    assert await asyncio.wait_for(second.read(), DEADLINE_SECONDS) == b""
    for each in (writer, second_writer):
        each.close()
    await listener.stop()


async def test_pipelined_requests_are_served_in_order(connect):
    reader, writer = await connect()
    writer.write(OK * 20)
    for _ in range(20):
        assert b"200 OK" in await response(reader)


async def test_the_server_logs_no_error_when_a_client_disconnects_during_a_response(caplog):
    disconnected = asyncio.Event()
    ended = asyncio.Event()

    async def parts(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await response.write(b"the first part")
            await disconnected.wait()
            while True:
                await response.write(b"another part")
                await asyncio.sleep(0)
        finally:
            ended.set()

    listener, reader, writer = await requested(parts)
    await reader.readuntil(b"the first part")
    with caplog.at_level("INFO"):
        writer.transport.abort()
        disconnected.set()
        await asyncio.wait_for(ended.wait(), DEADLINE_SECONDS)
        await listener.stop()
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


async def test_an_exception_during_a_response_is_logged(caplog):
    async def parts(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"the first part")
        raise ConnectionResetError("of another connection")

    listener, reader, writer = await requested(parts)
    await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
    await listener.stop()
    assert "GET /parts failed" in caplog.text
    writer.close()


async def test_a_listener_has_stopped_as_soon_as_its_last_connection_has_ended():
    listener = Listener(web.Application(), drain_seconds=0.1, limits=SMALL_HEADS)
    await listener.start("127.0.0.1", 0, tls=None)
    connections = listener._connections
    one, other = asyncio.Transport(), asyncio.Transport()
    connections.open |= {one, other}
    stopping = asyncio.create_task(listener.stop())
    for each in (one, other):
        for _ in range(20):
            await asyncio.sleep(0)
        assert not stopping.done()
        connections.open.discard(each)
        connections.closed.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert stopping.done()


class TestAStream:
    """One whose client has more connections than fit, as that of several scalers at one address."""

    @pytest.fixture
    def shares(self):
        several = Share(3 * CONNECTION_BYTES - 1, 3 * CONNECTION_BYTES - 1)
        one = Share(2 * CONNECTION_BYTES - 1, 2 * CONNECTION_BYTES - 1)
        return {Group.UNKNOWN: several, Group.AUTHENTICATED: one, Group.VERIFIED: one}

    async def test_continues_while_connections_of_its_client_are_idle(self, shares):
        is_authenticated, ends = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            if not is_authenticated.is_set():
                is_authenticated.set()
                request.protocol.authenticated()
            elif "waits" in request.query:
                await ends.wait()
            return web.Response(text="ok")

        listener, reader, first = await requested(handle, shares)
        writers = [first]
        try:
            await response(reader)
            opened = []
            for path in (b"/parts?waits", b"/parts", b"/parts"):
                reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
                writers.append(writer)
                writer.write(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
                if path == b"/parts":
                    await response(reader)
                opened.append(reader)
            stream, idle, _ = opened
            await end(idle)
            assert idle.at_eof()
            ends.set()
            assert (await response(stream)).endswith(b"ok")
        finally:
            for writer in writers:
                writer.close()
            await listener.stop()
