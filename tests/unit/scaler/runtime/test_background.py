"""Background tasks stop in reverse order, and one that ends by itself is a failure."""

import asyncio
import logging

import pytest

from scaler.runtime.background import BackgroundTasks


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
