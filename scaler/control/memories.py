"""The memory of an autoscaler: kept in its record between reconciles, and read from what the previous leader stored.

A LoadAutoscaler has its memory in its status, an HPA in a ScalingMemory.

Its times are those of the wall clock, because the next process has only that. When the wall clock of this process is
stepped, they step along, so that their ages are those of the monotonic clock. What another process stored is by its clock.

After a time without reconciles, because the Lease was lost or the process was suspended, the memory of this process is resumed
as one that another process has stored: otherwise nothing would be held for that time.
"""

from collections.abc import Awaitable, Callable

import msgspec

from scaler.algorithm.decision import Outcome
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import AnyMemory, Memory, StoredMemory, remembered
from scaler.algorithm.recommendations import continued
from scaler.algorithm.restart import (
    as_stored,
    joined,
    restores_alike,
    shifted,
    take_over_seconds,
)
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.history import History, fields_of
from scaler.api.sync_period import own_period_seconds
from scaler.cluster.clock import Clock
from scaler.cluster.memories.scaling_memory import StoredHistory
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.status import stored_memory
from scaler.control.record import KeptMemory, Record
from wire.api import kube_json
from wire.kube.requests import Reader

# Below that, a clock is being slewed, or was read a moment later than the other one.
STEP_SECONDS_MIN = 0.5


class Memories:
    """Reads and stores the memories of one kind."""

    def __init__(
        self,
        kube: Reader,
        settings: Settings,
        clock: Clock,
        *,
        listed: Callable[[Autoscaler], Awaitable[StoredMemory | None]],
        store: MemoryStore | None = None,
    ) -> None:
        """`listed`: what a LIST has shown, for a kind with a history in its status; `store`: for a kind without."""
        self._kube = kube
        self._listed = listed
        self._settings = settings
        self._kind = settings.kind
        self._clock = clock
        self._store = store

    async def of(self, record: Record, autoscaler: Autoscaler) -> AnyMemory:
        """The memory to reconcile with: this process', else the stored one, else an empty one.

        Raises `StatusError`, `Unavailable` and `msgspec.DecodeError`.
        """
        kept, record.continued = self.current(record), None
        if kept is None:
            kept = await self._begun(autoscaler)
        else:
            if self._is_read_late(kept):
                kept = self._with_stored(kept, autoscaler)
            if self._is_interrupted(record) and isinstance(kept.memory, Memory):
                memory = as_stored(kept.memory, self._settings.extensions, kept.replicas)
                kept = msgspec.structs.replace(kept, memory=memory)
        record.memory = kept
        self._continue(record, autoscaler)
        return kept.memory

    def goes_on(self, record: Record, autoscaler: Autoscaler) -> None:
        """It is reconciled without a new memory, or the reconcile is left out: the next one may continue the memory, too."""
        if not self._is_interrupted(record):
            self._continue(record, autoscaler)

    def _continue(self, record: Record, autoscaler: Autoscaler) -> None:
        """Another process that takes over needs not more than that, and a reconcile that is slow takes less."""
        period_seconds = own_period_seconds(autoscaler.spec) or self._settings.sync_period_seconds
        record.continues_until_seconds = self._clock.monotonic() + take_over_seconds(period_seconds)

    def _is_interrupted(self, record: Record) -> bool:
        return self._clock.monotonic() > record.continues_until_seconds

    async def _begun(self, autoscaler: Autoscaler) -> KeptMemory:
        namespace = autoscaler.metadata.namespace
        if self._store is not None:
            await self._store.read_or_late(namespace)
        is_read = self._store is None or self._store.is_read(namespace)
        stored = await self._read(autoscaler)
        known_replicas = stored.known_replicas if stored is not None else ()
        return KeptMemory(
            memory=stored or Memory(),
            stored=stored,
            stored_replicas=known_replicas[0] if known_replicas else None,
            unread_namespace="" if is_read else namespace,
            clock_difference_seconds=self._clock_difference_seconds(),
        )

    def _with_stored(self, kept: KeptMemory, autoscaler: Autoscaler) -> KeptMemory:
        """What is stored was read after the first reconcile: continue it, too."""
        stored = self._stored_by_hpa(autoscaler)
        if stored is None:
            return msgspec.structs.replace(kept, unread_namespace="")
        return msgspec.structs.replace(
            kept,
            memory=joined(stored, kept.memory, self._clock.now()),
            stored=stored,
            stored_replicas=stored.known_replicas[0],
            unread_namespace="",
        )

    def current(self, record: Record) -> KeptMemory | None:
        """The memory of this process as a reconcile would begin with it now; None if it has none."""
        kept, continuation = record.memory, record.continued
        if kept is None:
            return None
        if continuation is not None and isinstance(kept.memory, Memory):
            memory = continued(
                kept.memory, continuation.until_unix_seconds, continuation.window_seconds
            )
            kept = msgspec.structs.replace(kept, memory=memory)
        return self._at_current_time(kept)

    def keep(
        self, record: Record, autoscaler: Autoscaler, outcome: Outcome, replicas: int | None
    ) -> None:
        """Remember the memory of a reconcile that began with `of`.

        `replicas`: what the target has then; None if it is not known.
        """
        if record.memory is None:
            return
        kept = msgspec.structs.replace(record.memory, memory=outcome.memory)
        if replicas is not None:
            kept = msgspec.structs.replace(kept, replicas=replicas)
        if self._store is not None and replicas is not None:
            seconds_max = outcome.stored_seconds_max
            kept = self._stored_apart(self._store, autoscaler, kept, replicas, seconds_max)
        record.memory = kept

    def is_current(self, record: Record) -> bool:
        """Whether the memory is kept and continues, the wall clock has not been stepped since, and no more of it has been read."""
        kept = record.memory
        if kept is None or self._is_interrupted(record):
            return False
        return not self._stepped_seconds(kept) and not self._is_read_late(kept)

    def must_store(self, record: Record, outcome: Outcome) -> bool:
        """Whether a restart could not continue from what the status has stored."""
        if not self._kind.keeps_history:
            return False
        stored = record.memory.stored if record.memory is not None else None
        return stored is None or not self._restores(
            stored, outcome.memory, outcome.stored_seconds_max
        )

    def was_stored(self, record: Record, memory: AnyMemory) -> None:
        """The status was written, of a LoadAutoscaler with this memory."""
        if record.memory is not None and self._kind.keeps_history:
            record.memory = msgspec.structs.replace(record.memory, stored=memory)

    def remove(self, uid: str) -> None:
        """The autoscaler with this uid was deleted."""
        if self._store is not None:
            self._store.remove(uid)

    async def _read(self, autoscaler: Autoscaler) -> StoredMemory | None:
        """None for a kind, or an object, of which nothing is stored."""
        if self._kind.keeps_history:
            listed = await self._listed(autoscaler)
            if listed is not None:
                return listed
            path = self._kind.object(autoscaler.metadata.namespace, autoscaler.metadata.name)
            body = await self._kube.get(path)
            return stored_memory(kube_json.of_kind(body, self._kind.kind))
        return self._stored_by_hpa(autoscaler)

    def _stored_by_hpa(self, autoscaler: Autoscaler) -> StoredMemory | None:
        history = self._store.history(autoscaler.metadata.uid) if self._store else None
        if history is None:
            return None
        return StoredMemory(history=history, known_replicas=(history.replicas,))

    def _stored_apart(
        self,
        store: MemoryStore,
        autoscaler: Autoscaler,
        kept: KeptMemory,
        replicas: int,
        seconds_max: float,
    ) -> KeptMemory:
        """Store the memory of an HPA, if a restart could not continue from what is stored."""
        if kept.unread_namespace:
            return kept
        memory, stored = kept.memory, kept.stored
        is_known = kept.stored_replicas == replicas
        if is_known and stored is not None and self._restores(stored, memory, seconds_max):
            return kept
        history = history_of(memory, self._settings.extensions)
        found = StoredHistory(**fields_of(History, history), replicas=replicas)
        has_changed = kept.stored_replicas is not None and not is_known
        # Nothing else shows another process that the scaler, not a user, wanted zero.
        was_to_zero = stored is not None and remembered(stored).scaled_to_zero
        goes_to_zero = history.scaled_to_zero and not was_to_zero
        is_urgent = has_changed or goes_to_zero
        metadata = autoscaler.metadata
        store.put(metadata.namespace, metadata.uid, found, is_urgent=is_urgent)
        return msgspec.structs.replace(kept, stored=memory, stored_replicas=replicas)

    def _is_read_late(self, kept: KeptMemory) -> bool:
        namespace, store = kept.unread_namespace, self._store
        return bool(namespace) and store is not None and store.is_read(namespace)

    def _at_current_time(self, kept: KeptMemory) -> KeptMemory:
        """The same, after a step of the wall clock with the same ages. What is stored has not changed with it."""
        stepped_seconds = self._stepped_seconds(kept)
        if not stepped_seconds:
            return kept
        memory = kept.memory
        if isinstance(memory, Memory):
            memory = shifted(memory, stepped_seconds, self._settings.extensions)
        return msgspec.structs.replace(
            kept,
            memory=memory,
            clock_difference_seconds=kept.clock_difference_seconds + stepped_seconds,
        )

    def _stepped_seconds(self, kept: KeptMemory) -> float:
        """By how much the wall clock was stepped since; 0 if it was not."""
        stepped_seconds = self._clock_difference_seconds() - kept.clock_difference_seconds
        return stepped_seconds if abs(stepped_seconds) >= STEP_SECONDS_MIN else 0.0

    def _clock_difference_seconds(self) -> float:
        return self._clock.now() - self._clock.monotonic()

    def _restores(self, stored: AnyMemory, memory: AnyMemory, seconds_max: float) -> bool:
        """Whether a restart could continue from what is stored, which is not older than that."""
        if not restores_alike(stored, memory, self._settings.extensions):
            return False
        before, after = remembered(stored).recommendations, remembered(memory).recommendations
        if not before or not after:
            return True
        return after[-1].until_unix_seconds - before[-1].until_unix_seconds <= seconds_max
