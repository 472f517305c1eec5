"""PURE: events that wait to be written. Normal events come first, and one event waits once.

A cluster in which thousands of autoscalers fail has far more Warning events than may be written. They
must not delay, or push out, the events that say what was scaled. An event that happens again while it
waits only raises the count of the one that waits.
"""

from typing import Final

import msgspec

from scaler.cluster.events.correlation import Write

NORMAL: Final = "Normal"


class EventQueueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many events may wait: two for each of 5,000 autoscalers. An event takes about 1 KB."""

    normal: int = 10_000
    warning: int = 10_000


class EventQueue:
    """At most so many writes, each for another event."""

    def __init__(self, limits: EventQueueLimits | None = None) -> None:
        self._limits = limits or EventQueueLimits()
        self._normal: dict[tuple[str, str], Write] = {}
        self._warning: dict[tuple[str, str], Write] = {}

    def __len__(self) -> int:
        return len(self._normal) + len(self._warning)

    def put(self, write: Write) -> bool:
        """Add a write, or merge it into the one of the same event. False: there is no space."""
        is_normal = write.event.type == NORMAL
        waiting = self._normal if is_normal else self._warning
        key = (write.event.metadata.namespace, write.event.metadata.name)
        before = waiting.get(key)
        if before is not None:
            # What does not exist yet is created with the new count instead of being patched.
            waiting[key] = Write(event=write.event) if before.patch is None else write
            return True
        if len(waiting) >= (self._limits.normal if is_normal else self._limits.warning):
            return False
        waiting[key] = write
        return True

    def pop(self) -> Write:
        """The next write: the oldest Normal event, else the oldest other one. Raises `KeyError` when empty."""
        waiting = self._normal or self._warning
        return waiting.pop(next(iter(waiting), ("", "")))
