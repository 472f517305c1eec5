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
# If so many scales were written while it waited, it waits again, so many times in all. With fewer, as when 10,000 autoscalers
# are scaled at different times, statuses would wait without making any scale sooner.
DENSE_SCALES: Final = 100
DENSE_WAITS_MAX: Final = 3


def wait_seconds_max(period_seconds: float) -> float:
    """How long a status of an autoscaler with this period may wait at once."""
    return min(WAIT_PERIODS_MAX * period_seconds, WAIT_SECONDS_MAX)


class Burst:
    """The scales that are written shortly after each other, of all autoscalers."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last_scale_at_seconds = -math.inf
        self._scales_count = 0
        self._ended = asyncio.Event()
        # One timer for all that wait: with one each, thousands would wake up five times a second.
        self._timer: asyncio.TimerHandle | None = None

    async def over(self, seconds_max: float) -> None:
        """A scale was written. Wait until no other one was for `QUIET_SECONDS`, but at most so long, or a few times that in a dense burst."""
        ended = self._ended
        self._last_scale_at_seconds = self._monotonic()
        self._scales_count += 1
        if self._timer is None:
            self._wake_after(QUIET_SECONDS)
        for _ in range(DENSE_WAITS_MAX):
            before = self._scales_count
            await _set_within(ended, seconds_max)
            if ended.is_set() or self._scales_count < before + DENSE_SCALES:
                return

    def hurry(self) -> None:
        """Let all statuses that wait be written now."""
        self._ended.set()
        self._ended = asyncio.Event()

    def _wake_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._end_if_quiet)

    def _end_if_quiet(self) -> None:
        self._timer = None
        left_seconds = self._last_scale_at_seconds + QUIET_SECONDS - self._monotonic()
        if left_seconds > 0:
            self._wake_after(left_seconds)
        else:
            self.hurry()


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
