"""A forwarded port, with a server that speaks the kubelet's WebSocket protocol behind it."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from kubectl_loadline.cluster.port_forward import DATA, ERROR, PROTOCOL, forwarded
from wire.api.status import StatusError, Unavailable, forbidden
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection

POD = "/api/v1/namespaces/monitoring/pods/scaler-0/portforward"


class Source:
    def __init__(self, server: str) -> None:
        self.server = server

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(server=self.server, authorization="Bearer t", impersonation=(("Impersonate-User", "jane"),))  # fmt: skip


Serve = Callable[[Callable[[web.Request], Awaitable[web.StreamResponse]]], Awaitable[Connection]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    runners: list[web.AppRunner] = []

    async def start(handler):
        app = web.Application()
        app.router.add_get(POD, handler)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        source = Source(f"http://127.0.0.1:{runner.addresses[0][1]}")
        return Connection(source, await source.read(), user_agent="test/1")

    yield start
    for runner in runners:
        await runner.cleanup()


def frame(channel: int, content: bytes) -> bytes:
    return bytes([channel]) + content


async def kubelet(request: web.Request) -> web.WebSocketResponse:
    """Sends the data back in capitals; `fail` ends in an error on the error channel."""
    socket = web.WebSocketResponse(protocols=[PROTOCOL])
    await socket.prepare(request)
    port = struct.pack("<H", int(request.query["ports"]))
    for channel in (DATA, ERROR):
        await socket.send_bytes(frame(channel, port))
    async for message in socket:
        assert message.data[0] == DATA
        if message.data[1:] == b"fail":
            await socket.send_bytes(frame(ERROR, b"connection refused"))
        else:
            await socket.send_bytes(frame(DATA, message.data[1:].upper()))
    return socket


async def exchanged(port: int, content: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(content)
    received = await reader.read(100)
    writer.close()
    return received


async def test_what_is_sent_to_the_local_port_reaches_the_pod_and_back(serve):
    connection = await serve(kubelet)
    async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=10443) as forward:
        assert await exchanged(forward.local_port, b"first") == b"FIRST"
        assert await exchanged(forward.local_port, b"second") == b"SECOND"
        assert forward.problem is None


async def test_several_connections_at_once_do_not_mix(serve):
    connection = await serve(kubelet)
    async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1) as forward:
        texts = [f"text {number}".encode() for number in range(20)]
        received = await asyncio.gather(*(exchanged(forward.local_port, each) for each in texts))
    assert received == [text.upper() for text in texts]


async def test_the_error_of_the_kubelet_ends_the_connection_and_is_kept(serve):
    connection = await serve(kubelet)
    async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1) as forward:
        assert await exchanged(forward.local_port, b"fail") == b""
        assert forward.problem == "connection refused"


async def test_the_credentials_and_the_user_to_act_as_are_sent(serve):
    seen = []

    async def record(request: web.Request) -> web.WebSocketResponse:
        seen.append((request.headers["Authorization"], request.headers["Impersonate-User"]))
        return await kubelet(request)

    async with forwarded(await serve(record), namespace="monitoring", pod="scaler-0", port=1):
        assert seen == [("Bearer t", "jane")]


async def test_a_missing_right_is_reported_in_the_words_of_the_api_server(serve):
    async def refuse(_: web.Request) -> web.Response:
        status = forbidden('pods "scaler-0" is forbidden: cannot get pods/portforward').to_status()
        return web.json_response({"kind": "Status", "code": 403, "message": status.message}, status=403)  # fmt: skip

    connection = await serve(refuse)
    with pytest.raises(StatusError, match="cannot get pods/portforward"):
        async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1):
            pass


async def test_a_gateway_without_websockets_is_named_as_the_cause(serve):
    async def plain(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    connection = await serve(plain)
    with pytest.raises(Unavailable, match="may not allow WebSockets"):
        async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1):
            pass


async def test_an_api_server_that_is_down_is_unavailable():
    source = Source("http://127.0.0.1:1")
    connection = Connection(source, await source.read(), user_agent="test/1")
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1):
            pass


async def test_a_redirect_is_not_followed_with_the_credentials(serve):
    followed = []

    async def redirect(request: web.Request) -> web.StreamResponse:
        if "elsewhere" in request.query:
            followed.append(dict(request.headers))
            return await kubelet(request)
        raise web.HTTPTemporaryRedirect(f"{POD}?elsewhere=1&ports=1")

    connection = await serve(redirect)
    with pytest.raises(StatusError, match="307"):
        async with forwarded(connection, namespace="monitoring", pod="scaler-0", port=1):
            pass
    assert followed == []


async def test_other_users_of_this_machine_cannot_connect_to_a_forward_at_a_unix_socket(
    serve, tmp_path
):
    """Prometheus has no users: a port would be open to every user of this machine."""
    connection = await serve(kubelet)
    socket = tmp_path / "socket"
    async with forwarded(
        connection, namespace="monitoring", pod="scaler-0", port=1, socket=socket
    ) as forward:
        assert forward.local_port == 0
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(b"first")
        assert await reader.read(100) == b"FIRST"
        writer.close()
