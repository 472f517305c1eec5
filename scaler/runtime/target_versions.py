"""Watches the versions of everything that is scaled: metadata only, one watch per resource."""

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from scaler.cluster.scales import Version, WatchedVersion
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher

# As for APIServices: at full load, two minutes pass between two bookmarks, and a GET of each Scale would add to that load.
AGE_SECONDS_MAX: Final = 150.0

Start = Callable[[Coroutine[Any, Any, None], str], object]
"""Starts a background task of this name."""


class _Identity(WatchedVersion, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    namespace: str = ""


class _Target(msgspec.Struct, frozen=True, gc=False):
    metadata: _Identity


class _VersionInCache:
    """The version of one object, while its cache is up to date. A closure would take 300 bytes more for each autoscaler."""

    __slots__ = ("_cache", "_name", "_namespace")

    def __init__(self, cache: WatchCache[_Target], namespace: str, name: str) -> None:
        self._cache = cache
        self._namespace = namespace
        self._name = name

    def __call__(self) -> WatchedVersion | None:
        cache = self._cache
        if cache.last_error or not cache.is_synced or cache.age_seconds > AGE_SECONDS_MAX:
            return None
        found = cache.get(self._namespace, self._name)
        return None if found is None else found.metadata


class TargetVersions:
    """One cache per resource (and namespace, if the scaler is limited to some), started when it is first needed.

    Without permission to list and watch a resource no version is known, and every reconcile reads the Scale.
    """

    def __init__(
        self,
        client: Watcher,
        namespaces: Sequence[str],
        start: Start,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: those that the scaler is limited to; empty for all."""
        self._client = client
        self._is_limited = bool(namespaces)
        self._start = start
        self._monotonic = monotonic
        self._caches: dict[str, WatchCache[_Target]] = {}

    def follow(self, scale_path: str) -> Version:
        """The version of the object whose Scale has this path, `/.../namespaces/NAMESPACE/RESOURCE/NAME/scale`."""
        before, _, rest = scale_path.partition("/namespaces/")
        namespace, resource, quoted, _ = rest.split("/")
        inside = f"/namespaces/{namespace}" if self._is_limited else ""
        cache = self._cache(f"{before}{inside}/{resource}")
        return _VersionInCache(cache, namespace, unquote(quoted))

    async def objects(self, collection_path: str) -> int | None:
        """How many there are, once the first LIST is complete; None if it failed. Starts to watch them."""
        cache = self._cache(collection_path)
        await cache.attempted()
        return len(cache) if cache.is_synced else None

    def _cache(self, path: str) -> WatchCache[_Target]:
        cache = self._caches.get(path)
        if cache is None:
            cache = self._caches[path] = WatchCache(
                self._client, path, _Target, metadata_only=True, monotonic=self._monotonic
            )
            self._start(cache.run(), f"watch {path}")
        return cache
