"""PURE: events that wait to be written. Normal events come first, and one event waits once.

A cluster in which thousands of autoscalers fail has far more Warning events than may be written. They
must not delay, or push out, the events that say what was scaled. An event that happens again while it
waits only raises the count of the one that waits. The events of one object stay in their order: what has failed
before it was scaled is written before the event that says so.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from scaler.cluster.events.correlation import Write
from wire.api.meta import ObjectReference

NORMAL: Final = "Normal"

_Key = tuple[str, str]
"""Namespace and name of an event."""
_About = tuple[str, str, str]
"""Kind, namespace and name of its object."""


PLACE_CHARACTERS: Final = 1_024
"""Of a message, for each place that its event takes beside the first one."""


class EventQueueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many places there are: two for each of 5,000 autoscalers.

    An event takes one, which is about 1 KB, or more with a long message.
    """

    normal: int = 10_000
    warning: int = 10_000


class EventQueue:
    """At most so many writes, each for another event."""

    def __init__(self, limits: EventQueueLimits | None = None) -> None:
        self._limits = limits or EventQueueLimits()
        # Normal events, and the Warnings of their objects that were recorded before them.
        self._first: OrderedDict[_Key, Write] = OrderedDict()
        self._warning: OrderedDict[_Key, Write] = OrderedDict()
        self._warnings_of: dict[_About, list[_Key]] = {}
        # How many are taken by events of each type.
        self._normal_places = 0
        self._warning_places = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._warning)

    def put(self, write: Write) -> bool:
        """Add a write, or merge it into the one of the same event. False: there is no space."""
        key = (write.event.metadata.namespace, write.event.metadata.name)
        waiting = self._first if key in self._first else self._warning
        before = waiting.get(key)
        if before is not None:
            if not self._take_places(write, _places(write) - _places(before)):
                return False
            # What does not exist yet is created with the new count instead of being patched.
            waiting[key] = Write(event=write.event) if before.patch is None else write
            return True
        if not self._take_places(write, _places(write)):
            return False
        if _is_normal(write):
            self._put_normal(key, write)
        else:
            self._put_warning(key, write)
        return True

    def pop(self) -> Write:
        """The next write: the oldest Normal event, else the oldest other one. Raises `KeyError` when empty."""
        if self._first:
            _, write = self._first.popitem(last=False)
            self._take_places(write, -_places(write))
            return write
        key, write = self._warning.popitem(last=False)
        self._take_places(write, -_places(write))
        about = _about(write.event.involved_object)
        others = self._warnings_of[about]
        others.remove(key)
        if not others:
            del self._warnings_of[about]
        return write

    def _take_places(self, write: Write, count: int) -> bool:
        """Take so many, or give them back; False, if there are not so many for events of this type."""
        if _is_normal(write):
            if self._normal_places + count > self._limits.normal:
                return False
            self._normal_places += count
        else:
            if self._warning_places + count > self._limits.warning:
                return False
            self._warning_places += count
        return True

    def _put_normal(self, key: _Key, write: Write) -> None:
        for each in self._warnings_of.pop(_about(write.event.involved_object), ()):
            self._first[each] = self._warning.pop(each)
        self._first[key] = write

    def _put_warning(self, key: _Key, write: Write) -> None:
        self._warning[key] = write
        self._warnings_of.setdefault(_about(write.event.involved_object), []).append(key)


def _places(write: Write) -> int:
    return 1 + len(write.event.message) // PLACE_CHARACTERS


def _is_normal(write: Write) -> bool:
    return write.event.type == NORMAL


def _about(involved: ObjectReference) -> _About:
    return involved.kind, involved.namespace, involved.name
