"""Short pauses of the garbage collector, however many objects live for long.

Before Python 3.14, a full collection checks all containers in one step: 0.3 µs for each, three seconds with 30,000 autoscalers, and it
begins whenever their number has grown by a quarter. Nearly all of them are freed by their reference counts, without the collector. So
what survives a collection that takes long is frozen, and later ones do not check it. Cycles of frozen objects are not freed:
when twice as many objects are frozen as the last complete collection has left, the next one is complete.
"""

import gc
import time
from collections.abc import Callable
from typing import Final, Protocol

LONG_SECONDS: Final = 0.02
"""70,000 objects. After shorter collections, nothing is frozen: large requests of clients are alive for a moment."""
GROWTH_MAX: Final = 2.0

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
        self, collector: Collector = gc, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Everything that exists is frozen: what was imported stays as long as the program."""
        self._collector = collector
        self._monotonic = monotonic
        self._began_at = float("-inf")
        collector.freeze()
        self._left = collector.get_freeze_count()
        """By the last complete collection."""
        self._is_complete = False

    def collected(self, phase: str, facts: dict[str, int]) -> None:
        """A collection starts or stops."""
        if facts["generation"] != _FULL:
            return
        if phase == "start":
            self._began_at = self._monotonic()
        elif self._is_complete or self._monotonic() - self._began_at >= LONG_SECONDS:
            self._keep()

    def _keep(self) -> None:
        self._collector.freeze()
        frozen = self._collector.get_freeze_count()
        if self._is_complete:
            self._left = frozen
        self._is_complete = frozen > GROWTH_MAX * self._left
        if self._is_complete:
            # A callback cannot start a collection. Python starts the next one soon, because few objects have survived this one.
            self._collector.unfreeze()
