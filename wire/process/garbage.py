"""Shorter pauses of the garbage collector where very many objects live for long.

A full collection of CPython checks all containers in one step: 0.3 µs for each, three seconds with 30,000 autoscalers, and it begins
whenever their number has grown by a quarter. Nearly all of them are freed by their reference counts, without the collector. So
what survives a collection that takes long is frozen, and the next ones do not check it.

When it is wrong: a cycle that was frozen while it was in use is not freed afterwards. So when the collections since the last complete
one have taken as long as that one, the next one is complete. About as many objects may be frozen garbage as are alive.
"""

import gc
import time
from collections.abc import Callable
from typing import Final, Protocol

LONG_SECONDS: Final = 0.02
"""70,000 objects. After shorter collections, nothing is frozen: large requests of clients are alive for a moment."""
IMPORTED_SECONDS: Final = 0.1
"""What a complete collection takes of a program that has read nothing yet."""

_FULL: Final = 2


class Collector(Protocol):
    """What is used of the module `gc`."""

    def freeze(self) -> None:
        """Ignore all objects that exist."""
        ...

    def unfreeze(self) -> None:
        """The opposite."""
        ...

    def get_freeze_count(self) -> int:
        """How many objects are ignored."""
        ...


class Survivors:
    """What survives long collections. Add `collected` to `gc.callbacks`."""

    def __init__(
        self,
        collector: Collector = gc,
        busy_seconds: Callable[[], float] = time.thread_time,
    ) -> None:
        """Everything that exists is frozen: what was imported stays as long as the program.

        `busy_seconds`: the processor time of the thread. By another clock, a busy machine would make short collections long.
        """
        self._collector = collector
        self._busy_seconds = busy_seconds
        self._began_seconds = 0.0
        self._complete_seconds = IMPORTED_SECONDS
        self._since_seconds = 0.0
        """What the long collections since the last complete one have taken."""
        self._is_complete = False
        collector.freeze()

    def collected(self, phase: str, facts: dict[str, int]) -> None:
        """A collection starts or stops."""
        if facts["generation"] != _FULL:
            return
        now_seconds = self._busy_seconds()
        if phase == "start":
            self._began_seconds = now_seconds
            return
        seconds = now_seconds - self._began_seconds
        if self._is_complete:
            self._completed(seconds, facts["collected"])
        elif seconds >= LONG_SECONDS:
            self._since_seconds += seconds
            self._keep()

    def _completed(self, seconds: float, freed: int) -> None:
        self._collector.freeze()
        left = self._collector.get_freeze_count()
        # Without what the garbage has taken, or more of it would be allowed each time.
        self._complete_seconds = max(IMPORTED_SECONDS, seconds * left / max(1, left + freed))
        self._since_seconds = 0.0
        self._is_complete = False

    def _keep(self) -> None:
        if self._since_seconds <= self._complete_seconds:
            self._collector.freeze()
            return
        # A callback cannot start a collection. Python starts the next one soon, because few objects have survived this one.
        self._collector.unfreeze()
        self._is_complete = True
