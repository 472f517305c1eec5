"""A server with canned responses, and clients of it."""

import time

import pytest

from adapter.fetch.prometheus import LISTINGS_MAX, PrometheusClient
from adapter.model import Backend
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import CannedServer
from wire.prometheus.access import FileCredentials


@pytest.fixture
async def server():
    async with CannedServer().listening() as listening:
        yield listening


@pytest.fixture
async def connect(server):
    """A client of the server, by the settings of a backend."""
    clients = []

    def connected(
        monotonic=time.monotonic, listings_max: int = LISTINGS_MAX, **settings: object
    ) -> PrometheusClient:
        settings = {"url": server.url, "timeout_seconds": DEADLINE_SECONDS, **settings}
        backend = Backend(**settings)
        clients.append(
            PrometheusClient(
                backend, FileCredentials(backend), listings_max=listings_max, monotonic=monotonic
            )
        )
        return clients[-1]

    yield connected
    for client in clients:
        await client.close()
