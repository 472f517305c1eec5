"""Single flight: equal calls that overlap are made once, and share the outcome."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Final, Generic, TypeVar

import msgspec

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

JOINED_SECONDS: Final = 10.0
"""Later callers do not join a call that has taken longer: it may have been sent to a server that will never respond, for example just
before that server was replaced. A call with a timeout of 30 s is made at most three times at once.
"""


class _Call(msgspec.Struct, frozen=True, eq=False):
    task: asyncio.Task[Any]
    joined_until: float


class SingleFlight(Generic[Key, Result]):
    """While a call for a key is in flight, callers within its first 10 s share its result, or its failure."""

    def __init__(self) -> None:
        self._newest: dict[Key, _Call] = {}

    def __contains__(self, key: Key) -> bool:
        """Whether a caller would join a call. Only within a running event loop."""
        return self._joinable(key) is not None

    async def do(self, key: Key, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result for `key`, from the call in flight or a new one. Raises what the call raises."""
        # shield: one caller's cancellation must not fail the others.
        return await asyncio.shield(self.start(key, call))

    def start(
        self, key: Key, call: Callable[[], Coroutine[Any, Any, Result]]
    ) -> asyncio.Task[Result]:
        """The call in flight for `key`, or a new one; nothing has to wait for it."""
        joinable = self._joinable(key)
        if joinable is not None:
            return joinable.task
        task = asyncio.create_task(call())
        begun = _Call(task, asyncio.get_running_loop().time() + JOINED_SECONDS)
        self._newest[key] = begun
        task.add_done_callback(lambda done: self._landed(key, begun, done))
        return task

    def _joinable(self, key: Key) -> _Call | None:
        newest = self._newest.get(key)
        if newest is None or asyncio.get_running_loop().time() >= newest.joined_until:
            return None
        return newest

    def _landed(self, key: Key, call: _Call, done: asyncio.Task[Result]) -> None:
        if self._newest.get(key) is call:
            del self._newest[key]
        if not done.cancelled():
            done.exception()  # Retrieved, so that asyncio does not log it when every caller has gone.
