"""Brings the next reconcile forward of autoscalers whose replica count a changed metric would change.

The metric has arrived by the stream of the adapter. Whether it changes the replica count is decided by the functions of a
reconcile, from what the last one has read. That costs CPU time and no request; a change within the tolerance, or one that
a window or a policy holds back, brings nothing forward. What only the limit of a period holds back is reconciled at its end.
It is an addition to the reconciles of each period, so an autoscaler for which it fails is left to those.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from scaler.cluster.work import Work
from wire.process.crashes import Crashes

# The part of the time that these decisions may take, and the decoding before: with very many changes some autoscalers are left to
# their period.
BUSY_RATIO: Final = 0.25
# How long they may follow each other before everything else gets its turn.
SLICE_SECONDS: Final = 0.005

# What may crash, as the log names it.
DECODING: Final = "decoding"
DECISION: Final = "decision on a changed metric"

FollowersOf = Callable[[str], Awaitable[tuple[str, ...]]]
"""Decode the new response of this path; the keys of the autoscalers that are decided from it."""
RescaleDue = Callable[[str], float]
"""From when on a reconcile of the autoscaler might change its replica count, by the monotonic clock; infinite if none would."""
BringForward = Callable[[str, float], None]
"""Reconcile the autoscaler at this time of the monotonic clock, or now if it has passed."""


class Reaction:
    """Run `run()` as a task, and call `changed` for each path with a new response."""

    def __init__(
        self,
        followers_of: FollowersOf,
        rescale_due: RescaleDue,
        bring_forward: BringForward,
        crashes: Crashes,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._followers_of = followers_of
        self._rescale_due = rescale_due
        self._bring_forward = bring_forward
        self._crashes = crashes
        self._monotonic = monotonic
        self._sleep = sleep
        # In the order of their changes; a path that changes again keeps its place.
        self._changed: OrderedDict[str, None] = OrderedDict()
        self._has_changes = asyncio.Event()
        # Since the last pause. Only decoding and decisions count, not the time in which other tasks had their turn.
        self._busy_seconds = 0.0

    def changed(self, path: str) -> None:
        """The adapter has sent another response for it."""
        self._changed[path] = None
        self._has_changes.set()

    async def run(self) -> None:
        """Ends only by cancellation."""
        while True:
            await self._has_changes.wait()
            self._has_changes.clear()
            while self._changed:
                path, _ = self._changed.popitem(last=False)
                await self._react(path)
                await self._sleep(0)

    async def _react(self, path: str) -> None:
        work = Work(self._monotonic)
        for key in await work.of(self._keys(path)):
            began_at_seconds = self._monotonic()
            self._decide(key)
            work.add_step(began_at_seconds)
            await self._leave_time(work)
        await self._leave_time(work)

    async def _leave_time(self, work: Work) -> None:
        """Pause after a slice of work, for as long as everything else is to have its turn."""
        self._busy_seconds += work.seconds
        work.seconds = 0.0
        if self._busy_seconds > SLICE_SECONDS:
            pause_seconds = self._busy_seconds * (1 / BUSY_RATIO - 1)
            self._busy_seconds = 0.0
            await self._sleep(pause_seconds)

    async def _keys(self, path: str) -> tuple[str, ...]:
        try:
            return await self._followers_of(path)
        except Exception as error:
            self._crashes.note(DECODING, "changed metrics", error)
            return ()

    def _decide(self, key: str) -> None:
        try:
            due_seconds = self._rescale_due(key)
            if due_seconds < math.inf:
                self._bring_forward(key, due_seconds)
        except Exception as error:
            self._crashes.note(DECISION, key, error)
        else:
            self._crashes.ended(DECISION, key)
