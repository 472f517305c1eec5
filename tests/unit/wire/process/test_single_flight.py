"""Equal calls that overlap are made once."""

import asyncio
import gc

import pytest

from tests.fakes import virtual_time
from wire.process.single_flight import JOINED_SECONDS, SingleFlight


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


async def hanging_at_first(backend: Backend, calls: list[asyncio.Event]) -> int:
    """The first call waits for `backend`; later ones return at once."""
    calls.append(backend.released)
    return await backend() if len(calls) == 1 else -len(calls)


def test_a_call_that_hangs_is_joined_for_a_limited_time_only():
    """For example a query to a Prometheus that was replaced before it responded."""

    async def scenario() -> None:
        flight, backend, calls = SingleFlight[str, int](), Backend(), list[asyncio.Event]()

        async def call() -> int:
            return await hanging_at_first(backend, calls)

        first = asyncio.create_task(flight.do("a", call))
        await virtual_time.passes(JOINED_SECONDS - 0.001)
        joined = asyncio.create_task(flight.do("a", call))
        await virtual_time.passes(0.001)
        assert "a" not in flight
        assert await flight.do("a", call) == -2
        assert [first.done(), joined.done()] == [False, False]
        backend.released.set()
        assert (await first, await joined) == (1, 1)

    virtual_time.run(scenario())


def test_the_end_of_an_older_call_leaves_the_newer_one_in_flight():
    async def scenario() -> None:
        flight, older, newer = SingleFlight[str, int](), Backend(), Backend()
        first = asyncio.create_task(flight.do("a", older))
        await virtual_time.passes(JOINED_SECONDS)
        second = asyncio.create_task(flight.do("a", newer))
        await asyncio.sleep(0)
        older.released.set()
        await first
        assert "a" in flight
        third = asyncio.create_task(flight.do("a", newer))
        await asyncio.sleep(0)
        newer.released.set()
        assert (await second, await third, newer.calls) == (1, 1, 1)

    virtual_time.run(scenario())
