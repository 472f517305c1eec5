"""The memories of one process: kept between reconciles, read from the statuses after a restart.

A memory belongs to one object, so an autoscaler that was deleted and created again starts without. Its times are
those of the wall clock, because the next process has only that. When the wall clock steps, they step along.
"""

from collections.abc import Callable

import msgspec

from scaler.model.autoscaler import Autoscaler
from scaler.model.kinds import WatchedKind
from scaler.model.memory import Memory
from scaler.normalize.restart import restores_alike, shifted
from scaler.report.status import stored_memory
from wire.clock import Clock
from wire.kube.requests import Reader

# Below that, a clock is being slewed, or was read a moment later than the other one.
STEP_SECONDS_MIN = 0.5
# Below that, two machines' clocks agree: their difference is known to a few seconds only.
DIFFERENCE_SECONDS_MIN = 5.0


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`clock_difference_seconds`: wall clock less monotonic clock, when the reconcile began that made this memory."""

    uid: str
    memory: Memory
    stored: Memory | None
    clock_difference_seconds: float


class Memories:
    """One memory per autoscaler, by `namespace/name`."""

    def __init__(
        self,
        kube: Reader,
        kind: WatchedKind,
        clock: Clock,
        *,
        other_clock_ahead_seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`other_clock_ahead_seconds`: of the process that stored the memories, if it is known."""
        self._kube = kube
        self._kind = kind
        self._clock = clock
        self._other_clock_ahead_seconds = other_clock_ahead_seconds
        self._kept: dict[str, _Kept] = {}

    async def of(self, autoscaler: Autoscaler) -> Memory:
        """The memory to reconcile with: this process', else the stored one, else an empty one.

        Raises `StatusError`, `Unavailable` and `msgspec.DecodeError`.
        """
        kept = self._kept.get(autoscaler.key)
        if kept is not None and kept.uid == autoscaler.metadata.uid:
            return self._at_current_time(autoscaler.key, kept).memory
        if not self._kind.keeps_history:
            self._keep(autoscaler, Memory(), None)
            return Memory()
        path = self._kind.object(autoscaler.metadata.namespace, autoscaler.metadata.name)
        stored = stored_memory(await self._kube.get(path))
        ahead_seconds = self._other_clock_ahead_seconds()
        memory = stored
        if abs(ahead_seconds) >= DIFFERENCE_SECONDS_MIN:
            memory = shifted(stored, -ahead_seconds)
        self._keep(autoscaler, memory, stored)
        return memory

    def keep(self, autoscaler: Autoscaler, memory: Memory) -> None:
        """Remember this after a reconcile that began with `of`, unless all was forgotten meanwhile."""
        kept = self._kept.get(autoscaler.key)
        if kept is not None:
            self._kept[autoscaler.key] = msgspec.structs.replace(kept, memory=memory)

    def must_store(self, autoscaler: Autoscaler, memory: Memory) -> bool:
        """Whether a restart could not continue from what is stored."""
        if not self._kind.keeps_history:
            return False
        stored = self._stored(autoscaler)
        return stored is None or not restores_alike(stored, memory)

    def must_store_zero(self, autoscaler: Autoscaler, memory: Memory) -> bool:
        """Whether a restart would take the zero that is about to be written for a user's."""
        if not self._kind.keeps_history or not memory.scaled_to_zero:
            return False
        stored = self._stored(autoscaler)
        return stored is None or not stored.scaled_to_zero

    def was_stored(self, autoscaler: Autoscaler, memory: Memory) -> None:
        """The status was written with this memory."""
        kept = self._kept.get(autoscaler.key)
        if kept is not None:
            self._kept[autoscaler.key] = msgspec.structs.replace(kept, stored=memory)

    def forget(self, key: str) -> None:
        """The autoscaler was deleted."""
        self._kept.pop(key, None)

    def clear(self) -> None:
        """Another process may scale from now on, so these become out of date."""
        self._kept.clear()

    def _stored(self, autoscaler: Autoscaler) -> Memory | None:
        kept = self._kept.get(autoscaler.key)
        return kept.stored if kept else None

    def _keep(self, autoscaler: Autoscaler, memory: Memory, stored: Memory | None) -> None:
        self._kept[autoscaler.key] = _Kept(
            uid=autoscaler.metadata.uid,
            memory=memory,
            stored=stored,
            clock_difference_seconds=self._clock_difference_seconds(),
        )

    def _at_current_time(self, key: str, kept: _Kept) -> _Kept:
        """The same, after a step of the wall clock with the same ages. What is stored has not changed with it."""
        difference = self._clock_difference_seconds()
        stepped_seconds = difference - kept.clock_difference_seconds
        if abs(stepped_seconds) < STEP_SECONDS_MIN:
            return kept
        kept = msgspec.structs.replace(
            kept,
            memory=shifted(kept.memory, stepped_seconds),
            clock_difference_seconds=difference,
        )
        self._kept[key] = kept
        return kept

    def _clock_difference_seconds(self) -> float:
        return self._clock.now() - self._clock.monotonic()
