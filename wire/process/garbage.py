"""Shorter pauses of the garbage collector where very many objects live for long.

A full collection of CPython checks all containers in one step: 0.3 µs for each, three seconds with 30,000 autoscalers, and it begins
whenever their number has grown by a quarter. Nearly all of them are freed by their reference counts, without the collector. So
what survives a collection that takes long is frozen, and the next ones do not check it.

When it is wrong: a cycle that was frozen while it was in use is not freed afterwards. So the next collection is complete when
the program has grown by half since the last complete one, whether with garbage or with what it needs, and at the latest after a
thousand, since few cycles may hold large buffers. Where collections are incremental (CPython 3.14.0 to 3.14.4), none is full, and
only what was imported is frozen.
"""

import gc
import sys
import time
from collections.abc import Callable
from typing import Final, Protocol

LONG_SECONDS: Final = 0.02
"""70,000 objects. After shorter collections, nothing is frozen: large requests of clients are alive for a moment."""
GROWTH_RATIO: Final = 1.5
"""From one complete collection to the next. While a program grows, they take three times as long together as the last one."""
COLLECTIONS_MAX: Final = 1_000
"""From one complete collection to the next: two hours with 30,000 autoscalers."""

_FULL: Final = 2


class Collector(Protocol):
    """What is used of the module `gc`."""

    def freeze(self) -> None:
        """Ignore all objects that exist."""
        ...

    def unfreeze(self) -> None:
        """The opposite."""
        ...


class Survivors:
    """What survives long collections. Add `collected` to `gc.callbacks`."""

    def __init__(
        self,
        collector: Collector = gc,
        busy_seconds: Callable[[], float] = time.thread_time,
        allocated: Callable[[], int] = sys.getallocatedblocks,
    ) -> None:
        """Everything that exists is frozen: what was imported stays as long as the program.

        `busy_seconds`: the processor time of the thread. By another clock, a busy machine would make short collections long.
        `allocated`: the blocks of memory that are in use. Counting them takes a thousandth of the time of a complete collection.
        """
        self._collector = collector
        self._busy_seconds = busy_seconds
        self._allocated = allocated
        self._began_seconds = 0.0
        self._is_complete = False
        self._complete_blocks = allocated()
        """The fewest since the last complete collection."""
        self._since_complete = 0
        """Long collections."""
        collector.freeze()

    def collected(self, phase: str, facts: dict[str, int]) -> None:
        """A collection starts or stops."""
        if facts["generation"] != _FULL:
            return
        if phase == "start":
            self._began_seconds = self._busy_seconds()
        elif self._is_complete:
            self._is_complete = False
            self._since_complete = 0
            self._complete_blocks = self._allocated()
            self._collector.freeze()
        elif self._busy_seconds() - self._began_seconds >= LONG_SECONDS:
            self._keep()

    def _keep(self) -> None:
        blocks = self._allocated()
        self._since_complete += 1
        # Otherwise garbage could fill what the program has needed once.
        self._complete_blocks = min(self._complete_blocks, blocks)
        has_grown = blocks > GROWTH_RATIO * self._complete_blocks
        if not has_grown and self._since_complete < COLLECTIONS_MAX:
            self._collector.freeze()
            return
        # A callback cannot start a collection. Python starts the next one soon, because few objects have survived this one.
        self._collector.unfreeze()
        self._is_complete = True
