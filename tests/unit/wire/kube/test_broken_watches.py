"""Watches whose body is not what HTTP allows, or that is silent, as a proxy between the two may leave it."""

import asyncio
from contextlib import aclosing

import pytest

from tests.deadline import DEADLINE_SECONDS
from tests.unit.wire.kube.test_client import client_of
from wire.api.status import StatusError, Unavailable

ACCEPTED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
EVENT = b"3\r\n{}\n\r\n"
REFUSED = (
    b"HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


async def received(answer, rest=b"", *, closes, **limits):
    """The lines of a watch that is answered with these bytes, and with the rest after a line; and the error that ended it."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        if rest:
            await has_line.wait()
            writer.write(rest)
        await writer.drain()
        if not closes:
            await is_over.wait()
        writer.close()

    has_line, is_over = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = await client_of(f"http://127.0.0.1:{port}", **limits)
    lines = []
    try:
        async with (
            asyncio.timeout(DEADLINE_SECONDS),
            aclosing(client.watch("/x", timeout_seconds=0.2)) as events,
        ):
            async for line in events:
                lines.append(line)
                has_line.set()
    except (StatusError, Unavailable) as error:
        return lines, error
    finally:
        is_over.set()
        await client.close()
        server.close()
    return lines, None


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "left open"])
@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"HTTP/1.1 502 Bad Gateway\r\n\r\n", id="the response of a proxy"),
        pytest.param(b"zz\r\n", id="no length"),
        pytest.param(b"5\r\nab", id="half an event"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_a_body_that_is_not_continued_ends_the_watch(rest, closes):
    """Otherwise nothing that changes afterwards is seen, and no error says so."""
    lines, error = await received(
        ACCEPTED + EVENT, rest, closes=closes, connect_timeout_seconds=1.0
    )
    assert lines == [b"{}"]
    assert isinstance(error, Unavailable)


async def test_the_body_of_a_refusal_must_arrive_in_time():
    lines, error = await received(REFUSED + b"1\r\n{\r\n", closes=False, timeout_seconds=1.0)
    assert lines == []
    assert isinstance(error, Unavailable)
