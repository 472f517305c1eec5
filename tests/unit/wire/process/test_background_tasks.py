"""Background tasks stop in reverse order, and one that ends by itself is a failure."""

import asyncio
import logging

import pytest

from wire.process.background_tasks import BackgroundTasks


async def test_tasks_stop_one_after_the_other_starting_with_the_last():
    tasks, stopped = BackgroundTasks(), list[str]()

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            stopped.append(name)

    for name in ("watches", "events", "scale"):
        tasks.start(work(name), name=name)
    await asyncio.sleep(0)
    await tasks.stop()
    assert stopped == ["scale", "events", "watches"]
    assert not tasks.failed.is_set()


async def test_a_task_that_ends_by_itself_is_logged_as_a_failure(caplog: pytest.LogCaptureFixture):
    tasks = BackgroundTasks()

    async def crash() -> None:
        raise ZeroDivisionError

    tasks.start(crash(), name="events")
    with caplog.at_level(logging.ERROR):
        await tasks.failed.wait()
    assert "background task 'events' ended" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert tasks.problem == "background task 'events' ended: ZeroDivisionError()"


async def test_a_task_that_returns_is_a_failure_too():
    tasks = BackgroundTasks()

    async def returns() -> None:
        pass

    tasks.start(returns(), name="watch")
    await tasks.failed.wait()
    assert tasks.problem == "background task 'watch' ended: None"


@pytest.mark.parametrize(("raises", "failed"), [(False, False), (True, True)])
async def test_a_task_that_may_end_fails_only_by_an_exception(raises: bool, failed: bool):
    tasks = BackgroundTasks()

    async def ends() -> None:
        if raises:
            raise ZeroDivisionError

    task = tasks.start(ends(), name="close", may_end=True)
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert tasks.failed.is_set() is failed


async def test_a_task_that_is_cancelled_elsewhere_is_not_a_failure():
    tasks = BackgroundTasks()
    task = tasks.start(forever(), name="listing")
    task.cancel()
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert not tasks.failed.is_set()


async def forever() -> None:
    await asyncio.Event().wait()
