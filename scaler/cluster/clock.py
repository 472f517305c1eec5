"""The clocks of one process, as values to hand over.

The objects of a program take their clocks as arguments, so that a simulation can run several
processes side by side, each with a wall clock that steps and drifts on its own.
"""

import time
from collections.abc import Callable

import msgspec


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """What a process reads the time from; by default the operating system's clocks."""

    now: Callable[[], float] = time.time
    """Unix seconds. May step in either direction."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds since some moment. Never goes back."""

    def steady_now(self) -> Callable[[], float]:
        """A reader of Unix seconds that, from now on, neither jumps nor goes back."""
        difference_seconds = self.now() - self.monotonic()
        return lambda: self.monotonic() + difference_seconds


SYSTEM_CLOCK = Clock()
