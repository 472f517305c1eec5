"""What the work for one autoscaler takes of the processor, in all tasks that do it.

Measured around each step of a task, so the time in which it waits, and others have their turn, does not count.
"""

from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from functools import partial
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_current: ContextVar["Work | None"] = ContextVar("work", default=None)


class Work:
    """The work of one reconcile."""

    __slots__ = ("_processor_seconds", "seconds")

    def __init__(self, processor_seconds: Callable[[], float]) -> None:
        """`processor_seconds`: how long this thread has used the processor."""
        self.seconds = 0.0
        self._processor_seconds = processor_seconds

    async def of(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it. What tasks do that it starts counts, too, if they are `counted`. Only one such call in a task."""
        _current.set(self)
        return await self._measured(work)

    @coroutine
    def _measured(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        step: Callable[[], Any] = partial(work.send, None)
        while True:
            began_seconds = self._processor_seconds()
            try:
                awaited = step()
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self.seconds += self._processor_seconds() - began_seconds
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
