"""Connections to Prometheus that end, that are never established, and responses in several segments."""

import asyncio
import contextlib
import json

import pytest

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import answer
from wire.prometheus.access import FileCredentials
from wire.prometheus.transport import NoAnswer, Transport

EMPTY = answer({"status": "success", "data": {"resultType": "vector", "result": []}})
KEPT_ALIVE = EMPTY.replace(b"Connection: close\r\n", b"")


@contextlib.asynccontextmanager
async def client_of(serve):
    async with served_by(serve) as port:
        backend = Backend(url=f"http://127.0.0.1:{port}", timeout_seconds=DEADLINE_SECONDS)
        client = PrometheusClient(backend, FileCredentials(backend))
        yield client
        await client.close()


@contextlib.asynccontextmanager
async def served_by(serve):
    served = set()

    async def serve_and_close(reader, writer):
        served.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await asyncio.gather(*served)


class Replaceable:
    """A server that resets the connections of before it was replaced at their next request."""

    def __init__(self, at_once):
        self.at_once = at_once
        self.arrived = 0
        self.has_all = asyncio.Event()
        self.generation = 0

    async def serve(self, reader, writer):
        generation = self.generation
        while True:
            await reader.readuntil(b"\r\n\r\n")
            if generation != self.generation:
                writer.transport.abort()
                return
            self.arrived += 1
            if self.arrived >= self.at_once:
                self.has_all.set()
            await self.has_all.wait()
            writer.write(KEPT_ALIVE)
            await writer.drain()


async def test_no_query_fails_because_several_idle_connections_were_closed():
    server = Replaceable(at_once=5)
    async with client_of(server.serve) as client:
        await asyncio.gather(*(client.evaluate(Plan(f"m{number}")) for number in range(5)))
        server.generation += 1
        for number in range(6):
            assert (await client.evaluate(Plan(f"n{number}"))).samples == ()


async def test_a_connection_that_is_not_established_fails_before_the_query_does():
    async def serve(reader, writer):
        """The TLS handshake gets no reply."""
        await reader.read()

    async with served_by(serve) as port:
        backend = Backend(url=f"https://127.0.0.1:{port}")
        transport = Transport(
            backend.url, FileCredentials(backend), user_agent="x", connect_seconds=0.05
        )
        with pytest.raises(NoAnswer, match=r"no connection within 0\.05 s") as failed:
            await transport.body("/api/v1/query", {}, seconds=5.0, bytes_max=1_000)
        await transport.close()
    assert failed.value.retryable


@pytest.mark.parametrize(
    ("first", "is_cut_off"),
    [
        pytest.param(0, False, id="after the header"),
        pytest.param(700, False, id="in the text"),
        pytest.param(None, False, id="in one segment"),
        pytest.param(700, True, id="cut off"),
    ],
)
async def test_the_cause_of_a_refusal_does_not_depend_on_its_segments(first, is_cut_off):
    refusal = {"status": "error", "errorType": "execution", "error": "x" * 1_500}
    head, _, body = answer(refusal, "422 Unprocessable Entity").partition(b"\r\n\r\n")
    assert json.loads(body) == refusal

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"\r\n\r\n" + body[:first])
        await writer.drain()
        await asyncio.to_thread(lambda: None)  # The client reads what it has.
        if not is_cut_off and first is not None:
            writer.write(body[first:])

    async with client_of(serve) as client:
        with pytest.raises(QueryFailed) as failed:
            await client.evaluate(Plan("up"))
    expected = "HTTP 422" if is_cut_off else "execution: xxx"
    assert expected in failed.value.cause
