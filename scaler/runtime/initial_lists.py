"""What the first reconciles would read one by one: stored memories and Scales, from LISTs.

Saves two requests for each autoscaler that a replica begins to reconcile: 10,000 need 200 in place of 20,000. A collection
is listed only if at least a tenth of its objects are needed. The first reconciles wait for the LIST that concerns them, for 10 s or
2 ms for each object; what it has not returned by then, or was refused, is read as in any other reconcile. So is everything else if a
LIST returns nothing that is needed for 10 s.

When it is wrong: each object is used once, and only in the version that the watches show at that time. A Scale is used as a
copy, so a write fails if it has changed. What another process may write from now on is forgotten.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from scaler.algorithm.memory import StoredMemory
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.scale_of_object import BUILT_IN, ScaleOf, of_custom_resources
from scaler.cluster.status import stored_memory
from scaler.cluster.target_scale import TargetScale, group_of, scale_path, viewed
from scaler.runtime.target_versions import TargetVersions
from wire.api import kube_json
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.list_and_watch import pages
from wire.kube.mapper import RestMapper
from wire.kube.mapping import GroupVersionResource
from wire.kube.requests import Reader

SECONDS_MIN: Final = 10.0
"""How long is waited for a LIST at least, and for the next object of a longer one."""
OBJECT_SECONDS: Final = 0.002
"""How long is waited for each object of a long LIST: what kube-apiserver needs for a GET."""
# Deployments and autoscalers may have hundreds of kilobytes each.
PAGE_SIZE: Final = 100
# Takes 3 ms to decode at most, whatever users put into their objects.
SLICE_BYTES: Final = 2**17
# One object of a LIST costs kube-apiserver less than a tenth of a request.
NEEDED_SHARE_MIN: Final = 0.1
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Start = Callable[[Coroutine[Any, Any, None], str], object]
"""Starts a background task of this name, which ends."""
Found = TypeVar("Found")

log = logging.getLogger(__name__)


class _Listing(Generic[Found]):
    """One LIST: of which objects something is needed, each with the autoscaler that needs it, and what was found."""

    def __init__(self, needed: Mapping[str, str]) -> None:
        self._needed = dict(needed)
        self._found: dict[str, Found] = {}
        self._is_over = False
        self._changed = asyncio.Event()
        self.on_found: Callable[[], None] = lambda: None

    def __contains__(self, name: str) -> bool:
        return name in self._needed

    @property
    def needed(self) -> int:
        """Of how many objects something is needed."""
        return len(self._needed)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more can come of it."""
        return not self._needed or (self._is_over and not self._found)

    def keep(self, name: str, found: Found) -> None:
        """An object of the LIST."""
        if name in self._needed:
            self._found[name] = found
            self.on_found()

    def end(self) -> None:
        """Nothing more is found."""
        self._is_over = True
        self._wake()

    def forget(self, includes: Callable[[str], bool]) -> None:
        """What is needed by the autoscalers of these keys is not used."""
        for name in [name for name, key in self._needed.items() if includes(key)]:
            del self._needed[name]
            self._found.pop(name, None)
        self._wake()

    async def use(self, name: str) -> Found | None:
        """Wait until it is found, or is not found for certain; None from then on."""
        while name in self._needed and not self._is_over:
            await self._changed.wait()
        self._needed.pop(name, None)
        return self._found.pop(name, None)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class _Identified(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class _Stored(msgspec.Struct, frozen=True):
    """What a LIST shows of an autoscaler."""

    resource_version: str
    memory: StoredMemory


class InitialLists:
    """Of the autoscalers that this replica begins to reconcile."""

    def __init__(
        self,
        kube: Reader,
        kind: WatchedKind,
        namespaces: Sequence[str],
        mapper: RestMapper,
        versions: TargetVersions,
        start: Start,
    ) -> None:
        """`namespaces`: those that the scaler is limited to; empty for all."""
        self._kube = kube
        self._kind = kind
        self._namespaces = namespaces
        self._mapper = mapper
        self._versions = versions
        self._start = start
        self._memories: list[_Listing[_Stored]] = []
        self._scales: list[_Listing[TargetScale]] = []

    def begin(self, autoscalers: Sequence[Autoscaler], listed_in: Callable[[str], int]) -> None:
        """List what these need. `listed_in`: how many autoscalers a LIST of a namespace has, or of all if it is empty."""
        self._memories = [each for each in self._memories if not each.is_used_up]
        self._scales = [each for each in self._scales if not each.is_used_up]
        if self._kind.keeps_history:
            self._begin_memories(autoscalers, listed_in)
        for resource, targets in self._targets(autoscalers).items():
            self._begin_scales(resource, targets)

    def forget(self, includes: Callable[[str], bool]) -> None:
        """Another process may write the autoscalers of these keys, and scale their targets."""
        for memories in self._memories:
            memories.forget(includes)
        for scales in self._scales:
            scales.forget(includes)

    async def memory(self, autoscaler: Autoscaler) -> StoredMemory | None:
        """What was stored of a LoadAutoscaler in the version that is watched, once; None if it must be read."""
        stored = await _used(self._memories, autoscaler.metadata.uid)
        is_current = stored and stored.resource_version == autoscaler.metadata.resource_version
        return stored.memory if stored and is_current else None

    async def scale(self, path: str) -> TargetScale | None:
        """The Scale at a path, once; None if it must be read."""
        return await _used(self._scales, path)

    def _begin_memories(
        self, autoscalers: Sequence[Autoscaler], listed_in: Callable[[str], int]
    ) -> None:
        for folder, some in self._by_folder(autoscalers).items():
            if not _are_many(len(some), listed_in(folder)):
                continue
            listing = _Listing[_Stored]({each.metadata.uid: each.key for each in some})
            self._memories.append(listing)
            self._run(self._read_memories(self._kind.collection(folder), listing), listing)

    def _begin_scales(self, resource: GroupVersionResource, targets: Sequence[Autoscaler]) -> None:
        for folder, some in self._by_folder(targets).items():
            paths = {
                scale_path(resource, each.metadata.namespace, each.spec.scale_target_ref.name): each
                for each in some
            }
            listing = _Listing[TargetScale]({path: each.key for path, each in paths.items()})
            self._scales.append(listing)
            self._run(self._read_scales(resource, folder, len(paths), listing), listing)

    def _run(self, reading: Coroutine[Any, Any, None], listing: _Listing[Any]) -> None:
        seconds_max = max(SECONDS_MIN, listing.needed * OBJECT_SECONDS)

        async def run() -> None:
            now = asyncio.get_running_loop().time
            began_at = now()
            try:
                async with asyncio.timeout(SECONDS_MIN) as limit:
                    listing.on_found = lambda: limit.reschedule(
                        min(now() + SECONDS_MIN, began_at + seconds_max)
                    )
                    await reading
            except TimeoutError:
                log.info("a first LIST is not complete after %.0f s: the rest is read one by one", now() - began_at)  # fmt: skip
            except Exception:
                # A bug: what was not found is read one by one.
                log.exception("a first LIST failed")
            finally:
                listing.end()

        self._start(run(), "initial list")

    async def _read_memories(self, path: str, listing: _Listing[_Stored]) -> None:
        def keep(raw: msgspec.Raw) -> None:
            metadata = kube_json.decode(raw, _Identified).metadata
            if metadata.uid in listing:
                stored = _Stored(metadata.resource_version, stored_memory(bytes(raw)))
                listing.keep(metadata.uid, stored)

        await self._list(path, keep)

    async def _read_scales(
        self,
        resource: GroupVersionResource,
        folder: str,
        needed: int,
        listing: _Listing[TargetScale],
    ) -> None:
        scale_of = await self._scale_of(resource)
        if scale_of is None:
            return
        collection = resource.path(folder)
        there = await self._versions.objects(collection)
        if there is None or not _are_many(needed, there):
            return

        def keep(raw: msgspec.Raw) -> None:
            metadata = kube_json.decode(raw, _Identified).metadata
            path = scale_path(resource, metadata.namespace, metadata.name)
            if path in listing:
                listing.keep(path, viewed(path, scale_of(raw)))

        await self._list(collection, keep)

    async def _scale_of(self, resource: GroupVersionResource) -> ScaleOf | None:
        """None if it is not known how the objects show their Scales."""
        built_in = BUILT_IN.get((resource.group, resource.resource))
        if built_in is not None:
            return built_in
        try:
            body = await self._kube.get(f"{DEFINITIONS}/{resource.resource}.{resource.group}")
            return of_custom_resources(body, resource.version)
        except (StatusError, Unavailable, msgspec.DecodeError, ValueError):
            return None

    async def _list(self, path: str, keep: Callable[[msgspec.Raw], None]) -> None:
        """Every object that can be read; what is missing is read by its reconcile."""

        async def get(params: dict[str, str]) -> bytes:
            return await self._kube.get(path, params)

        try:
            async for page in pages(path, get, {}, PAGE_SIZE):
                size_bytes = 0
                for raw in page.items:
                    with contextlib.suppress(msgspec.DecodeError, ValueError):
                        keep(raw)
                    size_bytes += len(memoryview(raw))
                    if size_bytes >= SLICE_BYTES:
                        await asyncio.sleep(0)
                        size_bytes = 0
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            log.info("%s cannot be listed, so it is read one by one: %s", path, error)

    def _targets(
        self, autoscalers: Iterable[Autoscaler]
    ) -> dict[GroupVersionResource, list[Autoscaler]]:
        """The autoscalers by the resource of their targets, as far as it is known and has Scales."""
        resources: dict[tuple[str, str], GroupVersionResource | None] = {}
        found: dict[GroupVersionResource, list[Autoscaler]] = {}
        for each in autoscalers:
            target = each.spec.scale_target_ref
            kind = target.api_version, target.kind
            if kind not in resources:
                resources[kind] = self._scalable(*kind)
            resource = resources[kind]
            if resource is not None:
                found.setdefault(resource, []).append(each)
        return found

    def _scalable(self, api_version: str, kind: str) -> GroupVersionResource | None:
        """The first resource of the kind. Without a Scale it must not be watched, whatever an autoscaler names."""
        try:
            first, *_ = self._mapper.resources_for_kind(group_of(api_version), kind)
            resource = self._mapper.resource_for(first.name, first.group)
        except (LookupError, ValueError):
            return None
        return resource if "scale" in first.subresources else None

    def _by_folder(self, autoscalers: Iterable[Autoscaler]) -> dict[str, list[Autoscaler]]:
        """By the namespace that is listed; an empty one for all."""
        found: dict[str, list[Autoscaler]] = {}
        for each in autoscalers:
            found.setdefault(self._folder(each.metadata.namespace), []).append(each)
        return found

    def _folder(self, namespace: str) -> str:
        return namespace if self._namespaces else ""


async def _used(listings: Sequence[_Listing[Found]], name: str) -> Found | None:
    """From the newest LIST in which it is needed."""
    found: Iterator[_Listing[Found]] = (each for each in reversed(listings) if name in each)
    listing = next(found, None)
    return None if listing is None else await listing.use(name)


def _are_many(needed: int, there: int) -> bool:
    """Whether a LIST costs less than a request for each."""
    return needed > 0 and needed >= NEEDED_SHARE_MIN * there
