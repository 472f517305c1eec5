"""Single flight: equal calls that overlap are made once, and share the outcome."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class SingleFlight(Generic[Key, Result]):
    """While a call for a key is in flight, later callers share its result, or its failure."""

    def __init__(self) -> None:
        self._in_flight: dict[Key, asyncio.Task[Result]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._in_flight

    def __len__(self) -> int:
        return len(self._in_flight)

    async def do(self, key: Key, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result for `key`, from the call in flight or a new one. Raises what the call raises."""
        # shield: one caller's cancellation must not fail the others.
        return await asyncio.shield(self.start(key, call))

    def start(
        self, key: Key, call: Callable[[], Coroutine[Any, Any, Result]]
    ) -> asyncio.Task[Result]:
        """The call in flight for `key`, or a new one; nothing has to wait for it."""
        task = self._in_flight.get(key)
        if task is None:
            task = self._in_flight[key] = asyncio.create_task(call())
            task.add_done_callback(lambda done: self._landed(key, done))
        return task

    def _landed(self, key: Key, done: asyncio.Task[Result]) -> None:
        del self._in_flight[key]
        if not done.cancelled():
            done.exception()  # Retrieved, so that asyncio does not log it when every caller has gone.
