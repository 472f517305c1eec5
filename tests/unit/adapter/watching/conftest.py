"""A running stream."""

import pytest

from tests.unit.adapter.watching.test_endpoint import Adapter


@pytest.fixture
async def adapter():
    running = Adapter()
    await running.listener.start("127.0.0.1", 0, tls=None)
    yield running
    await running.streams.close()
    await running.listener.stop()
