"""What is left of a connection that was refused, and of a request that failed."""

import asyncio
import gc
import weakref

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from testbed.waiting import until
from wire.api.status import Unavailable
from wire.serving.access_guard import errors_to_status
from wire.serving.connection_shares import CONNECTION_BYTES, Group
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(b"a" * 20_000, id="by aiohttp"),
        pytest.param(b" HTTP/1.1\r\n" + b"X: aaaaaaa\r\n" * 2_000, id="by the sum of its headers"),
    ],
)
async def test_a_refused_connection_is_not_kept_after_its_client_has_disconnected(
    more,
):
    listener = Listener(
        web.Application(),
        drain_seconds=0.1,
        limits=ConnectionLimits(head_bytes_max=10_000, linger_seconds=600.0),
    )
    await listener.start("127.0.0.1", 0, tls=None)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"GET /ok")
    shares = listener._connections.shares
    await asyncio.to_thread(
        until,
        lambda: shares.size_bytes(Group.UNKNOWN) > CONNECTION_BYTES,
        what="a part of the request",
    )
    (kept,) = (weakref.ref(each) for each in listener._runner.server.connections)
    writer.write(more)
    assert b"431" in await reader.read(100)
    gc.disable()
    try:
        writer.close()
        await asyncio.to_thread(until, lambda: kept() is None, what="the connection to be released")
    finally:
        gc.enable()
    await listener.stop()


async def test_an_exception_does_not_keep_the_request_that_it_failed():
    cause, error = OSError("refused"), Unavailable("no connection")

    async def fails(_: web.Request) -> web.Response:
        try:
            raise cause
        except OSError:
            raise error from cause

    app = web.Application(middlewares=[errors_to_status])
    app.router.add_get("/", fails)
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/")).status == 503
    assert error.__traceback__ is None
    assert cause.__traceback__ is None
