"""The client against a real HTTP server on loopback that answers as each case needs."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import aiohttp
import pytest
from aiohttp import web

from wire.kube.client import KubeClient
from wire.kube.connection import Access, Connection
from wire.kube.requests import STRATEGIC_MERGE_PATCH
from wire.status import StatusError, Unavailable

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[KubeClient]]


class Source:
    """Credentials that are numbered by how often they were read."""

    def __init__(self, server: str) -> None:
        self.server, self.readings = server, 0

    async def read(self) -> Access:
        self.readings += 1
        return Access(server=self.server, authorization=f"Bearer {self.readings}")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def client_of(server: str, clock: Clock | None = None) -> KubeClient:
    source = Source(server)
    connection = Connection(
        source, await source.read(), user_agent="test/1", monotonic=clock or Clock()
    )
    return KubeClient(connection, timeout_seconds=2)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server on `handler`; gives a client of it."""
    runners: list[web.AppRunner] = []
    clients: list[KubeClient] = []

    async def start(handler: Handler, clock: Clock | None = None) -> KubeClient:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        clients.append(await client_of(f"http://127.0.0.1:{port}", clock))
        return clients[-1]

    yield start
    for client in clients:
        await client.close()
    for runner in runners:
        await runner.cleanup()


async def test_a_request_carries_who_asks_and_what_for(serve):
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
    answer = await client.patch(
        "/api/v1/pods/%2A", b"{}", content_type=STRATEGIC_MERGE_PATCH, params={"l": "a in (b,c)&+"}
    )
    assert answer == (
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


async def test_an_answer_that_is_no_status_still_tells_its_code_and_text(serve):
    async def gateway(_: web.Request) -> web.Response:
        return web.Response(status=502, text="bad gateway")

    client = await serve(gateway)
    with pytest.raises(StatusError, match="bad gateway") as caught:
        await client.get("/x")
    assert caught.value.code == 502


async def test_a_refused_token_is_read_anew_and_tried_once_more(serve):
    async def only_the_second(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers["Authorization"] == "Bearer 2" else 401)

    clock = Clock()
    client = await serve(only_the_second, clock)
    clock.seconds = 10
    assert await client.get("/x") == b""


async def test_a_busy_server_is_asked_again_when_it_says_when(serve):
    asked: list[str] = []

    async def busy(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=200 if len(asked) > 2 else 429, headers={"Retry-After": "0"})

    client = await serve(busy)
    await client.get("/x")
    assert len(asked) == 3


async def test_a_server_error_without_retry_after_is_not_asked_again(serve):
    asked: list[str] = []

    async def broken(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=500)

    client = await serve(broken)
    with pytest.raises(StatusError):
        await client.get("/x")
    assert len(asked) == 1


async def hangs(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


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
async def test_aiohttp_is_not_leaked_outside(serve, handler):
    client = await serve(handler)
    with pytest.raises(Unavailable, match=r"GET http://127\.0\.0\.1:\d+/x: ") as caught:
        await client.get("/x")
    assert isinstance(caught.value.__cause__, aiohttp.ClientError | TimeoutError)


async def test_no_server_at_all_is_unavailable():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = await client_of(f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(Unavailable):
            await client.get("/x")
        await client.close()


async def test_a_watch_gives_lines_of_any_length_wherever_the_chunks_are_cut(serve):
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


async def test_a_watch_that_breaks_off_is_unavailable(serve):
    client = await serve(half_a_body)
    async with aclosing(client.watch("/x")) as watch:
        assert await anext(watch) == b"half"
        with pytest.raises(Unavailable):
            await anext(watch)
