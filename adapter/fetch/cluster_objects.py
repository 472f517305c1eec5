"""The objects behind a label selector.

They come from watch caches of their metadata, one for each resource that was ever requested, started by the first
request. prometheus-adapter sends a LIST of whole objects for every request, at most five a second.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.model import PODS, GroupResource, KubeObject
from wire import kube_json
from wire.kube.cache import METADATA_LIST, PartialObject, WatchCache
from wire.kube.mapping import Resource
from wire.kube.requests import Watcher
from wire.labels import Selector
from wire.status import StatusError, Unavailable

FIRST_LIST_SECONDS = 5.0
"""How long the first request for a resource waits for its watch cache before it lists only its own objects."""
FIRST_LIST_POLL_SECONDS = 0.02

SELECTORS_MAX = 10_000
"""Results kept for one namespace of one resource; a client that invents selectors cannot fill the memory."""

RUNNING = "status.phase=Running"


class _Watched:
    """One resource's watch cache, and the results of selectors on it until a name or label changes."""

    def __init__(self, client: Watcher, path: str, field_selector: str) -> None:
        self.cache = WatchCache(
            client,
            path,
            PartialObject,
            field_selector=field_selector,
            metadata_only=True,
            on_change=self._changed,
        )
        self._found: dict[str, dict[Selector, Sequence[KubeObject]]] = {}

    def select(self, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        remembered = self._found.setdefault(namespace, {})
        found = remembered.get(selector)
        if found is None:
            if len(remembered) >= SELECTORS_MAX:
                remembered.clear()
            items = self.cache.list(namespace or None)
            found = remembered[selector] = _in_list_order(
                each for each in items if selector.matches(each.metadata.labels)
            )
        return found

    def _changed(self, old: PartialObject | None, new: PartialObject | None) -> None:
        # Most events change a status, which does not matter here.
        if old is None or new is None or old.metadata.labels != new.metadata.labels:
            changed = new or old
            self._found.pop("", None)
            if changed:
                self._found.pop(changed.metadata.namespace, None)


class WatchedObjects:
    """`ObjectNames` from watch caches; `spawn` runs the watches until the program ends."""

    def __init__(
        self,
        client: Watcher,
        mapping: ClusterMapping,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._client = client
        self._mapping = mapping
        self._spawn = spawn
        self._watched: dict[tuple[str, str], _Watched] = {}

    async def objects(
        self, resource: GroupResource, *, namespace: str, selector: Selector
    ) -> Sequence[KubeObject]:
        """Matching objects, in the order of a LIST."""
        return await self._objects(resource, namespace, selector, "")

    async def running_pods(self, *, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        """Matching pods whose phase is Running, as for the resource metrics of prometheus-adapter."""
        return await self._objects(PODS, namespace, selector, RUNNING)

    async def _objects(
        self, resource: GroupResource, namespace: str, selector: Selector, field_selector: str
    ) -> Sequence[KubeObject]:
        discovered = self._mapping.resource(resource)
        watched = self._watched.get((discovered.path(), field_selector))
        if watched is None:
            watched = self._start(discovered, field_selector)
        if not watched.cache.is_synced and not await _first_list(watched.cache):
            return await self._list(discovered, namespace, selector, field_selector)
        return watched.select(namespace, selector)

    def _start(self, resource: Resource, field_selector: str) -> _Watched:
        watched = _Watched(self._client, resource.path(), field_selector)
        self._watched[resource.path(), field_selector] = watched
        self._spawn(watched.cache.run())
        return watched

    async def _list(
        self, resource: Resource, namespace: str, selector: Selector, field_selector: str
    ) -> Sequence[KubeObject]:
        """List only these objects: the cache is slow to fill, or the adapter may list this namespace but not the cluster."""
        parameters = {"labelSelector": str(selector), "fieldSelector": field_selector}
        path = resource.path(quote(namespace, safe=""))
        try:
            body = await self._client.get(
                path,
                {name: text for name, text in parameters.items() if text},
                accept=METADATA_LIST,
            )
        except StatusError as error:
            if error.code != 403:
                raise Unavailable(f"cannot list {resource.name}: {error.message}") from error
            raise Unavailable(
                f"{error.message}. Grant the adapter's ServiceAccount the verbs list and watch on it"
            ) from error
        try:
            return _in_list_order(kube_json.decode(body, _List).items)
        except msgspec.DecodeError as error:
            raise Unavailable(f"cannot list {resource.name}: the response is not a list") from error


class _List(msgspec.Struct, frozen=True):
    items: tuple[PartialObject, ...] = ()


async def _first_list(cache: WatchCache[PartialObject]) -> bool:
    """Whether the cache was filled in time; a cache that fails is not awaited."""
    for _ in range(int(FIRST_LIST_SECONDS / FIRST_LIST_POLL_SECONDS)):
        if cache.is_synced or cache.last_error:
            break
        await asyncio.sleep(FIRST_LIST_POLL_SECONDS)
    return cache.is_synced


def _in_list_order(found: Iterable[PartialObject]) -> Sequence[KubeObject]:
    """As the API server lists: by namespace and name."""
    return sorted(
        (
            KubeObject(
                name=each.metadata.name,
                namespace=each.metadata.namespace,
                labels=each.metadata.labels,
            )
            for each in found
        ),
        key=lambda each: (each.namespace, each.name),
    )
