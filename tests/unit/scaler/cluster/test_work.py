"""How much of the processor a reconcile takes, in all of its tasks."""

import asyncio

import pytest

from scaler.cluster.work import Work, count, counted


class Processor:
    """Used by `use` only."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def use(self, seconds: float) -> None:
        self.seconds += seconds

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def processor() -> Processor:
    return Processor()


async def test_what_others_do_while_it_waits_does_not_count(processor):
    async def reconcile() -> str:
        processor.use(1)
        await asyncio.sleep(0)
        processor.use(2)
        return "made"

    async def other() -> None:
        processor.use(100)

    work = Work(processor)
    made, _ = await asyncio.gather(work.of(reconcile()), other())
    assert (made, work.seconds) == ("made", 3)


async def test_a_task_that_it_starts_counts_if_it_is_counted(processor):
    async def request() -> None:
        await asyncio.sleep(0)
        processor.use(10)

    async def reconcile() -> None:
        await asyncio.create_task(counted(request()))
        await asyncio.create_task(request())
        count(5)

    work = Work(processor)
    await asyncio.create_task(work.of(reconcile()))
    assert work.seconds == 15


async def test_nothing_is_counted_outside_of_a_reconcile(processor):
    async def request() -> str:
        return "read"

    count(5)
    assert await counted(request()) == "read"


async def test_what_it_raises_is_raised_after_it_is_counted(processor):
    async def reconcile() -> None:
        await asyncio.sleep(0)
        processor.use(1)
        raise ValueError("a bug")

    work = Work(processor)
    with pytest.raises(ValueError, match="a bug"):
        await work.of(reconcile())
    assert work.seconds == 1


async def test_it_can_be_cancelled_and_may_do_something_then(processor):
    ended = []

    async def reconcile() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            processor.use(1)
            await asyncio.sleep(0)
            processor.use(2)
            ended.append(True)
            raise

    work = Work(processor)
    task = asyncio.create_task(work.of(reconcile()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended, work.seconds) == ([True], 3)


async def test_a_deadline_within_it_ends_only_what_it_is_for(processor):
    async def reconcile() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return "in time"

    assert await Work(processor).of(reconcile()) == "late"
