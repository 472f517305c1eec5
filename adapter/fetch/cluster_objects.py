"""The objects behind a label selector.

They come from watch caches of their metadata, one for each resource that was ever requested, started by the first
request. prometheus-adapter sends a LIST of whole objects for every request, at most five a second. Where the adapter may
not list the whole cluster, the copy is outdated, or some labels are too large for it, it lists the namespace of the request,
which equal requests share.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
from cachetools import TTLCache

from adapter import telemetry
from adapter.caches import OBJECT_LISTS_BYTES, SizedCache, selector_bytes
from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.fetch.label_index import LabelIndex
from adapter.fetch.object_labels import LABEL_BYTES, ListedObject, with_bounded_labels
from adapter.model import PODS, GroupResource, KubeObject
from wire.api import kube_json
from wire.api.labels import Selector
from wire.api.status import StatusError, Unavailable
from wire.kube.cache import PAGE_SIZE, WatchCache
from wire.kube.list_and_watch import OBJECTS_MAX, pages
from wire.kube.mapping import Resource
from wire.kube.metadata_only import METADATA_LIST
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX
from wire.kube.requests import Watcher
from wire.process.single_flight import SingleFlight
from wire.process.text_bytes import text_bytes

FIRST_LIST_SECONDS = 5.0
"""How long the first request for a resource waits for its watch cache before it lists only its own objects."""

_RESULT_BYTES = 500
_OBJECT_BYTES = 64
"""What a kept result takes beside its namespace and selector, and each of its objects, roughly. A client that invents
namespaces and selectors cannot fill the memory."""

LISTS_MAX = 10
"""LISTs in flight at once where the copy is missing or outdated."""
LIST_SECONDS = 60.0
"""How long such a LIST may take. No client waits for longer, and another one could have its place."""
LIST_FRESH_SECONDS = 1.0
"""How long such a LIST serves equal requests, as with the evaluations of queries."""
LARGE_LABELS_PAGE_SIZE = 10
"""How many objects a page has where some have large labels: each may have 1.5 MB. Only one such LIST is in flight at a time."""

RUNNING = "status.phase=Running"

_Key = tuple[str, str, str]  # path, label selector, field selector
_Place = tuple[str, str]  # namespace, name
_Found = SizedCache[tuple["_Watched", str, Selector], tuple[int, Sequence[_Place]]]
"""Without labels: a result whose objects have changed is kept until it is requested again, or another one takes its place."""


class _Watched:
    """One resource's watch cache, and the results of selectors on it until a name or label changes."""

    def __init__(
        self,
        client: Watcher,
        path: str,
        field_selector: str,
        found: _Found,
        monotonic: Callable[[], float],
    ) -> None:
        self.cache = WatchCache(
            client,
            path,
            ListedObject,
            field_selector=field_selector,
            metadata_only=True,
            convert=with_bounded_labels,
            on_change=self._changed,
            on_crash=telemetry.CRASHES.inc,
            monotonic=monotonic,
        )
        self._index = LabelIndex(self.cache.list)
        # How often the objects of a namespace, or any ("") have changed; a result is valid for one of these numbers.
        self._changes: dict[str, int] = {}
        self._found = found
        self._with_large_labels: dict[str, set[str]] = {}
        """The names of the objects whose labels are not known, by namespace."""

    async def is_current(self) -> bool:
        """Whether objects may be selected: the first request waits for the first LIST."""
        if not self.cache.is_synced and not await _first_list(self.cache):
            return False
        return self.cache.age_seconds <= COPY_AGE_SECONDS_MAX

    def has_large_labels(self, namespace: str) -> bool:
        """Whether the labels of an object there are too large to be kept, so that a selector cannot be compared with them."""
        found = self._with_large_labels
        return namespace in found if namespace else bool(found)

    def select(self, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        changes = self._changes.get(namespace, 0)
        kept = self._found.get((self, namespace, selector))
        if kept is not None and kept[0] == changes:
            copies = (self.cache.get(*place) for place in kept[1])
            return [_kube_object(each) for each in copies if each is not None]
        items = self._candidates(namespace, selector)
        found = _in_list_order(each for each in items if selector.matches(each.metadata.labels))
        places = tuple((each.namespace, each.name) for each in found)
        self._found.keep((self, namespace, selector), (changes, places))
        return found

    def _candidates(self, namespace: str, selector: Selector) -> Iterable[ListedObject]:
        """All objects that may match."""
        names = self._index.names(namespace, selector) if namespace else None
        if names is None:
            return self.cache.list(namespace or None)
        found = (self.cache.get(namespace, name) for name in names)
        return (each for each in found if each is not None)

    def _changed(self, old: ListedObject | None, new: ListedObject | None) -> None:
        # Most events change a status, which does not matter here.
        if old is None or new is None or _labels(old) != _labels(new):
            self._index.changed(old, new)
            self._note_large_labels(old, new)
            changed = new or old
            for namespace in {"", changed.metadata.namespace if changed else ""}:
                self._changes[namespace] = self._changes.get(namespace, 0) + 1

    def _note_large_labels(self, old: ListedObject | None, new: ListedObject | None) -> None:
        if old is not None and old.labels_left_out:
            names = self._with_large_labels[old.metadata.namespace]
            names.discard(old.metadata.name)
            if not names:
                del self._with_large_labels[old.metadata.namespace]
        if new is not None and new.labels_left_out:
            names = self._with_large_labels.setdefault(new.metadata.namespace, set())
            names.add(new.metadata.name)


class WatchedObjects:
    """`ObjectNames` from watch caches; `spawn` runs the watches until the program ends."""

    def __init__(
        self,
        client: Watcher,
        mapping: ClusterMapping,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        *,
        bytes_max: int = OBJECT_LISTS_BYTES,
        objects_max: int = OBJECTS_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`bytes_max`: what selectors have found may take. `objects_max`: how many objects a list may have."""
        self._client = client
        self._objects_max = objects_max
        self._mapping = mapping
        self._spawn = spawn
        self._monotonic = monotonic
        self._found: _Found = SizedCache(
            bytes_max * 7 // 8, lambda key, kept: _found_bytes(*key[1:], kept[1])
        )
        self._watched: dict[tuple[str, str], _Watched] = {}
        self._lists: SingleFlight[_Key, Sequence[KubeObject]] = SingleFlight()
        self._fresh_lists: TTLCache[_Key, tuple[Sequence[KubeObject], int]] = TTLCache(
            bytes_max // 8, LIST_FRESH_SECONDS, timer=monotonic, getsizeof=lambda kept: kept[1]
        )
        self._list_slots = asyncio.Semaphore(LISTS_MAX)
        self._large_list_slot = asyncio.Semaphore(1)

    async def objects(
        self, resource: GroupResource, *, namespace: str, selector: Selector
    ) -> Sequence[KubeObject]:
        """Matching objects, in the order of a LIST."""
        return await self._objects(resource, namespace, selector, "")

    async def running_pods(self, *, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        """Matching pods whose phase is Running, as for the resource metrics of prometheus-adapter."""
        return await self._objects(PODS, namespace, selector, RUNNING)

    @property
    def problem(self) -> str:
        """Which copies are not kept up to date, how old they are and why; empty when all are."""
        return "; ".join(
            f"{path.rpartition('/')[2]}: {watched.cache.age_seconds:.0f}s old: {watched.cache.last_error}"
            for (path, _), watched in self._watched.items()
            if watched.cache.last_error
        )

    async def _objects(
        self, resource: GroupResource, namespace: str, selector: Selector, field_selector: str
    ) -> Sequence[KubeObject]:
        discovered = self._mapping.resource(resource)
        watched = self._watched.get((discovered.path(), field_selector))
        if watched is None:
            watched = self._start(discovered, field_selector)
        is_current = await watched.is_current()
        is_large = not selector.is_empty() and watched.has_large_labels(namespace)
        if is_current and not is_large:
            return watched.select(namespace, selector)
        return await self._shared_list(
            discovered, namespace, selector, field_selector, is_large=is_large
        )

    def _start(self, resource: Resource, field_selector: str) -> _Watched:
        watched = _Watched(
            self._client, resource.path(), field_selector, self._found, self._monotonic
        )
        self._watched[resource.path(), field_selector] = watched
        name = f"{resource.name}.{resource.group}" if resource.group else resource.name
        age = telemetry.OBJECTS_AGE_SECONDS.labels(name, "Running" if field_selector else "")
        age.set_function(lambda: watched.cache.age_seconds)
        self._spawn(watched.cache.run())
        return watched

    async def _shared_list(
        self,
        resource: Resource,
        namespace: str,
        selector: Selector,
        field_selector: str,
        *,
        is_large: bool,
    ) -> Sequence[KubeObject]:
        """List only these objects: the copy is slow to fill or outdated, the adapter may list this namespace but not the cluster, or
        there are objects with large labels (`is_large`).
        """
        key = (resource.path(quote(namespace, safe="")), str(selector), field_selector)
        fresh = self._fresh_lists.get(key)
        if fresh is not None:
            return fresh[0]
        return await self._lists.do(key, lambda: self._list(resource, key, is_large=is_large))

    async def _list(self, resource: Resource, key: _Key, *, is_large: bool) -> Sequence[KubeObject]:
        path, label_selector, field_selector = key
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        params = {name: text for name, text in selectors.items() if text}
        try:
            slots = self._large_list_slot if is_large else self._list_slots
            page_size = LARGE_LABELS_PAGE_SIZE if is_large else PAGE_SIZE
            found = _in_list_order(await self._pages(path, params, page_size, slots))
        except StatusError as error:
            if error.code != 403:
                raise Unavailable(f"cannot list {resource.name}: {error.message}") from error
            raise Unavailable(
                f"{error.message}. Grant the adapter's ServiceAccount the verbs list and watch on it"
            ) from error
        except msgspec.DecodeError as error:
            raise Unavailable(f"cannot list {resource.name}: the response is not a list") from error
        with contextlib.suppress(ValueError):  # It is larger than all may be.
            self._fresh_lists[key] = (found, _listed_bytes(key, found))
        return found

    async def _pages(
        self, path: str, selectors: dict[str, str], page_size: int, slots: asyncio.Semaphore
    ) -> Sequence[ListedObject]:
        found: list[ListedObject] = []
        get = partial(self._client.get, path, accept=METADATA_LIST)
        read_pages = 0
        try:
            async with asyncio.timeout(LIST_SECONDS), slots:
                async for page in pages(
                    path, get, selectors, page_size, objects_max=self._objects_max
                ):
                    found += (
                        with_bounded_labels(kube_json.decode(each, ListedObject))
                        for each in page.items
                    )
                    read_pages += 1
        except TimeoutError as error:
            raise Unavailable(
                f"the list of {path} did not end within {LIST_SECONDS:g} s: {len(found)} objects were read in {read_pages} pages"
            ) from error
        return found


def _found_bytes(namespace: str, selector: Selector, found: Sequence[_Place]) -> int:
    of_key = text_bytes(namespace) + selector_bytes(selector)
    return _RESULT_BYTES + of_key + _OBJECT_BYTES * len(found)


def _listed_bytes(key: _Key, found: Sequence[KubeObject]) -> int:
    texts = sum(map(text_bytes, key))
    labels = sum(len(each.labels) for each in found)
    return 2 * _RESULT_BYTES + texts + 4 * _OBJECT_BYTES * len(found) + LABEL_BYTES * labels


def _labels(listed: ListedObject) -> tuple[bool, dict[str, str]]:
    return listed.labels_left_out, listed.metadata.labels


async def _first_list(cache: WatchCache[ListedObject]) -> bool:
    """Whether the cache was filled in time; a cache that fails is not awaited."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LIST_SECONDS):
            await cache.attempted()
    return cache.is_synced


def _in_list_order(found: Iterable[ListedObject]) -> Sequence[KubeObject]:
    """As the API server lists: by namespace and name."""
    return sorted(
        map(_kube_object, found),
        key=lambda each: (each.namespace, each.name),
    )


def _kube_object(listed: ListedObject) -> KubeObject:
    metadata = listed.metadata
    return KubeObject(name=metadata.name, namespace=metadata.namespace, labels=metadata.labels)
