"""When a connection is closed; the time passes when a test says so."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from testbed.waiting import until
from tests.unit.wire.serving.connection.connections import (
    OK,
    SMALL_HEADS,
    has_ended,
    response,
)
from wire.serving.connection_shares import Group
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener
from wire.serving.refusal_reasons import Reason

HEAD_SECONDS = SMALL_HEADS.head_seconds
IDLE_SECONDS = SMALL_HEADS.idle_seconds


class StoppedClock:
    """The running loop's time, which passes only when a test says so: a busy machine cannot be too slow for a limit."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._now_seconds = loop.time()
        vars(loop)["time"] = lambda: self._now_seconds

    async def passes(self, seconds: float) -> None:
        """Run what is due before and after."""
        await turns()
        self._now_seconds += seconds
        await turns()


@pytest.fixture
async def clock(listener: Listener) -> AsyncIterator[StoppedClock]:
    """Stopped until the test has ended; the listener stops by the real time."""
    loop = asyncio.get_running_loop()
    yield StoppedClock(loop)
    del vars(loop)["time"]


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def held(listener: Listener) -> int:
    """What the connections hold of their requests."""
    places = listener._connections.shares._groups[Group.UNKNOWN].places
    return sum(place.held_bytes for place in places.get("127.0.0.1", ()))


async def received(listener: Listener, size_bytes: int) -> None:
    """Wait until the connections hold so much."""
    await asyncio.to_thread(until, lambda: held(listener) >= size_bytes, what="the bytes")


async def test_a_connection_without_a_request_is_closed(connect, clock, listener, refused):
    await connect()
    await asyncio.to_thread(until, lambda: listener._connections.open, what="the connection")
    await clock.passes(HEAD_SECONDS - 0.1)
    assert not has_ended(listener)
    await clock.passes(0.2)
    assert has_ended(listener)
    assert refused == [(Reason.TIME, "127.0.0.1")]


async def test_a_request_whose_headers_never_end_is_closed(connect, clock, listener, refused):
    reader, writer = await connect()
    writer.write(OK)
    assert b"200 OK" in await response(reader)
    answered_bytes = held(listener)
    writer.write(OK[:-4])
    await received(listener, answered_bytes + len(OK) - 4)
    await clock.passes(HEAD_SECONDS - 0.1)
    assert not has_ended(listener)
    await clock.passes(0.2)
    assert has_ended(listener)
    assert refused == [(Reason.TIME, "127.0.0.1")]


async def test_bytes_that_trickle_in_do_not_extend_the_time(connect, clock, listener):
    _, writer = await connect()
    start = b"GET /ok?"
    writer.write(start)
    await received(listener, len(start))
    for number in range(1, 5):
        await clock.passes(HEAD_SECONDS / 5)
        assert not has_ended(listener)
        writer.write(b"a")
        await received(listener, len(start) + number)
    await clock.passes(HEAD_SECONDS / 5 + 0.1)
    assert has_ended(listener)


async def test_an_idle_connection_is_closed_and_not_refused(connect, clock, listener, refused):
    reader, writer = await connect()
    writer.write(OK)
    assert b"200 OK" in await response(reader)
    await clock.passes(IDLE_SECONDS - 0.1)
    assert not has_ended(listener)
    await clock.passes(0.2)
    assert has_ended(listener)
    assert refused == []


async def test_a_connection_that_is_used_stays_open(connect, clock, listener):
    reader, writer = await connect()
    for _ in range(5):
        writer.write(OK)
        assert b"200 OK" in await response(reader)
        await clock.passes(IDLE_SECONDS / 2)
        assert not has_ended(listener)


async def test_a_client_that_does_not_read_is_disconnected(connect, clock, listener, refused):
    reader, writer = await connect()
    writer.write(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.pause_reading()
    await clock.passes(ConnectionLimits().stalled_write_seconds - 0.1)
    assert not has_ended(listener)
    await clock.passes(0.2)
    assert has_ended(listener)
    assert refused == [(Reason.TIME, "127.0.0.1")]
    writer.transport.resume_reading()
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(50_000_000)
