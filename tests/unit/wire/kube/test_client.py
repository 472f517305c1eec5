"""The client against a real HTTP server on loopback that responds as each case needs."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import aiohttp
import msgspec
import pytest
from aiohttp import web

from tests.deadline import DEADLINE_SECONDS
from tests.fakes.clock import FakeClock
from wire.api.status import NotSent, StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection
from wire.kube.requests import STRATEGIC_MERGE_PATCH

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[..., Awaitable[KubeClient]]


class Source:
    """A token that is numbered by how often it was read."""

    def __init__(self, server: str) -> None:
        self.server, self.readings = server, 0

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        self.readings += 1
        return ClusterAccess(server=self.server, authorization=f"Bearer {self.readings}")


async def client_of(server: str, clock: FakeClock | None = None, **limits: int) -> KubeClient:
    source = Source(server)
    connection = Connection(
        source, await source.read(), user_agent="test/1", monotonic=clock or FakeClock()
    )
    return KubeClient(connection, **{"timeout_seconds": DEADLINE_SECONDS} | limits)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server on `handler` and return a client of it."""
    runners: list[web.AppRunner] = []
    clients: list[KubeClient] = []

    async def start(handler: Handler, clock: FakeClock | None = None, **limits: int) -> KubeClient:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        clients.append(await client_of(f"http://127.0.0.1:{port}", clock, **limits))
        return clients[-1]

    yield start
    for client in clients:
        await client.close()
    for runner in runners:
        await runner.cleanup()


async def test_a_request_carries_its_credentials_and_its_content(serve):
    async def echo(request: web.Request) -> web.Response:
        return web.json_response(
            {
                "method": request.method,
                "url": str(request.raw_path),
                "agent": request.headers["User-Agent"],
                "authorization": request.headers["Authorization"],
                "content_type": request.headers.get("Content-Type"),
                "body": await request.text(),
            }
        )

    client = await serve(echo)
    body = await client.send(
        "PATCH",
        "/api/v1/pods/%2A",
        body=b"{}",
        content_type=STRATEGIC_MERGE_PATCH,
        params={"l": "a in (b,c)&+"},
    )
    assert body == (
        b'{"method": "PATCH", "url": "/api/v1/pods/%2A?l=a+in+(b,c)%26%2B", "agent": "test/1", '
        b'"authorization": "Bearer 1", '
        b'"content_type": "application/strategic-merge-patch+json", "body": "{}"}'
    )


async def test_a_status_body_becomes_the_error(serve):
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response(
            {"kind": "Status", "code": 409, "reason": "Conflict", "message": "changed"}, status=409
        )

    client = await serve(refuse)
    with pytest.raises(StatusError, match=r"^changed$") as caught:
        await client.replace("/x", b"{}")
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


async def test_an_error_without_a_status_document_keeps_its_code_and_text(serve):
    async def gateway(_: web.Request) -> web.Response:
        return web.Response(status=502, text="bad gateway")

    client = await serve(gateway)
    with pytest.raises(StatusError, match="bad gateway") as caught:
        await client.get("/x")
    assert caught.value.code == 502


async def test_after_a_401_the_token_is_read_again_and_the_request_sent_once_more(serve):
    async def only_the_second(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers["Authorization"] == "Bearer 2" else 401)

    clock = FakeClock()
    client = await serve(only_the_second, clock)
    clock.seconds = 10
    assert await client.get("/x") == b""


async def test_a_request_is_repeated_after_the_retry_after_of_a_busy_server(serve):
    paths: list[str] = []

    async def busy(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=200 if len(paths) > 2 else 429, headers={"Retry-After": "0"})

    client = await serve(busy)
    await client.get("/x")
    assert len(paths) == 3


@pytest.mark.deviation("busy-servers")
async def test_a_busy_server_delays_a_request_by_less_than_a_sync_period(serve, monkeypatch):
    pauses_seconds: list[float] = []
    sleep = asyncio.sleep

    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "60"})

    async def recorded(seconds: float) -> None:
        pauses_seconds.append(seconds)
        await sleep(0)

    client = await serve(busy)
    monkeypatch.setattr(asyncio, "sleep", recorded)
    with pytest.raises(StatusError):
        await client.replace("/x", b"{}")
    monkeypatch.undo()
    assert 0 < sum(pauses_seconds) < 15


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_a_write_is_checked_before_each_time_that_it_is_sent(serve, method):
    """A replica may lose its Lease while it waits for a busy server."""
    paths: list[str] = []

    async def busy(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=429, headers={"Retry-After": "0"})

    def check() -> None:
        if len(paths) == 2:
            raise NotSent("no longer leading")

    client = await serve(busy)
    with pytest.raises(NotSent, match="no longer leading"):
        await client.send(method, "/x", body=b"{}", before_each=check)
    assert len(paths) == 2


async def test_a_server_error_without_retry_after_is_final(serve):
    paths: list[str] = []

    async def broken(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=500)

    client = await serve(broken)
    with pytest.raises(StatusError):
        await client.get("/x")
    assert len(paths) == 1


async def hangs(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


async def test_requests_without_a_response_are_counted_until_they_end(serve):
    responses = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        await responses.wait()
        return web.Response(status=404)

    client = await serve(slow)
    sent = [asyncio.create_task(client.get("/x")) for _ in range(3)]
    await asyncio.sleep(0)
    assert client.requests_in_flight == 3
    sent[0].cancel()
    responses.set()
    await asyncio.gather(*sent, return_exceptions=True)
    assert client.requests_in_flight == 0


async def drops(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def half_a_body(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"half\n")
    assert request.transport is not None
    request.transport.close()
    return response


@pytest.mark.parametrize(
    "handler", [hangs, drops, half_a_body], ids=lambda handler: handler.__name__
)
async def test_no_error_of_aiohttp_reaches_the_caller(serve, handler):
    client = await serve(handler, timeout_seconds=1)
    with pytest.raises(Unavailable, match=r"GET http://127\.0\.0\.1:\d+/x: ") as caught:
        await client.get("/x")
    assert isinstance(caught.value.__cause__, aiohttp.ClientError | TimeoutError)


async def test_a_server_that_is_not_there_is_unavailable():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = await client_of(f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(Unavailable):
            await client.get("/x")
        await client.close()


async def test_a_watch_yields_lines_of_any_length_however_the_chunks_are_split(serve):
    lines = [b"a" * 3_000_000, b"b", b"c" * 70_000]

    async def stream(request: web.Request) -> web.StreamResponse:
        assert request.query["watch"] == "true"
        assert request.query["resourceVersion"] == "7"
        response = web.StreamResponse()
        await response.prepare(request)
        text = b"\n".join(lines) + b"\n"
        for start in range(0, len(text), 65_537):
            await response.write(text[start : start + 65_537])
        return response

    client = await serve(stream)
    async with aclosing(client.watch("/x", {"resourceVersion": "7"})) as watch:
        assert [line async for line in watch] == lines


async def test_compression_is_accepted_for_a_response_and_not_for_a_watch(serve):
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Accept-Encoding"] + "\n")

    client = await serve(echo)
    assert "gzip" in (await client.get("/x")).decode()
    async with aclosing(client.watch("/x")) as watch:
        assert [line async for line in watch] == [b"identity"]


async def test_a_watch_that_is_cut_off_is_unavailable(serve):
    client = await serve(half_a_body)
    async with aclosing(client.watch("/x")) as watch:
        assert await anext(watch) == b"half"
        with pytest.raises(Unavailable):
            await anext(watch)


async def test_a_watch_whose_response_never_begins_is_unavailable(serve):
    client = await serve(hangs, timeout_seconds=1)
    async with asyncio.timeout(DEADLINE_SECONDS), aclosing(client.watch("/x")) as watch:
        with pytest.raises(Unavailable, match="timed out waiting for a response"):
            await anext(watch)


async def opened(watches: list[AsyncGenerator[bytes, None]]) -> None:
    """Wait for the first event of each."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        await asyncio.gather(*(anext(each) for each in watches))


async def stays_open(request: web.Request) -> web.StreamResponse:
    if "watch" not in request.query:
        return web.Response(text="answered")
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"{}\n")
    await asyncio.Event().wait()
    return response


async def test_open_watches_take_no_connection_from_requests(serve):
    client = await serve(stays_open, connections_max=2)
    watches = [client.watch("/x") for _ in range(3)]
    await opened(watches)
    assert await client.get("/x") == b"answered"
    await asyncio.gather(*(each.aclose() for each in watches))


class ClosesIdleConnections:
    """Reads a request from each connection, responds, and closes it when the next request arrives."""

    def __init__(self, *, responds: bool = True) -> None:
        self.requests = 0
        self.responds = responds

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.responds:
                await self.read(reader)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await self.read(reader)
        except asyncio.IncompleteReadError:
            pass  # The client has closed the connection.
        finally:
            writer.close()

    async def read(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        if b"Content-Length: 2" in head:
            await reader.readexactly(2)


@pytest.mark.parametrize("responds", [True, False])
async def test_a_request_on_a_connection_that_the_server_closed_is_sent_once_more(responds):
    handler = ClosesIdleConnections(responds=responds)
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    client = await client_of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    if responds:
        assert await client.create("/x", b"{}") == b"ok"
        assert await client.create("/x", b"{}") == b"ok"
    else:
        with pytest.raises(Unavailable):
            await client.create("/x", b"{}")
        assert handler.requests == 2
    await client.close()
    server.close()


async def test_a_response_or_an_event_that_is_too_large_is_unavailable(serve):
    async def large(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 1_000_001)

    client = await serve(large, response_bytes_max=1_000_000)
    with pytest.raises(Unavailable, match="larger than 1000000 bytes"):
        await client.get("/x")
    async with aclosing(client.watch("/x")) as watch:
        with pytest.raises(Unavailable, match="larger than 1000000 bytes"):
            await anext(watch)


async def test_a_redirect_is_not_a_success(serve):
    async def login(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/login"}, text="log in")

    client = await serve(login)
    with pytest.raises(StatusError, match="log in") as caught:
        await client.get("/x")
    assert caught.value.code == 302


async def test_impersonation_is_sent_with_a_header_for_each_group(serve):
    async def echo(request: web.Request) -> web.Response:
        user, groups = (
            request.headers["Impersonate-User"],
            request.headers.getall("Impersonate-Group"),
        )
        return web.json_response({"user": user, "groups": groups})

    client = await serve(echo)
    access = client._connection._access
    client._connection._access = msgspec.structs.replace(
        access,
        impersonation=(
            ("Impersonate-User", "jane"),
            ("Impersonate-Group", "dev"),
            ("Impersonate-Group", "ops"),
        ),
    )
    assert msgspec.json.decode(await client.get("/")) == {"user": "jane", "groups": ["dev", "ops"]}
