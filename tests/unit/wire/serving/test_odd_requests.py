"""What a connection does with targets, bodies and errors that other servers treat in their own way."""

import asyncio
import contextlib
import gzip

import pytest
from aiohttp import web

from tests.deadline import DEADLINE_SECONDS
from tests.unit.wire.serving.connection.connections import connecting, ok
from wire.serving.listener import Listener


async def size(request: web.Request) -> web.Response:
    return web.Response(text=str(len(await request.read())))


@pytest.fixture
async def connect():
    app = web.Application()
    app.router.add_get("/ok", ok)
    app.router.add_post("/size", size)
    listener = Listener(app, drain_seconds=0.1)
    await listener.start("127.0.0.1", 0, tls=None)
    async with connecting(listener) as connect:
        yield connect
    await listener.stop()


@pytest.mark.parametrize("target", [b"http://xn--a/ok", b"http://a/ok", b"/ok"])
async def test_an_absolute_target_is_answered_by_its_path(connect, target):
    reader, writer = await connect()
    writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    assert await reader.readexactly(2) == b"ok"


async def test_a_connection_whose_handling_fails_is_closed(connect, monkeypatch, caplog):
    async def fail(_):
        raise UnicodeError("a defect of aiohttp")

    monkeypatch.setattr(web.RequestHandler, "start", fail)
    reader, writer = await connect()
    writer.write(b"GET /ok HTTP/1.1\r\nHost: a\r\n\r\n")
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), DEADLINE_SECONDS) == b""
    assert "a connection is closed after an error" in caplog.text


async def test_a_body_is_not_inflated(connect):
    body = gzip.compress(b"a" * 10_000)
    reader, writer = await connect()
    head = f"POST /size HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    received = await reader.readuntil(b"\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 200")
    assert int(await reader.readexactly(len(str(len(body))))) == len(body)
