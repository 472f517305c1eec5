"""Reads and writes the ScalingMemory objects.

Those of a namespace are read once when a replica begins to reconcile it. Afterwards only this replica writes them: at once
after a change of replicas, so that no scaling policy is granted twice after a crash, and otherwise once per period.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from scaler.cluster.memories.scaling_memory import (
    OBJECT_BYTES_MAX,
    PLURAL,
    ScalingMemory,
    ScalingMemoryList,
    StoredHistory,
    StoredObject,
)
from wire.api import kube_json
from wire.api.loadline import API_VERSION
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Writer
from wire.process.background_tasks import stopped
from wire.process.backoff import Backoff
from wire.process.problem_log import ProblemLog

PAGE_SIZE = 50
# Between two writes, so that many changes of one namespace are one write.
PAUSE_SECONDS_MIN = 0.2
# How long a replica that stops leading may take for its last write.
FLUSH_SECONDS = 2.0
# The kind is not installed, or the scaler may not use it.
UNAVAILABLE_CODES = (403, 404)

log = logging.getLogger(__name__)

Namespaces = Callable[[str], bool]
"""Some of the namespaces; with shards a replica reconciles only these."""


def every(_: str) -> bool:
    """All namespaces."""
    return True


class MemoryStore:
    """The stored histories of HPAs, by uid. Without the kind or the permission nothing is stored until both are there."""

    def __init__(
        self,
        client: Writer,
        *,
        namespace: str,
        period_seconds: float,
        may_write: Namespaces = every,
        object_bytes_max: int = OBJECT_BYTES_MAX,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`namespace`: of the objects; usually that of the scaler's pod. `may_write`: whether no other replica writes
        the memories of a namespace.
        """
        self._client = client
        self._folder = f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}"
        self._namespace = namespace
        self._period_seconds = period_seconds
        self._may_write = may_write
        self._object_bytes_max = object_bytes_max
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._urgent = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._objects: dict[str, StoredObject] = {}
        self._object_of: dict[str, StoredObject] = {}
        self._problem = ProblemLog(
            log,
            failing="the memories of HPAs are not stored",
            recovered="the memories of HPAs are stored again",
        )

    async def load(self, existing: Mapping[str, str], includes: Namespaces = every) -> None:
        """Read the objects of these namespaces; until then nothing there may be scaled.

        Failures that may pass are waited out. `existing`: the watched HPAs, namespace by uid; the histories of others in
        their namespaces are removed.
        """
        # Also if they cannot be read: another process has scaled since they were, and these would be written over its own.
        self.forget(includes)
        while True:
            try:
                await self._list(includes)
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._problem.set(_explained(error))
                if _is_unavailable(error):
                    return
                await self._sleep(self._backoff.next_seconds())
            else:
                self._backoff.reset()
                self._problem.set(None)
                self._remove_all_but(existing)
                return

    def forget(self, includes: Namespaces = every) -> None:
        """Another process writes the objects of these namespaces, so they have to be read again."""
        for name, stored in list(self._objects.items()):
            if includes(stored.watched_namespace):
                del self._objects[name]
        for uid, stored in list(self._object_of.items()):
            if includes(stored.watched_namespace):
                del self._object_of[uid]

    def history(self, uid: str) -> StoredHistory | None:
        """What was stored last for the HPA with this uid, by another process or by this one."""
        stored = self._object_of.get(uid)
        return stored.get(uid) if stored is not None else None

    def put(self, namespace: str, uid: str, history: StoredHistory, *, is_urgent: bool) -> None:
        """Store this with the next write; `is_urgent`: at once, unless the last write has failed."""
        stored = self._object_of.get(uid)
        if stored is None or not stored.fits(uid, history):
            before, stored = stored, self._object_for(namespace, uid, history)
            self._object_of[uid] = stored
            if before is not None:
                stored.moved_here.append((before, uid))
        stored.put(uid, history)
        if is_urgent and not self._problem.problem:
            self._urgent.set()

    def remove(self, uid: str) -> None:
        """The HPA was deleted."""
        stored = self._object_of.pop(uid, None)
        if stored is not None:
            stored.remove(uid)

    async def run(self) -> None:
        """Write what has changed, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._period_seconds):
                    await self._urgent.wait()
            except TimeoutError:
                pass
            self._urgent.clear()
            await self.flush()
            await self._sleep(PAUSE_SECONDS_MIN)

    async def flush(self) -> None:
        """Write every changed object; one that fails is tried again in the next period."""
        async with self._flushing:
            changed = [each for each in self._objects.values() if each.is_changed]
            problem: str | None = None
            for stored in [each for each in changed if self._may_write(each.watched_namespace)]:
                try:
                    await self._flush_one(stored)
                except (StatusError, Unavailable, msgspec.DecodeError) as error:
                    problem = _explained(error)
                    if _is_unavailable(error) or isinstance(error, Unavailable):
                        break
            if changed:
                self._problem.set(problem)

    async def _flush_one(self, stored: StoredObject) -> None:
        stored.is_changed = False
        moved = tuple(stored.moved_here)
        try:
            await self._write(stored)
        except BaseException:
            # Also a cancelled write is repeated: it may not have been applied.
            stored.is_changed = True
            raise
        for before, uid in moved:
            if self._object_of.get(uid) is not before:
                before.remove(uid)
        del stored.moved_here[: len(moved)]

    def _remove_all_but(self, existing: Mapping[str, str]) -> None:
        namespaces = set(existing.values())
        for uid, stored in list(self._object_of.items()):
            if uid not in existing and stored.watched_namespace in namespaces:
                self.remove(uid)

    async def _list(self, includes: Namespaces) -> None:
        found: list[msgspec.Raw] = []
        params = {"limit": str(PAGE_SIZE)}
        while True:
            page = kube_json.decode(await self._client.get(self._folder, params), ScalingMemoryList)
            found += page.items
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
        for raw in found:
            self._add(raw, includes)

    def _add(self, raw: msgspec.Raw, includes: Namespaces) -> None:
        try:
            found = kube_json.decode(raw, ScalingMemory)
        except msgspec.DecodeError as error:
            log.warning(
                "a ScalingMemory in %s cannot be decoded, its HPAs start without a memory: %s",
                self._namespace,
                error,
            )
            return
        if not includes(found.watched_namespace):
            return
        stored = self._objects[found.metadata.name] = self._object(
            found.metadata, found.watched_namespace
        )
        for uid, history in found.histories.items():
            stored.put(uid, history)
        stored.is_changed = False
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
        for name in _names(namespace):
            stored = self._objects.get(name)
            if stored is None:
                metadata = ObjectMeta(name=name, namespace=self._namespace)
                stored = self._objects[name] = self._object(metadata, namespace)
            if stored.fits(uid, history):
                return stored
        raise AssertionError("names do not end")

    def _object(self, metadata: ObjectMeta, namespace: str) -> StoredObject:
        return StoredObject(metadata, namespace, bytes_max=self._object_bytes_max)

    async def _write(self, stored: StoredObject) -> None:
        """Create or replace it. Only this replica writes, so after a conflict its own content is the newest."""
        try:
            stored.metadata = await self._written(stored)
        except StatusError as error:
            if error.code == 404 and stored.metadata.resource_version:
                # Deleted by a user.
                stored.metadata = ObjectMeta(name=stored.metadata.name, namespace=self._namespace)
            elif error.code == 409:
                path = f"{self._folder}/{stored.metadata.name}"
                stored.metadata = _metadata(await self._client.get(path))
            else:
                raise
            stored.metadata = await self._written(stored)

    async def _written(self, stored: StoredObject) -> ObjectMeta:
        if not self._may_write(stored.watched_namespace):
            raise Unavailable(f"another replica may reconcile {stored.watched_namespace}")
        body = stored.document()
        if not stored.metadata.resource_version:
            return _metadata(await self._client.create(self._folder, body))
        path = f"{self._folder}/{stored.metadata.name}"
        return _metadata(await self._client.replace(path, body))


@asynccontextmanager
async def storing(store: MemoryStore | None) -> AsyncIterator[None]:
    """Write what changes inside, and at the end what is left."""
    if store is None:
        yield
        return
    writing = asyncio.create_task(store.run(), name="memories")
    try:
        yield
    finally:
        await stopped(writing)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await store.flush()


class _Object(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def _metadata(body: bytes) -> ObjectMeta:
    return kube_json.decode(body, _Object).metadata


def _names(namespace: str) -> Iterator[str]:
    yield namespace
    number = 0
    while True:
        number += 1
        yield f"{namespace}.{number}"


def _is_unavailable(error: Exception) -> bool:
    return isinstance(error, StatusError) and error.code in UNAVAILABLE_CODES


def _explained(error: Exception) -> str:
    if isinstance(error, StatusError) and error.code == 404:
        return f"{error} (apply the CustomResourceDefinition {PLURAL}.loadline.io of the chart)"
    return str(error) or type(error).__name__
