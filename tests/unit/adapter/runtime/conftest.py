"""An activator of configurations, and a Prometheus with prepared answers."""

import asyncio

import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.fetch.catalog import DiscoveredCatalog, Times
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.model import Backend
from adapter.runtime.activation import ConfigurationActivator
from tests.deadline import DEADLINE_SECONDS
from tests.fakes.adapter import FakeMapping, FakeObjects
from tests.unit.adapter.fetch.canned import CannedServer
from wire.process.background_tasks import BackgroundTasks
from wire.prometheus.access import FileCredentials

TIMES = Times(relist_seconds=600.0, max_age_seconds=600.0)


@pytest.fixture
async def server():
    async with CannedServer().listening() as listening:
        yield listening


@pytest.fixture
async def tasks():
    running = BackgroundTasks()
    yield running
    await running.stop()


@pytest.fixture
async def backends():
    used = Backends({})
    yield used
    await used.close()


@pytest.fixture
def catalog(backends):
    return DiscoveredCatalog((), backends, FakeMapping(), TIMES)


@pytest.fixture
def answers(backends, catalog):
    return Answers(
        evaluator=backends,
        objects=FakeObjects({}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(catalog=catalog),
    )


@pytest.fixture
def activator(server, tasks, backends, answers, catalog, tmp_path, closing):
    default = Backend(url=server.url, timeout_seconds=DEADLINE_SECONDS)
    return ConfigurationActivator(
        tmp_path / "config.yaml",
        default=PrometheusClient(default, FileCredentials(default)),
        backends=backends,
        mapping=FakeMapping(),
        times=TIMES,
        answers=answers,
        catalog=catalog,
        tasks=tasks,
        sleep=lambda _: closing.wait(),
    )


@pytest.fixture
def closing():
    """Set when the requests under way must have ended."""
    return asyncio.Event()
