"""How long the work for one autoscaler occupies the event loop, in all tasks that do it.

Measured around each step of a task, so the time in which it waits, and others have their turn, does not count. The clock
of the thread would say more precisely what the processor has done, but takes several microseconds for each step.
"""

from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from functools import partial
from types import coroutine
from typing import Any, Final, TypeVar

# A step that seems to take longer was interrupted, because the process or its machine was suspended.
STEP_SECONDS_MAX: Final = 1.0

T = TypeVar("T")

_current: ContextVar["Work | None"] = ContextVar("work", default=None)


class Work:
    """The work of one reconcile."""

    __slots__ = ("_monotonic", "seconds")

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.seconds = 0.0
        self._monotonic = monotonic

    def add_step(self, began_seconds: float) -> None:
        """A step that has begun at this time ends now."""
        self.seconds += min(self._monotonic() - began_seconds, STEP_SECONDS_MAX)

    async def of(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it. What tasks do that it starts counts, too, if they are `counted`. Only one such call in a task."""
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
