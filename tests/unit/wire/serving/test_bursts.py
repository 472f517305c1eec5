"""Many connections of one address at the same moment, as from a kube-apiserver or a scaler after a pause."""

import asyncio
import socket
import ssl

import pytest

from wire.serving.listener import HANDSHAKE_SECONDS, HANDSHAKES_AT_ONCE

CONNECTIONS = 100


@pytest.fixture
def sockets():
    opened = []
    yield opened
    for writer in opened:
        writer.transport.abort()


async def burst(served, tls, request, sockets):
    """The status line of each; all connections wait in the backlog before the first one is accepted."""
    address = ("127.0.0.1", served.server.port)
    # In this thread, so that the listener has no turn between them.
    connected = [socket.create_connection(address) for _ in range(CONNECTIONS)]

    async def one(plain):
        try:
            reader, writer = await asyncio.open_connection(
                sock=plain, ssl=tls, server_hostname="localhost"
            )
            sockets.append(writer)
            writer.write(request)
            return (await reader.readline()).decode().strip()
        except (OSError, asyncio.IncompleteReadError) as error:
            return type(error).__name__

    found = await asyncio.gather(*map(one, connected))
    return {each: found.count(each) for each in found}


def client_context(folder, pair=None):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        tls.load_cert_chain(*pair.write(folder, "client"))
    return tls


async def test_a_burst_of_connections_with_a_client_certificate_is_served(
    serve, world, tmp_path, sockets
):
    served = await serve()
    tls = client_context(tmp_path, world.clients.client("bob"))
    request = b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n"
    assert await burst(served, tls, request, sockets) == {"HTTP/1.1 200 OK": CONNECTIONS}


async def test_a_burst_of_connections_with_a_token_is_served(serve, tmp_path, sockets):
    served = await serve()
    token = b"Authorization: Bearer " + b"x" * 900
    request = b"GET /who HTTP/1.1\r\nHost: x\r\n" + token + b"\r\n\r\n"
    found = await burst(served, client_context(tmp_path), request, sockets)
    assert found == {"HTTP/1.1 401 Unauthorized": CONNECTIONS}


async def test_handshakes_that_never_end_do_not_keep_others_waiting(
    serve, world, tmp_path, sockets
):
    served = await serve()
    for _ in range(2 * HANDSHAKES_AT_ONCE):
        _, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
        sockets.append(writer)
    async with asyncio.timeout(50 * HANDSHAKE_SECONDS):
        code, _ = await served.get("/who", pair=world.clients.client("bob"))
    assert code == 200
