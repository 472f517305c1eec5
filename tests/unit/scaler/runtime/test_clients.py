"""Watches, leases and metrics have connections of their own."""

import asyncio
import gzip
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from scaler.runtime.clients import ADAPTER_CONNECTIONS_MAX, Clients, MetricsClient, metrics_budget
from wire.api.status import Unavailable
from wire.kube.client import CONNECTIONS_MAX
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection
from wire.process.response_budget import ResponseBudget
from wire.serving.connection_shares import CONNECTION_BYTES, SHARES, Group


class FixedAccess:
    """The same access at every reading."""

    def __init__(self, server: str) -> None:
        self._server = server

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(server=self._server)


async def clients_of(server: str) -> Clients:
    source = FixedAccess(server)
    return Clients.over(Connection(source, await source.read(), user_agent="test"))


@asynccontextmanager
async def serving(respond):
    """The address of a server that responds so to every request."""
    runner = web.ServerRunner(web.Server(respond), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def server():
    """Watches that never end, and an answer to anything else."""

    async def respond(request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"{}\n")
            await asyncio.Event().wait()
        return web.Response(text="ok")

    async with serving(respond) as address:
        yield address


async def test_more_watches_than_a_pool_holds_leave_connections_for_the_rest(server):
    clients = await clients_of(server)
    watches = [
        clients.watches.watch(f"/api/v1/namespaces/{number}/pods")
        for number in range(CONNECTIONS_MAX + 10)
    ]
    try:
        async with asyncio.timeout(20):
            assert await asyncio.gather(*(anext(watch) for watch in watches)) == [b"{}"] * 266
            assert await clients.leases.get("/lease") == b"ok"
            assert await clients.requests.get("/scale") == b"ok"
    finally:
        for watch in watches:
            await watch.aclose()
        await clients.close()


class ObservedBudget(ResponseBudget):
    """Says when a response counts."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.taken = asyncio.Event()

    async def take(self, claim, size_bytes):
        await super().take(claim, size_bytes)
        self.taken.set()


async def test_large_metrics_are_read_one_after_the_other_and_small_ones_at_once():
    ends = asyncio.Event()

    async def respond(request: web.Request) -> web.StreamResponse:
        if request.path == "/small":
            return web.Response(body=b"small")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x" * 4_000)
        await ends.wait()
        return response

    async with serving(respond) as address:
        source = FixedAccess(address)
        budget = ObservedBudget(1_000, response_bytes_max=5_000, free_bytes=100)
        client = MetricsClient(Connection(source, await source.read(), user_agent="test"), budget)
        try:
            async with asyncio.timeout(20):
                large = [asyncio.create_task(client.get("/large")) for _ in range(5)]
                await budget.taken.wait()
                assert await client.get("/small") == b"small"
                assert budget.used_bytes <= 4_000
                ends.set()
                assert [len(each) for each in await asyncio.gather(*large)] == [4_000] * 5
            assert budget.used_bytes == 0
        finally:
            await client.close()


async def test_an_adapter_has_fewer_connections_of_a_scaler_than_it_lets_an_address_have():
    """Those beyond that would be closed, and their requests would fail."""
    arrived, ends = asyncio.Event(), asyncio.Event()
    addresses = set()

    async def respond(request: web.Request) -> web.StreamResponse:
        addresses.add(request.transport.get_extra_info("peername"))
        if len(addresses) == ADAPTER_CONNECTIONS_MAX:
            arrived.set()
        await ends.wait()
        return web.Response(body=b"value")

    async with serving(respond) as address:
        source = FixedAccess(address)
        client = MetricsClient(
            Connection(source, await source.read(), user_agent="test"),
            metrics_budget(),
            connections_max=ADAPTER_CONNECTIONS_MAX,
        )
        try:
            async with asyncio.timeout(20):
                reading = [asyncio.create_task(client.get("/metric")) for _ in range(150)]
                await arrived.wait()
                ends.set()
                assert set(await asyncio.gather(*reading)) == {b"value"}
            assert len(addresses) == ADAPTER_CONNECTIONS_MAX
        finally:
            await client.close()
    of_address = SHARES[Group.AUTHENTICATED].address_bytes_max
    assert of_address > ADAPTER_CONNECTIONS_MAX * CONNECTION_BYTES


async def test_a_compressed_response_of_a_metrics_api_is_not_read():
    async def respond(request: web.Request) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "identity"
        body = gzip.compress(bytes(50_000_000))
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async with serving(respond) as server:
        clients = await clients_of(server)
        try:
            with pytest.raises(Unavailable, match="the response is compressed"):
                await clients.metrics.get("/apis/external.metrics.k8s.io/v1beta1/x")
        finally:
            await clients.close()


async def test_a_busy_metrics_api_is_waited_for():
    """As client-go does: one refusal of API Priority and Fairness, or of a kube-apiserver that stops, fails no metric."""
    responses = [web.Response(status=each, headers={"Retry-After": "0"}) for each in (429, 503)]
    responses.append(web.Response(text="ok"))

    async def respond(_: web.Request) -> web.Response:
        return responses.pop(0)

    async with serving(respond) as address:
        clients = await clients_of(address)
        try:
            path = "/apis/external.metrics.k8s.io/v1beta1/x"
            assert await clients.metrics.get(path) == b"ok"
        finally:
            await clients.close()
