"""A background task that fails is logged and stops the program."""

import asyncio

from adapter.runtime.background_tasks import BackgroundTasks


async def test_a_task_that_fails_is_logged_and_stops_the_program(caplog):
    async def fails() -> None:
        raise ValueError("a bug")

    tasks = BackgroundTasks()
    tasks.spawn(fails())
    await asyncio.wait_for(tasks.failed.wait(), 5)
    assert "a bug" in caplog.text


async def test_stopping_ends_every_task_and_is_not_a_failure():
    tasks = BackgroundTasks()
    task = tasks.spawn(asyncio.Event().wait())
    await tasks.stop()
    assert task.cancelled()
    assert not tasks.failed.is_set()
