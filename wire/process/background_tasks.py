"""The background tasks of a process: watched while they run, and stopped in reverse order."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that run until `stop`. When one ends too early `failed` is set, and the process has to be restarted."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], bool] = {}
        self.failed = asyncio.Event()
        self.problem: str | None = None
        """Which task ended too early and why."""

    def start(
        self, work: Coroutine[Any, Any, None], *, name: str, may_end: bool = False
    ) -> asyncio.Task[None]:
        """Run `work` until `stop`. `may_end`: returning is not a failure, raising is."""
        task = asyncio.create_task(work, name=name)
        self._tasks[task] = may_end
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancel the tasks one after the other, the last one started first, and wait for each."""
        while self._tasks:
            task, _ = self._tasks.popitem()
            await stopped(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        may_end = self._tasks.pop(task, False)
        if task.cancelled():
            return
        error = task.exception()
        if error is None and may_end:
            return
        name = task.get_name()
        log.critical("background task %r ended", name, exc_info=error)
        self.problem = f"background task {name!r} ended: {error!r}"
        self.failed.set()


async def ended(*tasks: asyncio.Future[Any]) -> bool:
    """Cancel tasks and wait for their ends; the results are left to the caller.

    Whether the caller was cancelled meanwhile: they have ended all the same, and were not interrupted while they did.
    """
    for task in tasks:
        task.cancel()
    is_cancelled = False
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            is_cancelled = True
    for task in tasks:
        if not task.cancelled():
            task.exception()
    return is_cancelled


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, however it ends, also if the caller is cancelled meanwhile."""
    if await ended(task):
        raise asyncio.CancelledError
