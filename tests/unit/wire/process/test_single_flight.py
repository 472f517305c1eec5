"""Equal calls that overlap are made once."""

import asyncio
import gc

import pytest

from wire.process.single_flight import SingleFlight


class Backend:
    """Counts its calls, and answers when it is released."""

    def __init__(self) -> None:
        self.calls = 0
        self.released = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.calls += 1
        await self.released.wait()
        if self.error:
            raise self.error
        return self.calls


async def waiting(flight: SingleFlight[str, int], backend: Backend, count: int):
    tasks = [asyncio.create_task(flight.do("a", backend)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_callers_that_overlap_share_one_call():
    flight, backend = SingleFlight[str, int](), Backend()
    tasks = await waiting(flight, backend, 3)
    assert "a" in flight
    backend.released.set()
    assert await asyncio.gather(*tasks) == [1, 1, 1]
    assert "a" not in flight


async def test_a_later_caller_calls_again():
    flight, backend = SingleFlight[str, int](), Backend()
    backend.released.set()
    assert [await flight.do("a", backend), await flight.do("a", backend)] == [1, 2]


async def test_different_keys_do_not_share():
    flight, backend = SingleFlight[str, int](), Backend()
    backend.released.set()
    await asyncio.gather(flight.do("a", backend), flight.do("b", backend))
    assert backend.calls == 2


async def test_a_failure_reaches_every_waiting_caller_and_no_later_one():
    flight, backend = SingleFlight[str, int](), Backend()
    backend.error = ValueError("no")
    tasks = await waiting(flight, backend, 2)
    backend.released.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["no", "no"]
    backend.error = None
    assert await flight.do("a", backend) == 2


async def test_a_cancelled_caller_does_not_cancel_the_others():
    flight, backend = SingleFlight[str, int](), Backend()
    first, second = await waiting(flight, backend, 2)
    first.cancel()
    backend.released.set()
    assert await second == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_failure_without_a_waiting_caller_is_not_reported_by_asyncio():
    flight, backend = SingleFlight[str, int](), Backend()
    backend.error = ValueError("no")
    (task,) = await waiting(flight, backend, 1)
    task.cancel()
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    backend.released.set()
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert ("a" in flight, reported) == (False, [])
