"""A clock and an event loop that run faster than real time, in all processes of this machine alike."""

import asyncio
import selectors
import time

import msgspec

from scaler.cluster.clock import Clock


class CompressedTime(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed time stands still until `begins_at_seconds` of the monotonic clock of this machine."""

    speed: float
    start_unix_seconds: float
    begins_at_seconds: float

    def elapsed_at(self, monotonic_seconds: float) -> float:
        """The compressed seconds since the beginning."""
        return self.speed * max(0.0, monotonic_seconds - self.begins_at_seconds)

    def elapsed(self) -> float:
        """The compressed seconds since the beginning, now."""
        return self.elapsed_at(time.monotonic())

    def now(self) -> float:
        """Compressed Unix seconds, now."""
        return self.start_unix_seconds + self.elapsed()

    def real_seconds_until(self, unix_seconds: float) -> float:
        """How long it takes until then; 0 if that is past."""
        elapsed = (unix_seconds - self.start_unix_seconds) / self.speed
        return max(0.0, self.begins_at_seconds + elapsed - time.monotonic())

    @property
    def clock(self) -> Clock:
        """For a program."""
        return Clock(now=self.now, monotonic=self.elapsed)


class CompressedLoop(asyncio.SelectorEventLoop):
    """asyncio's event loop: timers and deadlines are in compressed seconds."""

    def __init__(self, compressed: CompressedTime) -> None:
        super().__init__(_CompressedSelector(compressed.speed))
        self._compressed = compressed

    def time(self) -> float:
        """Compressed seconds since the beginning."""
        return self._compressed.elapsed()


class _CompressedSelector(selectors.DefaultSelector):
    """Waits for so many compressed seconds."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, at the latest after `timeout` compressed seconds."""
        return super().select(None if timeout is None else timeout / self._speed)
