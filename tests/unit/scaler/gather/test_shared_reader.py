"""Equal reads are sent once."""

import asyncio
from collections.abc import Mapping

import pytest

from scaler.gather.shared_reader import ReaderWithin, SharedReader
from scaler.telemetry import Telemetry
from wire.status import Unavailable

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


class SlowKube:
    """Responds once `may_respond` is set."""

    def __init__(self) -> None:
        self.sent = 0
        self.may_respond = asyncio.Event()
        self.error: Exception | None = None

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        self.sent += 1
        await self.may_respond.wait()
        if self.error:
            raise self.error
        return f"{self.sent}".encode()


class Clock:
    def __init__(self) -> None:
        self.now_seconds = 100.0

    def __call__(self) -> float:
        return self.now_seconds


def shared(kube: SlowKube, clock: Clock, fresh_seconds: float = 1.0) -> SharedReader:
    return SharedReader(kube, Telemetry(), fresh_seconds=fresh_seconds, monotonic=clock)


async def test_equal_requests_in_flight_share_one_response():
    kube = SlowKube()
    reader = shared(kube, Clock())
    waiting = [asyncio.create_task(reader.get(PATH, {"a": "1", "b": "2"})) for _ in range(50)]
    waiting.append(asyncio.create_task(reader.get(PATH, {"b": "2", "a": "1"})))
    await asyncio.sleep(0)
    kube.may_respond.set()
    assert set(await asyncio.gather(*waiting)) == {b"1"}
    assert kube.sent == 1


async def test_different_requests_are_sent_separately():
    kube = SlowKube()
    kube.may_respond.set()
    reader = shared(kube, Clock())
    await reader.get(PATH)
    await reader.get(PATH, {"labelSelector": "a=b"})
    assert kube.sent == 2


@pytest.mark.parametrize(
    ("age_seconds", "sent"),
    [pytest.param(0.9, 1, id="fresh"), pytest.param(1.0, 2, id="too old")],
)
async def test_a_response_is_reused_only_while_it_is_fresh(age_seconds, sent):
    kube, clock = SlowKube(), Clock()
    kube.may_respond.set()
    reader = shared(kube, clock)
    await reader.get(PATH)
    clock.now_seconds += age_seconds
    await reader.get(PATH)
    assert kube.sent == sent


async def test_an_error_is_shared_only_with_requests_that_waited_for_it():
    kube = SlowKube()
    kube.error = Unavailable("down")
    kube.may_respond.set()
    reader = shared(kube, Clock())
    with pytest.raises(Unavailable, match="down"):
        await reader.get(PATH)
    kube.error = None
    assert await reader.get(PATH) == b"2"


async def test_a_cancelled_request_does_not_fail_the_others():
    kube = SlowKube()
    reader = shared(kube, Clock())
    first, second = (asyncio.create_task(reader.get(PATH)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    kube.may_respond.set()
    assert await second == b"1"
    assert first.cancelled()


async def test_outdated_responses_are_dropped():
    kube, clock = SlowKube(), Clock()
    kube.may_respond.set()
    reader = shared(kube, clock)
    for number in range(100):
        await reader.get(f"{PATH}{number}")
    clock.now_seconds += 2
    await reader.get(PATH)
    assert len(reader._fresh) == 1


async def test_a_reader_with_a_shorter_bound_reads_again_for_all():
    kube, clock = SlowKube(), Clock()
    kube.may_respond.set()
    reader = shared(kube, clock)
    often = ReaderWithin(reader, 0.2)
    assert await reader.get(PATH) == b"1"
    clock.now_seconds += 0.1
    assert await often.get(PATH) == b"1"
    clock.now_seconds += 0.4
    assert await often.get(PATH) == b"2", "half a second is too old for a period of 2 s"
    assert await reader.get(PATH) == b"2", "and the newer response serves the others"
