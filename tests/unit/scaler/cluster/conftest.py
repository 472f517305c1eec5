"""Time that passes only when a test says so."""

import asyncio
import heapq
import itertools

import pytest


class VirtualTime:
    """A clock and a sleep that belong together."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Let time pass; every sleeper wakes at its time and runs until it sleeps again."""
        end = self.seconds + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.seconds, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
            await self.settle()
        self.seconds = end

    async def settle(self) -> None:
        """Run everything that is ready."""
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()
