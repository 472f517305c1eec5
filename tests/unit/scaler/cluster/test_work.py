"""How long a reconcile occupies the event loop, in all of its tasks."""

import asyncio

import pytest

from scaler.cluster.work import STEP_SECONDS_MAX, Work, count, counted
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def test_what_others_do_while_it_waits_does_not_count(clock):
    async def reconcile() -> str:
        clock.seconds += 0.1
        await asyncio.sleep(0)
        clock.seconds += 0.2
        return "made"

    async def other() -> None:
        clock.seconds += 100

    work = Work(clock)
    made, _ = await asyncio.gather(work.of(reconcile()), other())
    assert (made, work.seconds) == ("made", pytest.approx(0.3))


async def test_a_task_that_it_starts_counts_if_it_is_counted(clock):
    async def request() -> None:
        await asyncio.sleep(0)
        clock.seconds += 0.5

    async def reconcile() -> None:
        await asyncio.create_task(counted(request()))
        await asyncio.create_task(request())
        count(5)

    work = Work(clock)
    await asyncio.create_task(work.of(reconcile()))
    assert work.seconds == 5.5


async def test_nothing_is_counted_outside_of_a_reconcile(clock):
    async def request() -> str:
        return "read"

    count(5)
    assert await counted(request()) == "read"


async def test_what_it_raises_is_raised_after_it_is_counted(clock):
    async def reconcile() -> None:
        await asyncio.sleep(0)
        clock.seconds += 0.1
        raise ValueError("a bug")

    work = Work(clock)
    with pytest.raises(ValueError, match="a bug"):
        await work.of(reconcile())
    assert work.seconds == pytest.approx(0.1)


async def test_it_can_be_cancelled_and_may_do_something_then(clock):
    ended = []

    async def reconcile() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            clock.seconds += 0.1
            await asyncio.sleep(0)
            clock.seconds += 0.2
            ended.append(True)
            raise

    work = Work(clock)
    task = asyncio.create_task(work.of(reconcile()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended, work.seconds) == ([True], pytest.approx(0.3))


async def test_the_time_in_which_the_process_is_suspended_hardly_counts(clock):
    async def reconcile() -> None:
        clock.seconds += 600

    work = Work(clock)
    await work.of(reconcile())
    assert work.seconds == STEP_SECONDS_MAX


async def test_a_step_that_works_for_long_counts_as_long_as_it_worked(clock):
    async def reconcile() -> None:
        clock.seconds += 2.6

    work = Work(clock, thread_time=clock)
    await work.of(reconcile())
    assert work.seconds == 2.6


async def test_a_step_that_is_suspended_and_works_for_long_counts_without_the_suspension(clock):
    worked = FakeClock()

    async def reconcile() -> None:
        clock.seconds += 600
        worked.seconds += 2.6

    worked.seconds += 1_000
    work = Work(clock, thread_time=worked)
    await work.of(reconcile())
    assert work.seconds == pytest.approx(2.6)


async def test_what_others_have_worked_before_makes_a_long_step_no_longer(clock):
    worked = FakeClock()

    async def reconcile() -> None:
        worked.seconds += 10
        await asyncio.sleep(0)
        clock.seconds += 2.6

    work = Work(clock, thread_time=worked)
    await work.of(reconcile())
    assert work.seconds == pytest.approx(2.6)


async def test_a_deadline_within_it_ends_only_what_it_is_for(clock):
    async def reconcile() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return "in time"

    assert await Work(clock).of(reconcile()) == "late"
