"""A listener for all addresses accepts IPv4 and IPv6, as Go's net.Listen, and knows one client by one address."""

import asyncio
import socket

import pytest
from aiohttp import web

from wire.serving.client_address import client_address
from wire.serving.http_connection import ConnectionLimits
from wire.serving.listener import Listener

needs_both = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")


async def own_address(request: web.Request) -> web.Response:
    return web.Response(text=client_address(request))


@pytest.fixture
def refused():
    return []


@pytest.fixture
async def listen(refused):
    """Start a listener at an address."""
    listeners = []

    async def start(host):
        app = web.Application()
        app.router.add_get("/", own_address)
        started = Listener(
            app,
            drain_seconds=0.1,
            limits=ConnectionLimits(head_bytes_max=10_000),
            refused=lambda *refusal: refused.append(refusal),
        )
        await started.start(host, 0, tls=None)
        listeners.append(started)
        return started

    yield start
    for each in listeners:
        await each.stop()


async def answer(host, port, request=b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    received = await reader.read()
    writer.close()
    return received.rpartition(b"\r\n")[2].decode()


@needs_both
@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::", "0:0::0", ""])
@pytest.mark.parametrize("client", ["127.0.0.1", "::1"])
async def test_a_listener_for_all_addresses_accepts_both_families(listen, wildcard, client):
    listener = await listen(wildcard)
    assert await answer(client, listener.port) == client


@needs_both
async def test_a_listener_for_one_address_accepts_only_its_family(listen):
    listener = await listen("127.0.0.1")
    with pytest.raises(ConnectionRefusedError):
        await answer("::1", listener.port)


async def test_a_host_without_ipv6_listens_on_ipv4(listen, monkeypatch):
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    listener = await listen("0.0.0.0")
    assert await answer("127.0.0.1", listener.port) == "127.0.0.1"


@needs_both
async def test_an_ipv4_client_is_refused_under_its_own_address(listen, refused):
    listener = await listen("::")
    await answer("127.0.0.1", listener.port, b"GET / HTTP/1.1\r\nA: " + b"a" * 20_000)
    assert [address for _, address in refused] == ["127.0.0.1"]
