"""What a command that takes longer than two seconds is doing: one line on stderr, on a terminal only.

It says what was done and what is being done, and how much is left only where that is known.
"""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, NamedTuple, TextIO

from wire.process.command_line.messages import printable

QUIET_SECONDS: Final = 2.0
REDRAWN_SECONDS: Final = 0.2

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a part, how much of it is done, and of how much; None if that is not known."""


class _Wait(NamedTuple):
    what: str
    began_seconds: float


class ProgressLine:
    """The line. It is empty for the first two seconds, and whenever something else is printed."""

    def __init__(
        self, stream: TextIO | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`stream` is stderr, if it is not given."""
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._monotonic = monotonic
        self._started_seconds = monotonic()
        self._drawn_seconds = -REDRAWN_SECONDS
        self._width = 0
        self._done = 0
        self._waits: list[_Wait] = []

    def draw(self, text: str) -> None:
        """Replace the line, unless it was replaced a moment ago."""
        now = self._monotonic()
        early = now - self._started_seconds < QUIET_SECONDS
        if not self._is_shown or early or now - self._drawn_seconds < REDRAWN_SECONDS:
            return
        shown = printable(text)[: shutil.get_terminal_size().columns - 1]
        # Spaces erase the rest of the line before, also on a terminal without escape sequences.
        self._stream.write(f"\r{shown.ljust(self._width)}")
        self._stream.flush()
        self._drawn_seconds, self._width = now, len(shown)

    def clear(self) -> None:
        """Erase the line, so that something else can be printed."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()
        self._width = 0
        self._drawn_seconds = -REDRAWN_SECONDS

    def end(self) -> None:
        """Show nothing from now on."""
        self.clear()
        self._is_shown = False

    @contextlib.asynccontextmanager
    async def waiting_for(self, what: str) -> AsyncIterator[None]:
        """While it waits: for what, for how long, and how many such steps are done."""
        wait = _Wait(what, self._monotonic())
        self._waits.append(wait)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            self._waits.remove(wait)
            self.clear()
            self._done += 1

    async def _tick(self) -> None:
        while self._waits:
            # The last one is the part of the others that is being done.
            what, began_seconds = self._waits[-1]
            self.draw(f"{self._done} done; {what}, {self._monotonic() - began_seconds:.0f} s")
            await asyncio.sleep(REDRAWN_SECONDS)


@contextlib.contextmanager
def shown_progress(line: ProgressLine | None = None) -> Iterator[Progress]:
    """For work in parts: the part that is being done, and how much of it."""
    drawn = line or ProgressLine()

    def show(name: str, done: int, of: int | None) -> None:
        drawn.draw(f"{name}: {done} done" if of is None else f"{name}: {done} of {of} done")

    try:
        yield show
    finally:
        drawn.clear()
