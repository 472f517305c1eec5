"""The background tasks of the process: none may end by itself, and they stop in reverse order."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that run until `stop`. When one ends earlier `failed` is set, and the process has to be restarted."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self.failed = asyncio.Event()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run `work` in the background."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    async def stop(self) -> None:
        """Cancel the tasks one after the other, the last one started first, and wait for each."""
        while self._tasks:
            await stopped(self._tasks.pop())

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            log.error("background task %r ended", task.get_name(), exc_info=task.exception())
            self.failed.set()


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, however it ends."""
    task.cancel()
    await asyncio.wait({task})
