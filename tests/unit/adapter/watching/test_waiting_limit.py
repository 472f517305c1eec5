"""One limit for many waits of one task."""

import asyncio

import pytest

from adapter.watching.waiting_limit import WaitingLimit
from tests.fakes import virtual_time


async def waits(limit: WaitingLimit, seconds: float) -> str:
    """How a wait of so many seconds ends."""
    limit.begin()
    try:
        await virtual_time.passes(seconds)
    except asyncio.CancelledError:
        if limit.was_exceeded():
            return "too long"
        raise
    finally:
        limit.end()
    return "in time"


def test_each_wait_has_the_whole_limit_and_one_that_is_exceeded_does_not_end_the_others():
    async def scenario():
        with WaitingLimit(2.0) as limit:
            ended = [await waits(limit, each) for each in (1.9, 1.9, 5.0, 0.1, 2.1, 1.9)]
            await virtual_time.passes(30.0)
            return ended, asyncio.get_running_loop().time()

    ended, now = virtual_time.run(scenario())
    assert ended == ["in time", "in time", "too long", "in time", "too long", "in time"]
    assert now == pytest.approx(1.9 + 1.9 + 2.0 + 0.1 + 2.0 + 1.9 + 30.0)


def test_another_cancellation_ends_the_task():
    async def scenario():
        async def work():
            with WaitingLimit(2.0) as limit:
                await waits(limit, 5.0)
                return await waits(limit, 1.0)

        task = asyncio.create_task(work())
        await virtual_time.passes(2.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    virtual_time.run(scenario())


def test_a_failure_in_place_of_the_cancellation_leaves_nothing_for_the_next_wait():
    async def fails():
        try:
            await virtual_time.passes(5.0)
        except asyncio.CancelledError:
            raise ZeroDivisionError from None

    async def scenario():
        with WaitingLimit(2.0) as limit:
            limit.begin()
            with pytest.raises(ZeroDivisionError):
                await fails()
            limit.end()
            assert asyncio.current_task().cancelling() == 0
            return await waits(limit, 1.0)

    assert virtual_time.run(scenario()) == "in time"
