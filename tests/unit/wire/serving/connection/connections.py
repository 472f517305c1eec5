"""Connections with a listener over plain TCP, for the tests of their limits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from wire.serving.connection_shares import CONNECTION_BYTES, SHARES, Group, Share
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener

SMALL_HEADS = ConnectionLimits(head_bytes_max=10_000, target_bytes_max=5_000)
OK = b"GET /ok HTTP/1.1\r\nHost: a\r\n\r\n"

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def ok(_: web.Request) -> web.Response:
    return web.Response(text="ok")


async def response(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(2)


@asynccontextmanager
async def connecting(listener: Listener) -> AsyncIterator[Connect]:
    """Opens connections, and closes them in the end."""
    writers: list[asyncio.StreamWriter] = []

    async def open_one() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writers.append(writer)
        return reader, writer

    yield open_one
    for writer in writers:
        writer.close()


def has_ended(listener: Listener) -> bool:
    return not listener._connections.open


def taken(listener: Listener) -> int:
    """Beyond what connections take that have sent nothing."""
    shares = listener._connections.shares
    return shares.size_bytes(Group.UNKNOWN) - len(shares) * CONNECTION_BYTES


async def requested(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    shares: Mapping[Group, Share] = SHARES,
    limits: ConnectionLimits = SMALL_HEADS,
) -> tuple[Listener, asyncio.StreamReader, asyncio.StreamWriter]:
    """A listener with this handler, and a connection on which a request for it was sent."""
    app = web.Application()
    app.router.add_get("/parts", handler)
    listener = Listener(app, drain_seconds=0.1, limits=limits, shares=shares)
    await listener.start("127.0.0.1", 0, tls=None)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"GET /parts HTTP/1.1\r\nHost: a\r\n\r\n")
    return listener, reader, writer
