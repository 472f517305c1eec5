"""How long the work for one autoscaler occupies the event loop, in all tasks that do it.

Measured around each step of a task, so the time in which it waits, and others have their turn, does not count. The clock
of the thread would say more precisely what the processor has done, but takes several microseconds for each step. So it is
read only at the beginning, and when a step seems to have taken long.
"""

import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from functools import partial
from types import coroutine
from typing import Any, Final, TypeVar

# A step that seems to take longer was interrupted, because the process or its machine was suspended, except for what the thread has worked.
STEP_SECONDS_MAX: Final = 1.0

T = TypeVar("T")

_current: ContextVar["Work | None"] = ContextVar("work", default=None)


class Work:
    """The work of one reconcile, or of what else must not take the time of others."""

    __slots__ = ("_monotonic", "_thread_began_seconds", "_thread_time", "seconds")

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.seconds = 0.0
        self._monotonic = monotonic
        self._thread_time = thread_time
        self._thread_began_seconds = thread_time()

    def add_step(self, began_seconds: float) -> None:
        """A step that has begun at this time ends now."""
        seconds = self._monotonic() - began_seconds
        if seconds > STEP_SECONDS_MAX:
            # What the thread has done since the beginning, also for others: perhaps more than in this step, but without a suspension.
            worked_seconds = self._thread_time() - self._thread_began_seconds
            seconds = min(seconds, max(worked_seconds, STEP_SECONDS_MAX))
        self.seconds += seconds

    async def of(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it. What tasks do that it starts counts, too, if they are `counted`. Only one such call at a time in a task."""
        _current.set(self)
        return await self._measured(work)

    @coroutine
    def _measured(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        step: Callable[[], Any] = partial(work.send, None)
        while True:
            began_seconds = self._monotonic()
            try:
                awaited = step()
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self.add_step(began_seconds)
            try:
                step = partial(work.send, (yield awaited))
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # what is raised where it waits, such as a cancellation
                step = partial(work.throw, error)


def counted(work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """The same for a task of its own: it counts as work of the reconcile that starts it, if one does."""
    current = _current.get()
    return work if current is None else current.of(work)


def count(seconds: float) -> None:
    """Another thread has worked for so long for the reconcile of this task."""
    current = _current.get()
    if current is not None:
        current.seconds += seconds
