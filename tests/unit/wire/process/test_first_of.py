"""Coroutines that run side by side until one ends, and tasks whose end is not interrupted."""

import asyncio

import pytest

from wire.process.background_tasks import ended, stopped
from wire.process.first_of import first_of


class Work:
    """It takes some time to end, and notes whether that was interrupted."""

    def __init__(self):
        self.is_ending = asyncio.Event()
        self.may_end = asyncio.Event()
        self.has_ended = False

    async def run(self):
        try:
            await asyncio.Event().wait()
        finally:
            self.is_ending.set()
            await self.may_end.wait()
            self.has_ended = True


async def test_the_first_that_ends_cancels_the_others_and_raises_what_it_raises():
    work = Work()
    work.may_end.set()

    async def fails():
        await asyncio.sleep(0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await first_of(work.run(), fails())
    assert work.has_ended


async def test_an_error_of_another_one_as_it_ends_is_raised():
    async def fails_at_its_end():
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await first_of(fails_at_its_end(), asyncio.sleep(0))


async def ends_once(waiting, work):
    """Cancel it again and again while the work ends."""
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.has_ended


async def test_a_second_cancellation_does_not_interrupt_the_end_of_the_others():
    work = Work()
    waiting = asyncio.create_task(first_of(work.run(), asyncio.Event().wait()))
    await asyncio.sleep(0)
    waiting.cancel()
    await work.is_ending.wait()
    await ends_once(waiting, work)


@pytest.mark.parametrize("function", [stopped, ended])
async def test_a_task_that_is_stopped_has_ended_also_if_the_caller_is_cancelled(function):
    work = Work()
    task = asyncio.create_task(work.run())
    await asyncio.sleep(0)

    async def stop():
        if await function(task):
            raise asyncio.CancelledError

    waiting = asyncio.create_task(stop())
    await work.is_ending.wait()
    await ends_once(waiting, work)


async def test_all_tasks_are_cancelled_before_the_end_of_one_is_waited_for():
    first, second = Work(), Work()
    tasks = [asyncio.create_task(each.run()) for each in (first, second)]
    await asyncio.sleep(0)
    ending = asyncio.create_task(ended(*tasks))
    await first.is_ending.wait()
    await second.is_ending.wait()
    first.may_end.set()
    second.may_end.set()
    assert await ending is False
