"""An event loop in which waiting takes no time: when no task can run, its clock jumps to the next timer."""

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at 0 seconds. Only for code without sockets: it does not wait for input."""

    def __init__(self) -> None:
        super().__init__()
        self._now_seconds = 0.0

    def time(self) -> float:
        """The virtual clock."""
        return self._now_seconds

    def _run_once(self) -> None:
        self._drop_cancelled()
        # BaseEventLoop keeps what can run in _ready and its timers, earliest first, in _scheduled.
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            earliest = self._scheduled[0]._when  # type: ignore[attr-defined]
            self._now_seconds = max(self._now_seconds, earliest)
        super()._run_once()  # type: ignore[misc]

    def _drop_cancelled(self) -> None:
        """As BaseEventLoop does: it would wait for the timer behind a cancelled one."""
        timers = self._scheduled  # type: ignore[attr-defined]
        while timers and timers[0].cancelled():
            heapq.heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]


async def passes(seconds: float) -> None:
    """Take that long by the loop's clock."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    timer = loop.call_later(seconds, over.set_result, None)
    try:
        await over
    finally:
        timer.cancel()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to completion in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
