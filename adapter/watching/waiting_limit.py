"""A limit on how long a task waits for each of many things in turn.

`asyncio.timeout` costs a timer for each of them, 5 µs, also where nothing waits. Here one timer for all checks the newest one.
"""

import asyncio
from types import TracebackType
from typing import Final, Self


class WaitingLimit:
    """Of the task that enters it."""

    def __init__(self, seconds: float) -> None:
        self._seconds: Final = seconds
        self._loop = asyncio.get_running_loop()
        self._began_at: float | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._timer = self._loop.call_later(self._seconds, self._check)
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def begin(self) -> None:
        """The task is about to wait for something, until `end`. If that takes longer, the task is cancelled once."""
        self._began_at = self._loop.time()

    def end(self) -> None:
        """It has it, or has failed."""
        self._began_at = None
        self.was_exceeded()

    def was_exceeded(self) -> bool:
        """Whether the limit has cancelled the task, and nothing else has. Then the task goes on."""
        is_over, self._is_over = self._is_over, False
        return is_over and self._task is not None and not self._task.uncancel()

    def _check(self) -> None:
        now_seconds = self._loop.time()
        began_at = now_seconds if self._began_at is None else self._began_at
        left_seconds = began_at + self._seconds - now_seconds
        if left_seconds <= 0 and self._task is not None:
            self._began_at = None
            self._is_over = True
            self._task.cancel()
        self._timer = self._loop.call_later(
            left_seconds if left_seconds > 0 else self._seconds, self._check
        )
