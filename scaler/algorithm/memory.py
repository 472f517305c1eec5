"""What an autoscaler remembers between reconciles: immutable. Its stored form is `scaler.algorithm.history`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scaler.api.history import History, Remembered


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change of the replicas that was written. It is not `confirmed` if its write got no answer: it may not have been applied."""

    before: int
    after: int
    at_unix_seconds: float
    confirmed: bool = True


class Memory(Remembered, frozen=True, kw_only=True):
    """The memory of this process."""

    unconfirmed: Change | None = None
    states: Mapping[str, Any] = {}
    """The states of extensions, by their names."""


class StoredMemory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What another process stored; `scaler.algorithm.restart.restored` continues it once the Scale is read.

    Also what this process remembers from before a time in which it did not reconcile: only then it may have an `unconfirmed` write.

    `known_replicas`: the count that the process set, if its last status reports a rescale. Otherwise the desired and the
    current count in the status: after a reconcile without a result, the second one is what it read.
    """

    history: History = History()
    known_replicas: tuple[int, ...] = ()
    unconfirmed: Change | None = None


AnyMemory = Memory | StoredMemory


def remembered(memory: AnyMemory) -> Remembered:
    """What both have in common."""
    return memory.history if isinstance(memory, StoredMemory) else memory
