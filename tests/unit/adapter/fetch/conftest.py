"""A server with canned responses and clients of it, and objects of a cluster."""

import asyncio
import time

import pytest

from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.fetch.cluster_objects import WatchedObjects
from adapter.fetch.prometheus import LISTINGS_MAX, PrometheusClient
from adapter.fetch.reading_budget import SERIES_BYTES_MAX
from adapter.model import Backend
from tests.deadline import DEADLINE_SECONDS
from tests.fakes.clock import FakeClock
from tests.unit.adapter.fetch.canned import CannedServer
from tests.unit.adapter.fetch.fake_cluster import FakeCluster
from wire.kube.mapper import RestMapper
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
        monotonic=time.monotonic,
        listings_max: int = LISTINGS_MAX,
        series_bytes_max: int = SERIES_BYTES_MAX,
        **settings: object,
    ) -> PrometheusClient:
        settings = {"url": server.url, "timeout_seconds": DEADLINE_SECONDS, **settings}
        backend = Backend(**settings)
        clients.append(
            PrometheusClient(
                backend,
                FileCredentials(backend),
                listings_max=listings_max,
                series_bytes_max=series_bytes_max,
                monotonic=monotonic,
            )
        )
        return clients[-1]

    yield connected
    for client in clients:
        await client.close()


@pytest.fixture
def cluster():
    return FakeCluster()


@pytest.fixture
async def mapping(cluster):
    mapper = RestMapper(cluster)
    await mapper.refresh()
    return ClusterMapping(mapper)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def watched(cluster, mapping, clock):
    tasks = []
    yield WatchedObjects(
        cluster, mapping, lambda run: tasks.append(asyncio.create_task(run)), monotonic=clock
    )
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
