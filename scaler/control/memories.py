"""The memories of one process: kept between reconciles, and read from what the previous leader stored.

A LoadAutoscaler has its memory in its status, an HPA in a ScalingMemory.

A memory belongs to one object, so an autoscaler that was deleted and created again starts without. Its times are
those of the wall clock, because the next process has only that. When the wall clock steps, they step along.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from scaler.algorithm.decision import Outcome
from scaler.algorithm.history import memory_in
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.recommendations import continued
from scaler.algorithm.restart import on_this_clock, restores_alike, shifted, stored_shifted
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.clock import Clock
from scaler.cluster.memories.scaling_memory import StoredHistory
from scaler.cluster.status import stored_memory
from wire.kube.requests import Reader

# Below that, a clock is being slewed, or was read a moment later than the other one.
STEP_SECONDS_MIN = 0.5


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`clock_difference_seconds`: wall clock less monotonic clock, when the reconcile began that made this memory.

    `stored_replicas`: the count that was stored with the memory of an HPA.
    """

    uid: str
    memory: Memory
    stored: Memory | None
    stored_replicas: int | None = None
    clock_difference_seconds: float


class Histories(Protocol):
    """Where memories are stored that an object has no field for; `scaler.cluster.memories.store` implements it."""

    def history(self, uid: str) -> StoredHistory | None: ...

    def put(self, namespace: str, uid: str, history: StoredHistory, *, is_urgent: bool) -> None: ...

    def remove(self, uid: str) -> None: ...


class Memories:
    """One memory per autoscaler, by `namespace/name`."""

    def __init__(
        self,
        kube: Reader,
        settings: Settings,
        clock: Clock,
        *,
        store: Histories | None = None,
        other_clock_ahead_seconds: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        """`store`: for a kind without a history in its status; its times are those of this clock.

        `other_clock_ahead_seconds`: of the process that wrote the statuses of a namespace before this one, if it is known.
        """
        self._kube = kube
        self._settings = settings
        self._kind = settings.kind
        self._clock = clock
        self._store = store
        self._other_clock_ahead_seconds = other_clock_ahead_seconds
        self._kept: dict[str, _Kept] = {}
        self._stored_clock_difference_seconds: dict[str, float] = {}
        self._continued_until: dict[str, float] = {}

    async def of(self, autoscaler: Autoscaler) -> Memory:
        """The memory to reconcile with: this process', else the stored one, else an empty one.

        Raises `StatusError`, `Unavailable` and `msgspec.DecodeError`.
        """
        kept = self._kept.get(autoscaler.key)
        if kept is not None and kept.uid == autoscaler.metadata.uid:
            kept = self._with_continuation(autoscaler.key, kept)
            return self._at_current_time(autoscaler.key, kept).memory
        if kept is not None:
            self.forget(autoscaler.key)
        stored = await self._read(autoscaler)
        if stored is None:
            self._keep(autoscaler, Memory(), None)
            return Memory()
        memory = self._on_this_clock(autoscaler, stored)
        self._keep(autoscaler, memory, stored)
        return memory

    def keep(self, autoscaler: Autoscaler, outcome: Outcome, replicas: int | None) -> None:
        """Remember the memory of a reconcile that began with `of`, unless all was forgotten meanwhile.

        `replicas`: what the target has then; None if it is not known.
        """
        kept = self._kept.get(autoscaler.key)
        if kept is None:
            return
        kept = msgspec.structs.replace(kept, memory=outcome.memory)
        if self._store is not None and replicas is not None:
            seconds_max = outcome.stored_seconds_max
            kept = self._stored_apart(self._store, autoscaler, kept, replicas, seconds_max)
        self._kept[autoscaler.key] = kept

    def are_current(self, autoscaler: Autoscaler) -> bool:
        """Whether its memory is kept, and the wall clock has not been stepped since."""
        kept = self._kept.get(autoscaler.key)
        return (
            kept is not None
            and kept.uid == autoscaler.metadata.uid
            and not self._stepped_seconds(kept.clock_difference_seconds)
        )

    def continue_until(self, key: str, until_unix_seconds: float) -> None:
        """The last recommendation was made again; the memory itself is changed when it is needed."""
        self._continued_until[key] = until_unix_seconds

    def must_store(self, autoscaler: Autoscaler, outcome: Outcome) -> bool:
        """Whether a restart could not continue from what is stored."""
        if not self._kind.keeps_history:
            return False
        stored = self._stored(autoscaler)
        return stored is None or not self._restores(
            stored, outcome.memory, outcome.stored_seconds_max
        )

    def was_stored(self, autoscaler: Autoscaler, memory: Memory) -> None:
        """The status was written, of a LoadAutoscaler with this memory."""
        kept = self._kept.get(autoscaler.key)
        if kept is not None and self._kind.keeps_history:
            self._kept[autoscaler.key] = msgspec.structs.replace(kept, stored=memory)
            self._stored_clock_difference_seconds[autoscaler.key] = kept.clock_difference_seconds

    def forget(self, key: str) -> None:
        """The autoscaler was deleted."""
        kept = self._kept.pop(key, None)
        self._continued_until.pop(key, None)
        self._stored_clock_difference_seconds.pop(key, None)
        if kept is not None and self._store is not None:
            self._store.remove(kept.uid)

    def discard(self, key: str) -> None:
        """A reconcile was cancelled, so only what is stored shows which changes were made."""
        self._kept.pop(key, None)
        self._continued_until.pop(key, None)

    def clear(self, includes: Callable[[str], bool]) -> None:
        """Another process has scaled these, so their memories are out of date."""
        for key in [key for key in self._kept if includes(key)]:
            self.discard(key)
        for key in [key for key in self._stored_clock_difference_seconds if includes(key)]:
            del self._stored_clock_difference_seconds[key]

    def __iter__(self) -> Iterator[str]:
        """The keys of the autoscalers with a memory."""
        return iter(self._kept)

    async def _read(self, autoscaler: Autoscaler) -> StoredMemory | None:
        """None for a kind, or an object, of which nothing is stored."""
        if self._kind.keeps_history:
            path = self._kind.object(autoscaler.metadata.namespace, autoscaler.metadata.name)
            return stored_memory(await self._kube.get(path))
        history = self._store.history(autoscaler.metadata.uid) if self._store else None
        if history is None:
            return None
        return memory_in(history, known_replicas=(history.replicas,))

    def _on_this_clock(self, autoscaler: Autoscaler, stored: StoredMemory) -> StoredMemory:
        """What this process has stored itself is not by another one's clock, but its own may have been stepped since."""
        stored_difference = self._stored_clock_difference_seconds.get(autoscaler.key)
        if stored_difference is not None:
            stepped_seconds = self._stepped_seconds(stored_difference)
            return stored_shifted(stored, stepped_seconds) if stepped_seconds else stored
        if not self._kind.keeps_history:
            return stored
        ahead_seconds = self._other_clock_ahead_seconds(autoscaler.metadata.namespace)
        return on_this_clock(stored, ahead_seconds)

    def _stored_apart(
        self,
        store: Histories,
        autoscaler: Autoscaler,
        kept: _Kept,
        replicas: int,
        seconds_max: float,
    ) -> _Kept:
        """Store the memory of an HPA, if a restart could not continue from what is stored."""
        memory, stored = kept.memory, kept.stored
        is_known = kept.stored_replicas == replicas
        if is_known and stored is not None and self._restores(stored, memory, seconds_max):
            return kept
        history = StoredHistory(
            recommendations=memory.recommendations,
            scale_up_events=memory.scale_up_events,
            scale_down_events=memory.scale_down_events,
            scaled_to_zero=memory.scaled_to_zero,
            replicas=replicas,
        )
        has_changed = kept.stored_replicas is not None and not is_known
        # Nothing else shows another process that the scaler, not a user, wanted zero.
        goes_to_zero = memory.scaled_to_zero and not (stored and stored.scaled_to_zero)
        is_urgent = has_changed or goes_to_zero
        store.put(autoscaler.metadata.namespace, kept.uid, history, is_urgent=is_urgent)
        self._stored_clock_difference_seconds[autoscaler.key] = kept.clock_difference_seconds
        return msgspec.structs.replace(kept, stored=memory, stored_replicas=replicas)

    def _stored(self, autoscaler: Autoscaler) -> Memory | None:
        kept = self._kept.get(autoscaler.key)
        return kept.stored if kept else None

    def _keep(self, autoscaler: Autoscaler, memory: Memory, stored: StoredMemory | None) -> None:
        self._continued_until.pop(autoscaler.key, None)
        self._kept[autoscaler.key] = _Kept(
            uid=autoscaler.metadata.uid,
            memory=memory,
            stored=stored,
            stored_replicas=stored.known_replicas[0] if stored and stored.known_replicas else None,
            clock_difference_seconds=self._clock_difference_seconds(),
        )

    def _with_continuation(self, key: str, kept: _Kept) -> _Kept:
        until_unix_seconds = self._continued_until.pop(key, None)
        if until_unix_seconds is None:
            return kept
        kept = self._kept[key] = msgspec.structs.replace(
            kept, memory=continued(kept.memory, until_unix_seconds)
        )
        return kept

    def _at_current_time(self, key: str, kept: _Kept) -> _Kept:
        """The same, after a step of the wall clock with the same ages. What is stored has not changed with it."""
        stepped_seconds = self._stepped_seconds(kept.clock_difference_seconds)
        if not stepped_seconds:
            return kept
        kept = msgspec.structs.replace(
            kept,
            memory=shifted(kept.memory, stepped_seconds, self._settings.extensions),
            clock_difference_seconds=kept.clock_difference_seconds + stepped_seconds,
        )
        self._kept[key] = kept
        return kept

    def _stepped_seconds(self, clock_difference_seconds: float) -> float:
        """By how much the wall clock was stepped since this difference was read; 0 if it was not."""
        stepped_seconds = self._clock_difference_seconds() - clock_difference_seconds
        return stepped_seconds if abs(stepped_seconds) >= STEP_SECONDS_MIN else 0.0

    def _clock_difference_seconds(self) -> float:
        return self._clock.now() - self._clock.monotonic()

    def _restores(self, stored: Memory, memory: Memory, seconds_max: float) -> bool:
        """Whether a restart could continue from what is stored, which is not older than that."""
        if not restores_alike(stored, memory, self._settings.extensions):
            return False
        if not stored.recommendations or not memory.recommendations:
            return True
        age_seconds = (
            memory.recommendations[-1].until_unix_seconds
            - stored.recommendations[-1].until_unix_seconds
        )
        return age_seconds <= seconds_max
