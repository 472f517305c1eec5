"""Which failures say that a request certainly did not reach the server."""

import asyncio
import socket

import pytest
from aiohttp import web

from tests.unit.wire.kube.test_client import client_of, serve
from wire.api.status import NotSent, Unavailable

__all__ = ["serve"]


@pytest.mark.parametrize("how", ["the connection is closed", "a server error"])
async def test_a_write_that_is_not_sent_again_may_have_been_applied_the_first_time(serve, how):
    paths: list[str] = []

    async def unclear(request: web.Request) -> web.Response:
        paths.append(request.path)
        if how == "a server error":
            return web.Response(status=503, headers={"Retry-After": "0"})
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    def check() -> None:
        if paths:
            raise NotSent("no longer leading")

    client = await serve(unclear)
    with pytest.raises(Unavailable, match="no longer leading") as raised:
        await client.replace("/x", b"{}", before_each=check)
    assert not isinstance(raised.value, NotSent)
    assert paths


async def test_without_a_connection_a_write_is_certainly_not_sent():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{closed.getsockname()[1]}"
    client = await client_of(server)
    with pytest.raises(NotSent):
        await client.replace("/x", b"{}")
    await client.close()


async def test_after_the_client_was_closed_nothing_is_sent():
    """Neither by a request that waited meanwhile, nor by a new one: the process ends."""
    client = await client_of("http://127.0.0.1:1")
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def authorization(*, refused: bool = False) -> str:
        waits.set()
        await goes_on.wait()
        return ""

    client._connection.authorization = authorization
    waiting = asyncio.create_task(client.replace("/x", b"{}"))
    await waits.wait()
    await client.close()
    goes_on.set()
    with pytest.raises(NotSent, match="the client was closed"):
        await waiting
    with pytest.raises(NotSent, match="the client was closed"):
        await client.get("/x")


class ClosesConnections:
    """A server that reads whole requests and closes each connection without a response."""

    def __init__(self, *, is_last: bool) -> None:
        """`is_last`: after the first one it accepts no connection any more."""
        self.requests = 0
        self._is_last = is_last
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Its address."""
        self._server = await asyncio.start_server(self._read, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        self.requests += 1
        if self._is_last:
            self.stop()
        writer.close()

    def stop(self) -> None:
        """No new connections."""
        assert self._server is not None
        self._server.close()


async def test_a_write_that_ends_with_its_connection_may_have_been_applied_also_if_no_other_is_made():
    server = ClosesConnections(is_last=True)
    client = await client_of(await server.start())
    with pytest.raises(Unavailable) as raised:
        await client.replace("/x", b"{}")
    assert not isinstance(raised.value, NotSent)
    assert server.requests == 1
    await client.close()


async def test_a_write_is_checked_each_time_before_it_is_sent():
    server = ClosesConnections(is_last=False)
    client = await client_of(await server.start())
    checks: list[None] = []
    with pytest.raises(Unavailable):
        await client.replace("/x", b"{}", before_each=lambda: checks.append(None))
    assert len(checks) == server.requests == 2
    await client.close()
    server.stop()
