"""After a failover, each idle connection is answered with RST or was closed; no request fails because of that."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from tests.unit.wire.kube.test_client import client_of
from wire.api.status import NotSent, Unavailable
from wire.kube.client import KubeClient

IDLE = 5


class Server:
    """Answers on each connection; those before the failover are reset, or closed, when they are used again."""

    def __init__(self) -> None:
        self.open: set[asyncio.StreamWriter] = set()
        self.dead: set[asyncio.StreamWriter] = set()
        self.received: list[bytes] = []
        self.resets = True
        self.always_fails = False
        self.warm = asyncio.Barrier(IDLE)
        self.waits = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.received.append(head.split(b" ")[0])
                if writer in self.dead or self.always_fails:
                    if self.resets:
                        linger = struct.pack("ii", 1, 0)
                        sock = writer.get_extra_info("socket")
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    writer.transport.abort()
                    return
                if b" /warm" in head:  # so that each of these requests has a connection of its own
                    self.waits.set()
                    await self.warm.wait()
                length = b"Content-Length: 2\r\n\r\n" if b"watch=true" not in head else b"\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"{}")
                if b"watch=true" in head:
                    writer.write(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    def fail_over(self) -> None:
        self.dead = set(self.open)
        self.received.clear()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[KubeClient]:
    """With idle connections."""
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    made = await client_of(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    await asyncio.gather(*(made.get("/warm") for _ in range(IDLE)))
    yield made
    await made.close()
    for each in server.open:
        each.close()
    listening.close()


@pytest.mark.parametrize("resets", [True, False], ids=["reset", "closed"])
async def test_each_request_after_a_failover_succeeds(server, client, resets):
    server.resets = resets
    server.fail_over()
    for _ in range(IDLE):
        assert await client.get("/x") == b"{}"
    assert len(server.received) == IDLE + 2, "the first one is repeated, by aiohttp and here"


async def test_requests_at_the_same_time_succeed_too(server, client):
    server.fail_over()
    answers = await asyncio.gather(*(client.create("/x", b"{}") for _ in range(2 * IDLE)))
    assert answers == [b"{}"] * 2 * IDLE


async def test_a_write_is_repeated_once_and_checked_before(server, client):
    server.fail_over()
    server.always_fails = True
    checks = []
    with pytest.raises(Unavailable):
        await client.replace("/x", b"{}", before_each=lambda: checks.append(None))
    assert server.received == [b"PUT", b"PUT"]
    assert len(checks) == 2


async def test_a_write_that_may_have_arrived_is_not_reported_as_not_sent(server, client):
    server.fail_over()

    def check() -> None:
        if server.received:
            raise NotSent("no longer leading")

    with pytest.raises(Unavailable, match="no longer leading") as refused:
        await client.replace("/x", b"{}", before_each=check)
    assert not isinstance(refused.value, NotSent)


async def test_a_request_in_flight_keeps_its_connection(server, client):
    async with aclosing(client.watch("/x")) as watch:
        assert await anext(watch) == b"{}"
        server.waits.clear()
        waiting = asyncio.ensure_future(client.get("/warm"))
        await server.waits.wait()
        in_use = [each for each in server.open if not each.is_closing()]
        server.dead = set(in_use)
        assert await client.get("/x") == b"{}"
        rest = [client.get("/warm") for _ in range(IDLE - 1)]
        assert await asyncio.gather(waiting, *rest) == [b"{}"] * IDLE
