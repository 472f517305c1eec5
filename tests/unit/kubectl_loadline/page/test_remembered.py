"""A reader that sends equal requests once."""

import asyncio

import pytest

from kubectl_loadline.page.remembered import RememberedReader
from tests.fakes.clock import FakeClock
from tests.fakes.scaler import FakeKube
from wire.api.status import StatusError


async def test_a_response_is_used_until_it_is_old():
    kube, clock = FakeKube(), FakeClock()
    kube.serve("/a", {})
    reader = RememberedReader(kube, seconds=10, monotonic=clock)
    await reader.get("/a")
    clock.seconds = 9.9
    await reader.get("/a")
    assert len(kube.requested) == 1
    clock.seconds = 10
    await reader.get("/a")
    assert len(kube.requested) == 2


async def test_requests_at_the_same_time_are_sent_once():
    kube = FakeKube()
    kube.serve("/a", {})
    reader = RememberedReader(kube, seconds=10, monotonic=FakeClock())
    await asyncio.gather(*(reader.get("/a") for _ in range(5)))
    assert len(kube.requested) == 1


async def test_other_parameters_are_another_request():
    kube = FakeKube()
    kube.serve("/a", {})
    reader = RememberedReader(kube, seconds=10, monotonic=FakeClock())
    await reader.get("/a", {"labelSelector": "b"})
    await reader.get("/a", {"labelSelector": "c"})
    assert len(kube.requested) == 2


async def test_a_failure_is_not_remembered():
    kube = FakeKube()
    reader = RememberedReader(kube, seconds=10, monotonic=FakeClock())
    with pytest.raises(StatusError):
        await reader.get("/a")
    kube.serve("/a", {})
    assert await reader.get("/a") == b"{}"
