"""The program's background tasks: started, watched and stopped together."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that live as long as the program."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.failed = asyncio.Event()
        """Set when a task raised an exception. That is a bug, and the program should be restarted."""

    def spawn(self, run: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run it until `stop`, or until the returned task is cancelled."""
        task = asyncio.create_task(run)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.critical("a background task failed", exc_info=error)
            self.failed.set()

    async def stop(self) -> None:
        """Cancel every task and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
