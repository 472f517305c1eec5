"""Many autoscalers are scaled together: their statuses wait until their scales are written.

kube-apiserver needs as long for a status as for a scale. If each status followed its scale, the last of 500 targets would be
scaled after twice the time. For each autoscaler the order stays that of upstream: its scale, then its event and its status.

A process that ends while statuses wait leaves scales without their statuses, for each autoscaler as one that ends between both
writes of a reconcile: what was decided before is stored, and `scaler.algorithm.restart` continues from that and the count
that it finds. An autoscaler is not reconciled again before its status was written, so no more than one change is missing.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

# The burst is over when no scale was written for this long.
QUIET_SECONDS: Final = 0.2
# How long a status waits at most: this share of the period of its autoscaler, but no longer than of 15 s. The autoscaler is
# not reconciled meanwhile, also if its spec changes.
WAIT_PERIODS_MAX: Final = 0.15
WAIT_SECONDS_MAX: Final = 2.25


def wait_seconds_max(period_seconds: float) -> float:
    """How long a status of an autoscaler with this period may wait."""
    return min(WAIT_PERIODS_MAX * period_seconds, WAIT_SECONDS_MAX)


class Burst:
    """The scales that are written shortly after each other, of all autoscalers."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last_scale_at_seconds = -math.inf
        self._hurried = asyncio.Event()

    async def over(self, seconds_max: float) -> None:
        """A scale was written. Wait until no other one was for `QUIET_SECONDS`, but at most so long."""
        hurried = self._hurried
        self._last_scale_at_seconds = self._monotonic()
        latest_seconds = self._last_scale_at_seconds + seconds_max
        while not hurried.is_set():
            over_at_seconds = min(self._last_scale_at_seconds + QUIET_SECONDS, latest_seconds)
            wait_seconds = over_at_seconds - self._monotonic()
            if wait_seconds <= 0:
                return
            await _set_within(hurried, wait_seconds)

    def hurry(self) -> None:
        """Let all statuses that wait be written now."""
        self._hurried.set()
        self._hurried = asyncio.Event()


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
