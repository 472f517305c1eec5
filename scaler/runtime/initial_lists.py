"""What the first reconciles would read one by one: stored memories and Scales, from LISTs of all objects.

Saves two requests for each autoscaler that a replica begins to reconcile: 10,000 need 40 in place of 20,000. A LIST is sent
only if at least a tenth of its objects are needed. The first reconciles wait for it, at most `SECONDS_MAX`; what is not
there by then, or was refused, is read as in any other reconcile.

When it is wrong: a memory is written by this process alone from `begin` on, and is used once, by the first reconcile. A Scale
is used only while the watch shows the version that was listed, as a copy, so that a write fails if it has changed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import msgspec

from scaler.algorithm.memory import StoredMemory
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.autoscalers import collections
from scaler.cluster.scale_of_object import BUILT_IN, ScaleOf, of_custom_resources
from scaler.cluster.status import stored_memory
from scaler.cluster.target_scale import (
    TargetScale,
    collection_path,
    group_of,
    resources_of,
    scale_path,
    viewed,
)
from scaler.runtime.target_versions import TargetVersions
from wire.api import kube_json
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.list_and_watch import pages
from wire.kube.mapper import RestMapper
from wire.kube.mapping import GroupVersionResource
from wire.kube.requests import Reader

SECONDS_MAX: Final = 10.0
PAGE_SIZE: Final = 500
# One object of a LIST costs kube-apiserver less than a tenth of a request.
NEEDED_SHARE_MIN: Final = 0.1
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Start = Callable[[Coroutine[Any, Any, None], str], object]
"""Starts a background task of this name, which ends."""

log = logging.getLogger(__name__)


class _Found:
    """What one `begin` has found for autoscalers with these uids: memories by that uid, Scales by their path."""

    def __init__(self, uids: frozenset[str]) -> None:
        self.uids = uids
        self.memories: dict[str, StoredMemory] = {}
        self.scales: dict[str, TargetScale] = {}
        self.is_over = asyncio.Event()

    @property
    def is_used_up(self) -> bool:
        """Whether there is and will be nothing in it."""
        return self.is_over.is_set() and not self.memories and not self.scales


class _Identified(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


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
        self._found: list[_Found] = []

    def begin(self, autoscalers: Sequence[Autoscaler], known: int) -> None:
        """Read what these need. `known`: how many autoscalers there are."""
        found = _Found(frozenset(each.metadata.uid for each in autoscalers))
        self._found = [*(each for each in self._found if not each.is_used_up), found]
        self._start(self._read(found, autoscalers, known), "initial lists")

    def forget(self) -> None:
        """Another process may write what was listed."""
        self._found.clear()

    async def memory(self, autoscaler: Autoscaler) -> StoredMemory | None:
        """What was stored of a LoadAutoscaler, once; None if it must be read."""
        found = await self._complete(autoscaler)
        return None if found is None else found.memories.pop(autoscaler.metadata.uid, None)

    async def scale(self, autoscaler: Autoscaler, path: str) -> TargetScale | None:
        """The Scale at a path, once; None if it must be read."""
        found = await self._complete(autoscaler)
        return None if found is None else found.scales.pop(path, None)

    async def _complete(self, autoscaler: Autoscaler) -> _Found | None:
        uid = autoscaler.metadata.uid
        found = next((each for each in reversed(self._found) if uid in each.uids), None)
        if found is not None:
            await found.is_over.wait()
        # It may have been forgotten meanwhile.
        return found if found in self._found else None

    async def _read(self, found: _Found, autoscalers: Sequence[Autoscaler], known: int) -> None:
        try:
            async with asyncio.timeout(SECONDS_MAX):
                is_listed = self._kind.keeps_history and _are_many(len(autoscalers), known)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._read_memories(found, autoscalers if is_listed else ()))
                    group.create_task(self._read_scales(found, autoscalers))
        except TimeoutError:
            log.info("the first LISTs are not complete after %g s: the rest is read one by one", SECONDS_MAX)  # fmt: skip
        except Exception:
            # A bug: what was not found is read one by one.
            log.exception("the first LISTs failed")
        finally:
            found.is_over.set()

    async def _read_memories(self, found: _Found, autoscalers: Sequence[Autoscaler]) -> None:
        if not autoscalers:
            return
        needed = {each.metadata.uid for each in autoscalers}

        def keep(raw: msgspec.Raw) -> None:
            uid = kube_json.decode(raw, _Identified).metadata.uid
            if uid in needed:
                found.memories[uid] = stored_memory(bytes(raw))

        for path in collections(self._kind, self._namespaces):
            await self._list(path, keep)

    async def _read_scales(self, found: _Found, autoscalers: Sequence[Autoscaler]) -> None:
        for resource, paths in (await self._targets(autoscalers)).items():
            await self._read_scales_of(found, resource, paths)

    async def _targets(
        self, autoscalers: Iterable[Autoscaler]
    ) -> dict[GroupVersionResource, set[str]]:
        """The objects that are scaled, as `namespace/name`."""
        by_kind: dict[tuple[str, str], set[str]] = {}
        for each in autoscalers:
            target = each.spec.scale_target_ref
            named = by_kind.setdefault((target.api_version, target.kind), set())
            named.add(f"{each.metadata.namespace}/{target.name}")
        found: dict[GroupVersionResource, set[str]] = {}
        for (api_version, kind), named in by_kind.items():
            try:
                resource, *_ = await resources_of(self._mapper, group_of(api_version), kind)
            except (LookupError, ValueError):
                continue  # Its reconcile says what is wrong.
            found.setdefault(resource, set()).update(named)
        return found

    async def _read_scales_of(
        self, found: _Found, resource: GroupVersionResource, needed: set[str]
    ) -> None:
        collections = [collection_path(resource, each) for each in self._namespaces or ("",)]
        objects = [await self._versions.objects(each) for each in collections]
        if None in objects or not _are_many(len(needed), sum(filter(None, objects))):
            return
        scale_of = await self._scale_of(resource)
        if scale_of is None:
            return

        def keep(raw: msgspec.Raw) -> None:
            metadata = kube_json.decode(raw, _Identified).metadata
            if f"{metadata.namespace}/{metadata.name}" in needed:
                path = scale_path(resource, metadata.namespace, metadata.name)
                found.scales[path] = viewed(path, scale_of(raw))

        for each in collections:
            await self._list(each, keep)

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
            async for page in pages(get, {}, PAGE_SIZE):
                for raw in page.items:
                    try:
                        keep(raw)
                    except (msgspec.DecodeError, TypeError, ValueError):
                        continue
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            log.info("%s cannot be listed, so it is read one by one: %s", path, error)


def _are_many(needed: int, there: int) -> bool:
    """Whether a LIST costs less than a request for each."""
    return needed > 0 and needed >= NEEDED_SHARE_MIN * there
