"""A local copy of a collection, kept up to date by LIST and WATCH. Upstream: client-go's reflector and store.

The objects are decoded into the caller's struct, which names only the fields that it needs: that, and the metadata-only mode,
are what keeps tens of thousands of objects cheap. The copy is always whole: until the first LIST is complete it is empty and
`synced()` waits; afterwards it may be old, and `age_seconds` says how old at most. Without permission to watch it is listed periodically.

It may be the copy of a part, some namespaces: the others are still sent by the API server, but not decoded. When the part has grown,
it is listed again (`relisted`), so the copy is always that of one LIST and the changes since.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import aclosing
from typing import Generic

import msgspec

from wire.api import kube_json
from wire.api.status import StatusError, Unavailable, from_response
from wire.kube.list_and_watch import (
    Bookmark,
    Expired,
    WatchEvent,
    WatchRefused,
    is_earlier,
    list_page,
    pages,
    selectors,
)
from wire.kube.list_progress import ListProgress
from wire.kube.metadata_only import METADATA_LIST, METADATA_OBJECT
from wire.kube.object_reading import ObjectReader, Part, T, metadata_of
from wire.kube.requests import JSON, Watcher
from wire.process.backoff import Backoff
from wire.process.problem_log import ProblemLog

PAGE_SIZE = 500
# A server that pages without end must not fill the memory.
OBJECTS_MAX = 1_000_000
# client-go spreads the ends of its watches over five to ten minutes.
WATCH_SECONDS = 300.0
# A watch that ends sooner and without an event counts as a failure, or the next would follow without a pause.
WATCH_SECONDS_MIN = 1.0
# Without permission to watch: the pause between two LISTs, and how many times a LIST's own duration it is at least.
RELIST_SECONDS = 15.0
RELIST_DURATIONS = 10.0
# Not allowed, and a resource that has no watch.
WATCH_REFUSED_CODES = (403, 405)
log = logging.getLogger(__name__)

OnChange = Callable[[T | None, T | None], None]


class WatchCache(ListProgress, Generic[T]):
    """The objects at `path`, as they were on the API server `age_seconds` ago or later."""

    def __init__(
        self,
        client: Watcher,
        path: str,
        decode_type: type[T],
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        part: Part | None = None,
        page_size: int = PAGE_SIZE,
        objects_max: int = OBJECTS_MAX,
        convert: Callable[[T], T] | None = None,
        on_change: OnChange[T] | None = None,
        on_crash: Callable[[], object] = lambda: None,
        on_watch: Callable[[], object] = lambda: None,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change(old, new)`: added when `old` is None, deleted when `new` is None. It is called after the copy has changed and must
        not block. `convert` makes of a decoded object what is kept. `on_crash` counts the exceptions of both: they are logged, and
        concern that object only. `on_watch` is called whenever a watch was accepted. `part`: the namespaces whose objects are kept;
        None for all.
        """
        super().__init__()
        self.path = path
        self._client = client
        self._part = part
        self._page_size = page_size
        self._objects_max = objects_max
        self._reader = ObjectReader(path, decode_type, convert, part, on_crash=on_crash)
        self._on_crash = on_crash
        self._on_watch = on_watch
        self._params = selectors(label_selector, field_selector)
        self._accept_list = METADATA_LIST if metadata_only else JSON
        self._accept_object = METADATA_OBJECT if metadata_only else JSON
        self._on_change = on_change
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._monotonic = monotonic
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._resource_version = ""
        self._copy_version = ""
        self._confirmed_at_seconds = monotonic()
        self._list_duration_seconds = 0.0
        self._is_watch_refused = False
        self._was_watch_accepted = False
        self._was_interrupted = False
        self._restored_from = ""
        self.listed_at_seconds = -math.inf
        """When the LIST began that the copy was made from last, by the monotonic clock."""
        self._problem = ProblemLog(
            log,
            failing=f"{path} is not kept up to date",
            recovered=f"{path} is kept up to date again",
        )

    @property
    def last_error(self) -> str | None:
        """Why the copy may be old; None while a watch keeps it up to date."""
        return self._problem.problem

    @property
    def resource_version(self) -> str:
        """That of the newest change which is in the copy, or of a later bookmark; empty before the first LIST.

        Also empty after a restore of etcd, until the versions are later than all before: they cannot be compared with these.
        """
        return "" if is_earlier(self._copy_version, self._restored_from) else self._copy_version

    def get(self, namespace: str, name: str) -> T | None:
        """One object; the namespace of a cluster-scoped one is empty."""
        return self._by_namespace.get(namespace, {}).get(name)

    def list(self, namespace: str | None = None) -> Collection[T]:
        """The objects of one namespace, or all. A live view: do not keep it across an await."""
        if namespace is not None:
            return self._by_namespace.get(namespace, {}).values()
        return tuple(self.items)

    @property
    def items(self) -> Iterator[T]:
        """Every object."""
        for named in self._by_namespace.values():
            yield from named.values()

    def __len__(self) -> int:
        return sum(map(len, self._by_namespace.values()))

    @property
    def age_seconds(self) -> float:
        """How long ago the API server last confirmed the copy, by an event, a bookmark or a complete LIST.

        kube-apiserver sends a bookmark about once a minute when nothing changes, so a healthy copy
        stays below two minutes. Before the first LIST it is the time since the cache was made.
        """
        return self._monotonic() - self._confirmed_at_seconds

    async def run(self) -> None:
        """Keep the copy up to date until cancelled."""
        while True:
            pause_seconds = None
            try:
                if await self._has_gone_back():
                    self._resource_version = ""
                while self._is_list_due or not self._resource_version:
                    await self._list()
                self._was_interrupted = False
                await self._watch()
                self._works()
                continue
            except Expired:
                self._resource_version = ""
                log.info("%s: listing again, the watch fell too far behind", self.path)
            except WatchRefused as refusal:
                self._resource_version = ""
                pause_seconds = self._pause_after_refused_watch(str(refusal))
            except (StatusError, msgspec.DecodeError) as error:
                if not (isinstance(error, StatusError) and error.code == 429):
                    # As client-go: what the server refuses once it may refuse whenever it is sent this version.
                    self._resource_version = ""
                if isinstance(error, StatusError) and error.code == 403:
                    self._listed_or_refused.set()
                self._problem.set(str(error) or type(error).__name__)
            except Unavailable as error:
                self._was_interrupted = True
                self._problem.set(str(error))
            self._attempted.set()
            await self._sleep(
                self._backoff.next_seconds() if pause_seconds is None else pause_seconds
            )

    def _pause_after_refused_watch(self, refusal: str) -> float | None:
        """In seconds. None, which is the usual backoff, when the last watch was accepted.

        A kube-apiserver that has just started refuses everything until it has read the roles.
        """
        self._is_watch_refused = True
        if self._was_watch_accepted:
            self._was_watch_accepted = False
            self._problem.set(refusal)
            return None
        self._problem.set(
            f"{refusal}. It is listed every {RELIST_SECONDS:g} s or more instead: "
            "grant the verb watch to see changes at once"
        )
        return max(RELIST_SECONDS, RELIST_DURATIONS * self._list_duration_seconds)

    async def _has_gone_back(self) -> bool:
        """Whether the versions are earlier than the copy's, after a connection failed: etcd was restored from a backup.

        kube-apiserver accepts a watch from a version that is in the future, and sends nothing until it has come.
        """
        if not (self._was_interrupted and self._resource_version):
            return False
        # Without a resourceVersion it is a consistent read. With the selectors, as rights may depend on them.
        body = await self._page({**self._params, "limit": "1"})
        return is_earlier(list_page(body).metadata.resource_version, self._resource_version)

    async def _list(self) -> None:
        """Replace the copy. Upstream: client-go's pager, which lists in one piece when paging took too long."""
        started_seconds, requested = self._monotonic(), self._requested
        try:
            found, self._resource_version = await self._listed(self._page_size)
        except Expired:
            found, self._resource_version = await self._listed(None)
        if is_earlier(self._resource_version, self._copy_version):
            log.warning(
                "%s: the resourceVersion was %s and is %s, as after a restore of etcd from a backup",
                self.path, self._copy_version, self._resource_version,
            )  # fmt: skip
            self._restored_from = self._copy_version
        self._copy_version = self._resource_version
        self._replace(found)
        # What the LIST returned was true when it began.
        self._confirmed_at_seconds = self.listed_at_seconds = started_seconds
        self._list_duration_seconds = self._monotonic() - started_seconds
        self._list_ended(requested)
        if not self._is_watch_refused:
            self._problem.set(None)

    async def _listed(self, page_size: int | None) -> tuple[dict[str, dict[str, T]], str]:
        """Every object, page by page, and the resourceVersion of the whole."""
        found: dict[str, dict[str, T]] = {}
        count, version = 0, ""
        keeps_nothing = self._part is not None and not self._part
        async for page in pages(self._page, self._params, 1 if keeps_nothing else page_size):
            version = page.metadata.resource_version
            if keeps_nothing:
                break
            count += max(1, len(page.items))  # a page may be empty and still not the last one
            if count > self._objects_max:
                raise Unavailable(f"{self.path} has more than {self._objects_max} objects")
            for raw in page.items:
                if self._reader.version_elsewhere(raw) is not None:
                    continue
                item = self._reader.read(raw) or self._previous(raw)
                if item is not None:
                    found.setdefault(item.metadata.namespace, {})[item.metadata.name] = item
        return {name: named for name, named in found.items() if self._keeps(name)}, version

    async def _page(self, params: dict[str, str]) -> bytes:
        try:
            return await self._client.get(self.path, params, accept=self._accept_list)
        except StatusError as error:
            if error.code == 410 and "continue" in params:
                raise Expired from error  # paging took longer than etcd keeps history
            raise

    def _replace(self, found: dict[str, dict[str, T]]) -> None:
        before, self._by_namespace = self._by_namespace, found
        for namespace, named in before.items():
            for name, old in named.items():
                if self.get(namespace, name) is None:
                    self._notify(old, None)
        for namespace, named in list(found.items()):
            for name, new in list(named.items()):
                previous = before.get(namespace, {}).get(name)
                if (
                    previous is not None
                    and not self._restored_from  # which lets the same version be another object
                    and previous.metadata.resource_version == new.metadata.resource_version
                ):
                    # Also what the caller may have kept: an equal object would take its memory twice.
                    found[namespace][name] = previous
                else:
                    self._notify(previous, new)

    async def _watch(self) -> None:
        params = {
            **self._params,
            "resourceVersion": self._resource_version,
            "allowWatchBookmarks": "true",
        }
        started_seconds, events = self._monotonic(), 0
        lines = self._client.watch(
            self.path,
            params,
            accept=self._accept_object,
            timeout_seconds=WATCH_SECONDS,
            on_accepted=self._opened,
        )
        try:
            async with aclosing(lines), asyncio.timeout(None) as self._watching:
                async for line in lines:
                    events += 1
                    self._apply(kube_json.decode(line, WatchEvent))
        except StatusError as error:
            if error.code == 410:
                raise Expired from error
            if error.code in WATCH_REFUSED_CODES:
                raise WatchRefused(str(error)) from error
            raise
        except TimeoutError:
            if self._is_list_due:
                return
            raise
        finally:
            self._watching = None
        duration_seconds = self._monotonic() - started_seconds
        if not events and duration_seconds < WATCH_SECONDS_MIN:
            raise Unavailable(f"the watch of {self.path} ended at once without an event")
        if duration_seconds >= WATCH_SECONDS - WATCH_SECONDS_MIN:
            # The server ended it when its time was up, so it was alive and had nothing more to report.
            self._confirmed_at_seconds = self._monotonic()

    def _apply(self, event: WatchEvent) -> None:
        if event.type == "ERROR":
            error = from_response(500, bytes(event.object))
            raise Expired if error.code == 410 else error
        if event.type == "BOOKMARK":
            self._resource_version = kube_json.decode(
                event.object, Bookmark
            ).metadata.resource_version
        elif (version := self._reader.version_elsewhere(event.object)) is not None:
            self._resource_version = version
        elif (new := self._reader.read(event.object)) is not None:
            self._resource_version = new.metadata.resource_version
            self._store(new, is_deleted=event.type == "DELETED")
        elif event.type == "DELETED" and (old := self._previous(event.object)) is not None:
            self._store(old, is_deleted=True)
        # Else the object's resourceVersion is unknown, but a later event brings a later one.
        self._copy_version = self._resource_version
        self._confirmed_at_seconds = self._monotonic()
        self._works()

    def _opened(self) -> None:
        self._accepted()
        self._on_watch()

    def _accepted(self) -> None:
        """The watch will report every change: the next event may be a long time away."""
        self._is_watch_refused = False
        self._was_watch_accepted = True
        self._problem.set(None)

    def _works(self) -> None:
        """The watch delivers: what was wrong before is over."""
        self._accepted()
        self._backoff.reset()

    def _store(self, new: T, *, is_deleted: bool) -> None:
        named = self._by_namespace.setdefault(new.metadata.namespace, {})
        old = named.get(new.metadata.name)
        if not is_deleted:
            named[new.metadata.name] = new
            self._notify(old, new)
            return
        if named.pop(new.metadata.name, None) is not None:
            self._notify(old, None)
        if not named:
            del self._by_namespace[new.metadata.namespace]

    def keep_part(self) -> None:
        """Drop what is not in the part any more."""
        for namespace in [each for each in self._by_namespace if not self._keeps(each)]:
            for old in self._by_namespace.pop(namespace).values():
                self._notify(old, None)

    def _keeps(self, namespace: str) -> bool:
        return self._part is None or namespace in self._part

    def _previous(self, raw: msgspec.Raw) -> T | None:
        """The copy of an object that can no longer be read: it still exists, and must not seem deleted."""
        metadata = metadata_of(raw)
        return None if metadata is None else self.get(metadata.namespace, metadata.name)

    def _notify(self, old: T | None, new: T | None) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(old, new)
        except Exception:
            # The caller's bug must not stop the copy.
            self._on_crash()
            log.exception("%s: handling a change failed", self.path)
