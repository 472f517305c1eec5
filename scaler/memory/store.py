"""Reads and writes the ScalingMemory objects.

All are read once when a replica begins to lead. Afterwards only this replica writes them: at once after a change of replicas,
so that no scaling policy is granted twice after a crash, and otherwise once per period.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from scaler.memory.scaling_memory import (
    PLURAL,
    ScalingMemory,
    ScalingMemoryList,
    Shard,
    StoredHistory,
)
from wire import kube_json
from wire.background_tasks import stopped
from wire.backoff import Backoff
from wire.kube.requests import Writer
from wire.loadline_api import API_VERSION
from wire.meta import ObjectMeta
from wire.problem_log import ProblemLog
from wire.status import StatusError, Unavailable

PAGE_SIZE = 50
# Between two writes, so that many changes of one namespace are one write.
PAUSE_SECONDS_MIN = 0.2
# How long a replica that stops leading may take for its last write.
FLUSH_SECONDS = 2.0
# The kind is not installed, or the scaler may not use it.
UNAVAILABLE_CODES = (403, 404)

log = logging.getLogger(__name__)


class MemoryStore:
    """The stored histories of HPAs, by uid. Without the kind or the permission nothing is stored."""

    def __init__(
        self,
        client: Writer,
        *,
        namespace: str,
        period_seconds: float,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`namespace`: of the objects; usually that of the scaler's pod."""
        self._client = client
        self._folder = f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}"
        self._namespace = namespace
        self._period_seconds = period_seconds
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._urgent = asyncio.Event()
        self._is_loaded = self._is_available = False
        self._shards: dict[str, Shard] = {}
        self._shard_of: dict[str, Shard] = {}
        self._problem = ProblemLog(
            log,
            failing="the memories of HPAs are not stored",
            recovered="the memories of HPAs are stored again",
        )

    async def load(self, existing: Mapping[str, str]) -> None:
        """Read all objects, unless they have been read since `forget`. Until then nothing may be scaled.

        Failures that may pass are waited out. `existing`: the watched HPAs, namespace by uid; the histories of others
        in these namespaces are removed.
        """
        while not self._is_loaded:
            try:
                await self._list()
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._problem.set(_explained(error))
                self._is_loaded = isinstance(error, StatusError) and error.code in UNAVAILABLE_CODES
                if not self._is_loaded:
                    await self._sleep(self._backoff.next_seconds())
            else:
                self._backoff.reset()
                self._problem.set("")
                self._is_loaded = self._is_available = True
                self._remove_all_but(existing)

    def forget(self) -> None:
        """Another process has written the objects, so `load` reads them again."""
        self._is_loaded = self._is_available = False

    def history(self, uid: str) -> StoredHistory | None:
        """What was stored last for the HPA with this uid, by another process or by this one."""
        shard = self._shard_of.get(uid)
        return shard.get(uid) if shard is not None else None

    def put(self, namespace: str, uid: str, history: StoredHistory, *, is_urgent: bool) -> None:
        """Store this with the next write; `is_urgent`: at once."""
        if not self._is_available:
            return
        shard = self._shard_of.get(uid)
        if shard is None:
            shard = self._shard_of[uid] = self._shard_for(namespace, history)
        shard.put(uid, history)
        if is_urgent:
            self._urgent.set()

    def remove(self, uid: str) -> None:
        """The HPA was deleted."""
        shard = self._shard_of.pop(uid, None)
        if shard is not None:
            shard.remove(uid)

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
        for shard in [each for each in self._shards.values() if each.is_changed]:
            shard.is_changed = False
            try:
                await self._write(shard)
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                shard.is_changed = True
                self._problem.set(_explained(error))
                return
            self._problem.set("")

    def _remove_all_but(self, existing: Mapping[str, str]) -> None:
        namespaces = set(existing.values())
        for uid, shard in list(self._shard_of.items()):
            if uid not in existing and shard.watched_namespace in namespaces:
                self.remove(uid)

    async def _list(self) -> None:
        self._is_available = False
        self._shards.clear()
        self._shard_of.clear()
        params = {"limit": str(PAGE_SIZE)}
        while True:
            page = kube_json.decode(await self._client.get(self._folder, params), ScalingMemoryList)
            for raw in page.items:
                self._add(raw)
            if not page.metadata.continue_:
                return
            params["continue"] = page.metadata.continue_

    def _add(self, raw: msgspec.Raw) -> None:
        try:
            found = kube_json.decode(raw, ScalingMemory)
        except msgspec.DecodeError as error:
            log.warning(
                "a ScalingMemory in %s cannot be decoded, its HPAs start without a memory: %s",
                self._namespace,
                error,
            )
            return
        shard = Shard(found.metadata, found.watched_namespace)
        for uid, history in found.histories.items():
            shard.put(uid, history)
            self._shard_of[uid] = shard
        shard.is_changed = False
        self._shards[found.metadata.name] = shard

    def _shard_for(self, namespace: str, history: StoredHistory) -> Shard:
        """The first object of the namespace with enough space, or another one."""
        size_bytes = len(msgspec.json.encode(history))
        for name in _names(namespace):
            shard = self._shards.get(name)
            if shard is None:
                metadata = ObjectMeta(name=name, namespace=self._namespace)
                shard = self._shards[name] = Shard(metadata, namespace)
            if shard.fits(size_bytes):
                return shard
        raise AssertionError("names do not end")

    async def _write(self, shard: Shard) -> None:
        """Create or replace it. Only this replica writes, so after a conflict its own content is the newest."""
        try:
            shard.metadata = await self._written(shard)
        except StatusError as error:
            if error.code == 404 and shard.metadata.resource_version:
                # Deleted by a user.
                shard.metadata = ObjectMeta(name=shard.metadata.name, namespace=self._namespace)
            elif error.code == 409:
                path = f"{self._folder}/{shard.metadata.name}"
                shard.metadata = _metadata(await self._client.get(path))
            else:
                raise
            shard.metadata = await self._written(shard)

    async def _written(self, shard: Shard) -> ObjectMeta:
        body = shard.document()
        if not shard.metadata.resource_version:
            return _metadata(await self._client.create(self._folder, body))
        path = f"{self._folder}/{shard.metadata.name}"
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


def _explained(error: Exception) -> str:
    if isinstance(error, StatusError) and error.code == 404:
        return f"{error} (apply the CustomResourceDefinition {PLURAL}.loadline.io of the chart)"
    return str(error) or type(error).__name__
