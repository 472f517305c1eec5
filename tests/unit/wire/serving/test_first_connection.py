"""The first connection already gets a request for a client certificate: one that is kept alive gets no second request."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from wire.serving.options import ServingOptions
from wire.serving.server import Delegates, Server

OPTIONS = ServingOptions(secure_port=1, bind_address="127.0.0.1")


@pytest.fixture
async def started(world):
    servers = []

    def begin(trust_wait_seconds: float) -> tuple[Server, asyncio.Task[None]]:
        server = Server(
            OPTIONS,
            Delegates(world.api, world.api),
            registry=CollectorRegistry(),
            version="1",
            drain_seconds=0.05,
            trust_wait_seconds=trust_wait_seconds,
        )
        servers.append(server)
        return server, asyncio.create_task(server.start(port=0))

    yield begin
    for server in servers:
        await server.stop()


async def test_it_does_not_listen_before_the_client_cas_are_known(world, started):
    world.api.answering.clear()
    server, starting = started(60.0)
    await world.api.requested.wait()
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = server.port
    world.api.answering.set()
    await starting
    assert server.port > 0


async def test_it_listens_without_the_client_cas_if_the_api_server_is_unavailable(world, started):
    world.api.answering.clear()
    server, starting = started(0.05)
    await starting
    assert server.port > 0
