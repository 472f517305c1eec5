"""When each autoscaler is looked at: a timetable, and the workers that keep it.

Upstream: the rate-limited queue of `podautoscaler` (rate_limiters.go, horizontal.go). Kept from it:
the first look is one period after an autoscaler appears, a change of it does not bring the next look
forward, a look never runs twice at once for one autoscaler, an error is not retried before the next
look. Different: looks keep to a fixed beat instead of drifting by their own duration, and the
autoscalers found at the start are spread over the first period instead of all coming at its end.
"""

import asyncio
import heapq
import logging
import random
import time
from collections.abc import Awaitable, Callable

from scaler.telemetry import Telemetry

log = logging.getLogger(__name__)

# A leader that loses its Lease has five seconds (15 less 10) before another may begin.
DRAIN_SECONDS = 3.0
# The least share of a period between two looks: time for the watch to bring back what the first one wrote.
REST_PERIODS = 0.05

Look = Callable[[str], Awaitable[bool]]
"""One look at the autoscaler of this key (`namespace/name`); False when it is gone."""


class Timetable:
    """Which key is due when. Holds no clock: `now_seconds` is an argument, on any scale that only grows."""

    def __init__(
        self, period_seconds: float, *, chance: Callable[[], float] = random.random
    ) -> None:
        """`chance` gives numbers from 0 up to 1."""
        self._period_seconds = period_seconds
        self._chance = chance
        self._due_seconds: dict[str, float] = {}
        self._queue: list[tuple[float, str]] = []
        self._running: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._due_seconds.keys() | self._running.keys())

    def add(self, key: str, now_seconds: float, *, spread: bool = False) -> None:
        """Expect a look in one period, or with `spread` somewhere within one. A key that waits keeps its time."""
        if key in self._due_seconds or key in self._running:
            return
        share = 1 - self._chance() if spread else 1
        self._schedule(key, now_seconds + share * self._period_seconds)

    def take(self, now_seconds: float) -> tuple[str, float] | None:
        """The key that has been due longest, and since when; it runs until `done`. None: nothing is due."""
        self._drop_outdated()
        if not self._queue or self._queue[0][0] > now_seconds:
            return None
        due_seconds, key = heapq.heappop(self._queue)
        del self._due_seconds[key]
        self._running[key] = due_seconds
        return key, due_seconds

    def done(self, key: str, now_seconds: float, *, again: bool) -> None:
        """The look is over. `again`: the next is on the beat; beats that were missed stay missed.

        So does one that comes at once: its look would find the autoscaler as it was before our own
        write of the status, and fail to write another.
        """
        due_seconds = self._running.pop(key)
        if not again:
            return
        rested_seconds = now_seconds + REST_PERIODS * self._period_seconds
        missed = max(0, int((rested_seconds - due_seconds) // self._period_seconds))
        self._schedule(key, due_seconds + (missed + 1) * self._period_seconds)

    @property
    def next_due_seconds(self) -> float | None:
        """When `take` will have something."""
        self._drop_outdated()
        return self._queue[0][0] if self._queue else None

    def clear(self) -> None:
        """Forget every key that waits, for one who is no longer in charge."""
        self._due_seconds.clear()
        self._queue.clear()

    def _schedule(self, key: str, due_seconds: float) -> None:
        self._due_seconds[key] = due_seconds
        heapq.heappush(self._queue, (due_seconds, key))

    def _drop_outdated(self) -> None:
        while self._queue and self._due_seconds.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)


class Controller:
    """Starts the looks of a timetable when they are due, so many at a time."""

    def __init__(
        self,
        timetable: Timetable,
        look: Look,
        telemetry: Telemetry,
        *,
        concurrent: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timetable = timetable
        self._look = look
        self._telemetry = telemetry
        self._monotonic = monotonic
        self._free = asyncio.Semaphore(concurrent)
        self._running: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    def expect(self, key: str, *, spread: bool = False) -> None:
        """An autoscaler has appeared or changed: make sure that it will be looked at."""
        self._timetable.add(key, self._monotonic(), spread=spread)
        self._changed.set()

    async def run(self) -> None:
        """Work for ever; when cancelled, looks that have begun may end first, for a few seconds."""
        try:
            while True:
                key, due_seconds = await self._next()
                task = asyncio.create_task(self._work(key, due_seconds), name=f"look at {key}")
                self._running.add(task)
                task.add_done_callback(self._running.discard)
        finally:
            self._timetable.clear()
            await self._drain()

    async def _work(self, key: str, due_seconds: float) -> None:
        self._telemetry.lateness_seconds.observe(max(0.0, self._monotonic() - due_seconds))
        again = True
        try:
            again = await self._look(key)
        except Exception:
            # A bug, since everything foreseen is a value: tell it and keep the others going.
            log.exception("the look at %s failed", key)
            self._telemetry.crashes_total.inc()
        finally:
            self._timetable.done(key, self._monotonic(), again=again)
            self._free.release()
            self._changed.set()

    async def _next(self) -> tuple[str, float]:
        """The next key that is due, with a place for its look."""
        await self._free.acquire()
        try:
            while (taken := self._timetable.take(self._monotonic())) is None:
                await self._pause()
        except asyncio.CancelledError:
            self._free.release()
            raise
        return taken

    async def _pause(self) -> None:
        """Until something is due or the timetable changes."""
        due_seconds = self._timetable.next_due_seconds
        wait_seconds = None if due_seconds is None else max(0.0, due_seconds - self._monotonic())
        self._changed.clear()
        try:
            async with asyncio.timeout(wait_seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _drain(self) -> None:
        if not self._running:
            return
        _, unfinished = await asyncio.wait(self._running, timeout=DRAIN_SECONDS)
        for task in unfinished:
            task.cancel()
