"""A bound on concurrent requests to a backend, with lanes: while all slots are taken, the first lane goes first."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from adapter.model import Lane

_LANES: Final = tuple(Lane)


class LaneGate:
    """So many slots. Use it within one event loop."""

    def __init__(self, slots: int, *, held_seconds: float | None = None) -> None:
        """`held_seconds`: for how long a block has its slot. The block may go on after that, without one; None: to its end."""
        self._free = slots
        self._held_seconds = held_seconds
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {lane: deque() for lane in _LANES}

    @asynccontextmanager
    async def slot(self, lane: Lane) -> AsyncIterator[None]:
        """Wait for a slot and keep it for the block; within a lane, in the order of arrival."""
        await self._acquire(lane)
        slot = _Slot(self._release)
        timer: asyncio.TimerHandle | None = None
        if self._held_seconds is not None:
            timer = asyncio.get_running_loop().call_later(self._held_seconds, slot.give_back)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            slot.give_back()

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


class _Slot:
    """One that is given back once."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._release()
