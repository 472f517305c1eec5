"""Reads and writes the ScalingMemory objects.

Those of a namespace are read when a replica begins to reconcile it. Its first reconciles wait for that, but not longer than a
period; then they begin without a memory, as kube-controller-manager does, and continue with what is stored once it is read.
Afterwards only this replica writes them: at once after a change of replicas, so that no scaling policy is granted twice
after a crash, and otherwise once per period. An object is deleted when all HPAs of its namespace were.
"""

import asyncio
import contextlib
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
)
from contextlib import asynccontextmanager

import msgspec

from scaler.cluster.memories.requests import MemoryObjects
from scaler.cluster.memories.scaling_memory import (
    OBJECT_BYTES_MAX,
    PLURAL,
    ScalingMemory,
    StoredHistory,
    StoredObject,
    object_names,
)
from scaler.cluster.shards.assignment import ALL_SHARDS, shard_of
from wire.api import kube_json
from wire.api.duration import format_duration
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Writer
from wire.process.background_tasks import stopped
from wire.process.backoff import Backoff
from wire.process.problem_log import ProblemLog

# Between two writes, so that many changes of one namespace are one write.
PAUSE_SECONDS_MIN = 0.2
# How long a replica that stops leading may take for its last write.
FLUSH_SECONDS = 2.0
# The kind is not installed, or the scaler may not use it.
UNAVAILABLE_CODES = (403, 404)
# With a shorter period, most of the requests would be for it.
UNAVAILABLE_SECONDS_MIN = 1.0
# If the memories of so many namespaces one after the other cannot be written in this way, or without a response, others could
# not be, either.
FAILING_NAMESPACES_MAX = 2

log = logging.getLogger(__name__)

Existing = Callable[[], Mapping[str, str]]
"""The HPAs that are watched now: namespace by uid."""


class _Reading:
    """What one `begin` wants to be read. It `is_over` once it is read, or is not waited for any longer."""

    def __init__(self, existing: Existing) -> None:
        self.existing = existing
        self.is_over = asyncio.Event()


class MemoryStore:
    """The stored histories of HPAs, by uid. Nothing is stored before what is there was read."""

    def __init__(
        self,
        client: Writer,
        *,
        namespace: str,
        period_seconds: float,
        watches: Callable[[str], bool] = lambda _: False,
        may_write: Callable[[str], bool] = lambda _: True,
        object_bytes_max: int = OBJECT_BYTES_MAX,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`namespace`: of the objects; usually that of the scaler's pod. `watches`: whether no other scaler has HPAs in
        a namespace. `may_write`: whether no other replica writes its memories.
        """
        self._requests = MemoryObjects(client, namespace=namespace, may_write=may_write)
        self._namespace = namespace
        self._period_seconds = period_seconds
        self._watches = watches
        self._may_write = may_write
        self._object_bytes_max = object_bytes_max
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._urgent = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._objects: dict[str, StoredObject] = {}
        self._object_of: dict[str, StoredObject] = {}
        self._unread: dict[int, _Reading] = {}
        self._has_unread = asyncio.Event()
        self._is_unavailable = False
        self._unread_problem = ProblemLog(
            log,
            failing="the scaling histories of HPAs (ScalingMemory) cannot be read, so they are not stored either; HPAs are scaled"
            " as after a restart of kube-controller-manager",
            recovered="the scaling histories of HPAs have been read",
        )
        self._problem = ProblemLog(
            log,
            failing="the scaling histories of HPAs are not stored",
            recovered="the scaling histories of HPAs are stored again",
        )

    def begin(self, shards: frozenset[int], existing: Existing) -> None:
        """Read the objects of these shards; until then nothing of them is stored, or it would be written over what is there.

        `existing` is called when they are read: the histories of all other HPAs of these namespaces are removed.
        """
        self.forget(shards)
        reading = _Reading(existing)
        for shard in shards:
            self._unread[shard] = reading
        if self._is_unavailable:
            reading.is_over.set()
        asyncio.get_running_loop().call_later(self._period_seconds, self._stop_waiting, reading)
        self._has_unread.set()

    def is_read(self, namespace: str) -> bool:
        """Whether what is stored of the namespace is known."""
        return shard_of(namespace) not in self._unread

    async def read_or_late(self, namespace: str) -> None:
        """Wait until it is read, but no longer than a period: without memories upstream's behavior is right."""
        shard = shard_of(namespace)
        while (reading := self._unread.get(shard)) and not reading.is_over.is_set():
            await reading.is_over.wait()

    async def read(self) -> None:
        """Read what `begin` asks for, until cancelled. What cannot be read is tried again."""
        while True:
            await self._has_unread.wait()
            try:
                pause_seconds = await self._try_to_read()
            except Exception as error:
                # A bug: nothing is stored, and HPAs are scaled all the same.
                if self._unread_problem.problem != repr(error):
                    log.exception("the scaling histories of HPAs cannot be read")
                self._unread_problem.set(repr(error))
                pause_seconds = self._period_seconds
            if pause_seconds:
                await self._sleep(pause_seconds)

    async def _try_to_read(self) -> float:
        """One attempt; in how many seconds to make the next one."""
        wanted = dict(self._unread)
        self._is_unavailable = False
        try:
            found = await self._requests.list_all()
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            self._unread_problem.set(_explained(error))
            self._is_unavailable = _is_unavailable(error)
            if not self._is_unavailable:
                return min(self._backoff.next_seconds(), self._period_seconds)
            for reading in wanted.values():
                reading.is_over.set()
            return max(self._period_seconds, UNAVAILABLE_SECONDS_MIN)
        self._backoff.reset()
        # Without those that were given up meanwhile, also if they were claimed again: then another process has written them.
        self._take(found, {each: of for each, of in wanted.items() if self._unread.get(each) is of})
        self._unread_problem.set(None)
        return 0.0

    def _take(self, found: Iterable[msgspec.Raw], wanted: Mapping[int, "_Reading"]) -> None:
        for raw in found:
            self._add(raw, wanted.keys())
        existing: dict[str, str] = {}
        for reading in set(wanted.values()):
            existing.update(reading.existing())
        self._remove_all_but(existing, wanted.keys())
        for shard in wanted:
            self._unread.pop(shard).is_over.set()
        if not self._unread:
            self._has_unread.clear()

    def _stop_waiting(self, reading: "_Reading") -> None:
        reading.is_over.set()
        if reading in self._unread.values() and not self._unread_problem.problem:
            self._unread_problem.set(f"no response within {format_duration(self._period_seconds)}")

    def forget(self, shards: Collection[int] = ALL_SHARDS) -> None:
        """Another process writes the objects of these shards, so they have to be read again."""
        given_up = {self._unread.pop(shard) for shard in shards if shard in self._unread}
        for reading in given_up.difference(self._unread.values()):
            reading.is_over.set()
        if not self._unread:
            self._has_unread.clear()
        for name, stored in list(self._objects.items()):
            if shard_of(stored.watched_namespace) in shards:
                del self._objects[name]
        for uid, stored in list(self._object_of.items()):
            if shard_of(stored.watched_namespace) in shards:
                del self._object_of[uid]

    def history(self, uid: str) -> StoredHistory | None:
        """What was stored last for the HPA with this uid, by another process or by this one."""
        stored = self._object_of.get(uid)
        return stored.get(uid) if stored is not None else None

    def put(self, namespace: str, uid: str, history: StoredHistory, *, is_urgent: bool) -> None:
        """Store this with the next write, if the namespace is read; `is_urgent`: at once, unless the last write of its object has failed."""
        if not self.is_read(namespace):
            return
        stored = self._object_of.get(uid)
        if stored is None or not stored.fits(uid, history):
            before, stored = stored, self._object_for(namespace, uid, history)
            self._object_of[uid] = stored
            if before is not None:
                stored.moved_here.append((before, uid))
        stored.put(uid, history)
        if is_urgent and not stored.failures:
            self._urgent.set()

    def remove(self, uid: str) -> None:
        """The HPA was deleted."""
        stored = self._object_of.pop(uid, None)
        if stored is not None:
            stored.remove(uid)

    async def run(self) -> None:
        """Write what has changed, until cancelled: at once after an urgent change, and once per period."""
        now_seconds = asyncio.get_running_loop().time
        due_seconds = now_seconds() + self._period_seconds
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due_seconds):
                    await self._urgent.wait()
            self._urgent.clear()
            is_due = now_seconds() >= due_seconds
            await self.flush(repeats_failed=is_due)
            if is_due or not self._have_failed():
                due_seconds = now_seconds() + self._period_seconds
            await self._sleep(PAUSE_SECONDS_MIN)

    async def flush(self, *, repeats_failed: bool = True) -> None:
        """Write every changed object; one that fails is tried again in the next period, after those that have not failed."""
        async with self._flushing:
            changed = [each for each in self._objects.values() if each.is_changed]
            problem: str | None = None
            failing: set[str] = set()
            for stored in sorted(changed, key=lambda each: each.failures):
                if (stored.failures and not repeats_failed) or not self._is_writable(stored):
                    continue
                error = await self._try_to_flush(stored)
                problem = problem if error is None else _explained(error)
                if error is None:
                    failing.clear()
                elif _is_unavailable(error) or isinstance(error, Unavailable):
                    failing.add(stored.watched_namespace)
                if len(failing) >= FAILING_NAMESPACES_MAX:
                    break
            if problem is not None or (changed and not self._have_failed()):
                self._problem.set(problem)

    def _is_writable(self, stored: StoredObject) -> bool:
        """False also for one that was given up while another one was written, and perhaps read again."""
        is_current = self._objects.get(stored.metadata.name) is stored
        return is_current and self._may_write(stored.watched_namespace)

    def _have_failed(self) -> bool:
        return any(each.failures for each in self._objects.values())

    async def _try_to_flush(self, stored: StoredObject) -> Exception | None:
        """Why it could not be written; None if it was."""
        try:
            await self._flush_one(stored)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            stored.failures += 1
            return error
        except Exception as error:
            # A bug must not keep the others from being written.
            log.exception(
                "the scaling histories of HPAs in %s cannot be written", stored.watched_namespace
            )
            stored.failures += 1
            return error
        stored.failures = 0
        return None

    async def _flush_one(self, stored: StoredObject) -> None:
        stored.is_changed = False
        moved = tuple(stored.moved_here)
        try:
            await self._requests.write(stored)
        except BaseException:
            # Also a cancelled write is repeated: it may not have been applied.
            stored.is_changed = True
            raise
        for before, uid in moved:
            if self._object_of.get(uid) is not before:
                before.remove(uid)
        del stored.moved_here[: len(moved)]
        name = stored.metadata.name
        if stored.is_deleted and self._objects.get(name) is stored:
            del self._objects[name]

    def _remove_all_but(self, existing: Mapping[str, str], shards: Collection[int]) -> None:
        for uid, stored in list(self._object_of.items()):
            namespace = stored.watched_namespace
            if uid in existing or shard_of(namespace) not in shards:
                continue
            if self._watches(namespace):
                self.remove(uid)

    def _add(self, raw: msgspec.Raw, shards: Collection[int]) -> None:
        try:
            found = kube_json.decode(raw, ScalingMemory)
        except msgspec.DecodeError as error:
            log.warning(
                "a ScalingMemory in %s cannot be decoded; its HPAs start without their scaling history: %s",
                self._namespace,
                error,
            )
            return
        if shard_of(found.watched_namespace) not in shards:
            return
        stored = self._objects[found.metadata.name] = self._object(
            found.metadata, found.watched_namespace
        )
        for uid, history in found.histories.items():
            stored.put(uid, history)
        # One without histories, as an older version left it, is deleted.
        stored.is_changed = stored.is_empty and self._watches(found.watched_namespace)
        for uid, history in found.histories.items():
            self._choose_newer(uid, history, stored)

    def _choose_newer(self, uid: str, history: StoredHistory, stored: StoredObject) -> None:
        """A process that stopped while it moved a history to another object has left it in both."""
        other = self._object_of.get(uid)
        if other is None:
            self._object_of[uid] = stored
        elif other.get(uid).newest_unix_seconds > history.newest_unix_seconds:
            stored.remove(uid)
        else:
            other.remove(uid)
            self._object_of[uid] = stored

    def _object_for(self, namespace: str, uid: str, history: StoredHistory) -> StoredObject:
        """The first object of the namespace with enough space, or another one."""
        for name in object_names(namespace):
            stored = self._objects.get(name)
            if stored is None:
                stored = self._objects[name] = self._object(self._requests.new(name), namespace)
            if stored.fits(uid, history):
                return stored
        raise AssertionError("names do not end")

    def _object(self, metadata: ObjectMeta, namespace: str) -> StoredObject:
        return StoredObject(metadata, namespace, bytes_max=self._object_bytes_max)


@asynccontextmanager
async def storing(store: MemoryStore | None) -> AsyncIterator[None]:
    """Write what changes inside, and at the end what is left."""
    if store is None:
        yield
        return
    reading = asyncio.create_task(store.read(), name="memories to read")
    writing = asyncio.create_task(store.run(), name="memories to write")
    try:
        yield
    finally:
        await stopped(reading)
        await stopped(writing)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await store.flush()


def _is_unavailable(error: Exception) -> bool:
    return isinstance(error, StatusError) and error.code in UNAVAILABLE_CODES


def _explained(error: Exception) -> str:
    if isinstance(error, StatusError) and error.code == 404:
        return f"{error} (apply the CustomResourceDefinition {PLURAL}.loadline.io of the chart)"
    return str(error) or type(error).__name__
