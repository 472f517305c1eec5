"""A bound on concurrent requests to a backend, with lanes: while all slots are taken, the first lane goes first."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from adapter.model import Lane

_LANES: Final = tuple(Lane)


class LaneGate:
    """So many slots. Use it within one event loop."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {lane: deque() for lane in _LANES}

    @asynccontextmanager
    async def slot(self, lane: Lane) -> AsyncIterator[None]:
        """Wait for a slot and keep it for the block; within a lane, in the order of arrival."""
        await self._acquire(lane)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, lane: Lane) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting[lane].remove(turn)
            else:
                # The slot was given just when the wait was cancelled.
                self._release()
            raise

    def _release(self) -> None:
        for lane in _LANES:
            for turn in self._waiting[lane]:
                if not turn.done():
                    self._waiting[lane].remove(turn)
                    turn.set_result(None)
                    return
        self._free += 1
