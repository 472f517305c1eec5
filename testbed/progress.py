"""Progress of a build: one line per program, updated in place on a terminal."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

NAME_WIDTH = 24
TERMINAL_WIDTH = 100


class Step:
    """One program being built."""

    def __init__(self, progress: "Progress", name: str) -> None:
        self._progress = progress
        self.name = name
        self.detail = "checking the build cache"
        self.started_at = time.monotonic()

    @property
    def elapsed_seconds(self) -> float:
        """Time since the step started."""
        return time.monotonic() - self.started_at

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._progress.line(self.name, text)

    def show(self, text: str) -> None:
        """Show a transient detail, such as the package being compiled; only on a terminal."""
        self.detail = text


class Progress:
    """Writes to `stream`; only a terminal gets the transient line."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._alive = stream.isatty()
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._clear()
            print(f"{name:<{NAME_WIDTH}} {text}", file=self._stream, flush=True)

    def ready(self, name: str, path: Path) -> None:
        """The program had been built before."""
        self.line(name, f"ready: {path}")

    @contextmanager
    def working(self, name: str) -> Iterator[Step]:
        """Update the transient line while the block runs, then print how long it took."""
        step = Step(self, name)
        done = threading.Event()
        painter = threading.Thread(target=self._paint, args=(step, done), daemon=True)
        if self._alive:
            painter.start()
        try:
            yield step
        finally:
            done.set()
            if self._alive:
                painter.join()
        step.say(f"done in {step.elapsed_seconds:.0f} s")

    def _paint(self, step: Step, done: threading.Event) -> None:
        while not done.wait(0.2):
            text = f"{step.name:<{NAME_WIDTH}} {step.elapsed_seconds:4.0f} s  {step.detail}"
            with self._lock:
                self._clear()
                self._stream.write(text[:TERMINAL_WIDTH])
                self._stream.flush()

    def _clear(self) -> None:
        if self._alive:
            self._stream.write("\r\x1b[K")
