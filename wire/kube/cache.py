"""A local copy of a collection, kept up to date by LIST and WATCH. Upstream: client-go's reflector and store.

The objects are decoded into the caller's struct, which names only the fields that it needs: that, and the metadata-only mode,
are what keeps tens of thousands of objects cheap. The copy is always whole: until the first LIST is complete it is empty and
`synced()` waits; afterwards it may be old, and `age_seconds` says how old at most. Without permission to watch it is listed periodically.

It may be the copy of a part, some namespaces: the others are still sent by the API server, but not decoded. When the part has grown,
it is listed again (`relisted`) beside the watch, so that the copy of what was in the part before is kept up to date meanwhile. It is always
that of one LIST and the changes since.
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
    OBJECTS_MAX,
    Bookmark,
    Expired,
    WatchEvent,
    WatchRefused,
    in_pages,
    is_earlier,
    list_page,
    pages,
    selectors,
)
from wire.kube.list_progress import ListProgress
from wire.kube.metadata_only import METADATA_LIST, METADATA_OBJECT
from wire.kube.object_copy import Change, Named, ObjectCopy, OnChange, with_later
from wire.kube.object_reading import ObjectReader, Part, T, version_of
from wire.kube.requests import JSON, Watcher
from wire.kube.watch_pace import WATCH_SECONDS, WATCH_SECONDS_MIN, WatchPace
from wire.process.backoff import Backoff
from wire.process.first_of import first_of
from wire.process.problem_log import ProblemLog

PAGE_SIZE = 500
# Without permission to watch: the pause between two LISTs, and how many times a LIST's own duration it is at least.
RELIST_SECONDS = 15.0
RELIST_DURATIONS = 10.0
# Not allowed, and a resource that has no watch.
WATCH_REFUSED_CODES = (403, 405)
log = logging.getLogger(__name__)


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
        super().__init__(is_part=part is not None)
        self.path = path
        self._client = client
        self._page_size = page_size
        self._objects_max = objects_max
        self._reader = ObjectReader(path, decode_type, convert, part, on_crash=on_crash)
        self._copy: ObjectCopy[T] = ObjectCopy(path, part, on_change, on_crash)
        self._on_watch = on_watch
        self._params = selectors(label_selector, field_selector)
        self._accept_list = METADATA_LIST if metadata_only else JSON
        self._accept_object = METADATA_OBJECT if metadata_only else JSON
        self._pace = WatchPace(backoff or Backoff(), monotonic)
        self._list_backoff = Backoff()
        self._sleep = sleep
        self._monotonic = monotonic
        self._resource_version = ""
        self._copy_version = ""
        self._confirmed_at_seconds = monotonic()
        self._list_duration_seconds = 0.0
        self._is_watch_refused = False
        self._was_watch_accepted = False
        self._was_interrupted = self._lists_first = False
        """The second: whether the last watch has failed, so that a LIST that was requested does not wait for the next one."""
        self._restored_from = ""
        self._listed_version = ""
        """That of a LIST beside the watch, which may still send what that LIST has."""
        self._changes: list[Change[T]] | None = None
        """Those since a LIST beside the watch has begun."""
        self.listed_count = 0
        """How many objects the last LIST had, also those that are not in the part."""
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
        return self._copy.get(namespace, name)

    def list(self, namespace: str | None = None) -> Collection[T]:
        """The objects of one namespace, or all. A live view: do not keep it across an await."""
        return tuple(self.items) if namespace is None else self._copy.of_namespace(namespace)

    @property
    def items(self) -> Iterator[T]:
        """Every object."""
        return self._copy.items

    def __len__(self) -> int:
        return len(self._copy)

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
                lists_first, self._lists_first = self._lists_first, False
                if not self._resource_version or (lists_first and self._is_list_due):
                    await self._list()
                self._was_interrupted = False
                await self._follow()
                await self._pause_before_next_watch()
                continue
            except Expired:
                self._resource_version = ""
                log.info("%s: listing again, the watch fell too far behind", self.path)
                self._pace.expired()
            except WatchRefused as refusal:
                self._resource_version = ""
                pause_seconds = self._pause_after_refused_watch(str(refusal))
            except (StatusError, msgspec.DecodeError) as error:
                if not (isinstance(error, StatusError) and error.code == 429):
                    # As client-go: what the server refuses once it may refuse whenever it is sent this version.
                    self._resource_version = ""
                if isinstance(error, StatusError) and error.code == 403:
                    self._list_refused()
                self._problem.set(str(error) or type(error).__name__)
            except Unavailable as error:
                self._was_interrupted = True
                self._problem.set(str(error))
            self._attempted.set()
            if pause_seconds is None:
                lists_first = not self._resource_version
                pause_seconds = self._pace.pause_after_failure_seconds(lists_first=lists_first)
            await self._pause(self._sleep, pause_seconds)

    async def _pause_before_next_watch(self) -> None:
        pause_seconds = self._pace.pause_seconds(lists_first=not self._resource_version)
        if pause_seconds:
            await self._pause(self._sleep, pause_seconds)

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
        """Replace the copy."""
        started_seconds, requested = self._monotonic(), self._requested
        found, self._resource_version = await self._listed()
        if is_earlier(self._resource_version, self._copy_version):
            log.warning(
                "%s: the resourceVersion was %s and is %s, as after a restore of etcd from a backup",
                self.path, self._copy_version, self._resource_version,
            )  # fmt: skip
            self._restored_from = self._copy_version
        self._copy_version = self._resource_version
        self._listed_version = ""
        self._take(found, started_seconds, requested)
        if not self._is_watch_refused:
            self._problem.set(None)

    async def _list_beside(self) -> None:
        """Replace the copy by a LIST and by what the watch has reported since it began.

        Raises `Expired` if both cannot be put in an order: the versions have gone back, or they are not numbers.
        """
        started_seconds, requested = self._monotonic(), self._requested
        known = self._copy_version
        self._changes = []
        try:
            found, version = await self._listed()
            changes = self._changes
        finally:
            self._changes = None
        if not (version == known or is_earlier(known, version)):
            raise Expired
        self._listed_version = version
        if is_earlier(self._copy_version, version):
            self._copy_version = version
        self._take(with_later(found, version, changes), started_seconds, requested)

    def _take(self, found: Named[T], started_seconds: float, requested: int) -> None:
        # A restore lets the same version be another object.
        self._copy.replace(found, versions_repeat=bool(self._restored_from))
        # What the LIST returned was true when it began.
        self._confirmed_at_seconds = max(self._confirmed_at_seconds, started_seconds)
        self.listed_at_seconds = started_seconds
        self._list_duration_seconds = self._monotonic() - started_seconds
        self._list_ended(requested)

    async def _listed(self) -> tuple[Named[T], str]:
        return await in_pages(self._listed_by, self._page_size)

    async def _listed_by(self, page_size: int | None) -> tuple[Named[T], str]:
        """Every object, page by page, and the resourceVersion of the whole."""
        found: Named[T] = {}
        count, version = 0, ""
        async for page in pages(
            self.path, self._page, self._params, page_size, objects_max=self._objects_max
        ):
            version = page.metadata.resource_version
            count += len(page.items)
            for raw in page.items:
                if self._reader.version_elsewhere(raw) is not None:
                    continue
                item = self._reader.read(raw) or self._copy.previous(raw)
                if item is not None:
                    found.setdefault(item.metadata.namespace, {})[item.metadata.name] = item
        self.listed_count = count
        return found, version

    async def _page(self, params: dict[str, str]) -> bytes:
        try:
            return await self._client.get(self.path, params, accept=self._accept_list)
        except StatusError as error:
            if error.code == 410 and "continue" in params:
                raise Expired from error  # paging took longer than etcd keeps history
            raise

    async def _follow(self) -> None:
        """Watch; a LIST that is requested meanwhile is read beside it, which only a part needs."""
        try:
            watching = self._watch()
            await (first_of(watching, self._list_when_due()) if self._is_part else watching)
        except BaseException:
            self._lists_first = True
            raise

    async def _list_when_due(self) -> None:
        """Ends only by an exception."""
        while True:
            await self._list_due()
            try:
                await self._list_beside()
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                log.warning("%s cannot be listed again: %s", self.path, error)
                await self._pause(self._sleep, self._list_backoff.next_seconds())
            else:
                self._list_backoff.reset()

    async def _watch(self) -> None:
        params = {
            **self._params,
            "resourceVersion": self._resource_version,
            "allowWatchBookmarks": "true",
        }
        events = 0
        self._pace.begin()
        lines = self._client.watch(
            self.path,
            params,
            accept=self._accept_object,
            timeout_seconds=WATCH_SECONDS,
            on_accepted=self._opened,
        )
        try:
            async with aclosing(lines):
                async for line in lines:
                    events += 1
                    self._apply(kube_json.decode(line, WatchEvent))
        except StatusError as error:
            if error.code == 410:
                raise Expired from error
            if error.code in WATCH_REFUSED_CODES:
                raise WatchRefused(str(error)) from error
            raise
        finally:
            self._pace.end()
        if not events and self._pace.duration_seconds < WATCH_SECONDS_MIN:
            raise Unavailable(f"the watch of {self.path} ended at once without an event")
        if self._pace.duration_seconds >= WATCH_SECONDS - WATCH_SECONDS_MIN:
            # The server ended it when its time was up, so it was alive and had nothing more to report.
            self._confirmed_at_seconds = self._monotonic()

    def _apply(self, event: WatchEvent) -> None:
        if event.type == "ERROR":
            error = from_response(500, bytes(event.object))
            raise Expired if error.code == 410 else error
        if event.type == "BOOKMARK":
            self._advance(kube_json.decode(event.object, Bookmark).metadata.resource_version)
        elif (version := self._reader.version_elsewhere(event.object)) is not None:
            self._advance(version)
        elif (new := self._reader.read(event.object)) is not None:
            self._advance(new.metadata.resource_version)
            self._store(Change(new, self._resource_version, event.type == "DELETED"))
        elif event.type == "DELETED" and (old := self._copy.previous(event.object)) is not None:
            self._store(Change(old, version_of(event.object), is_deleted=True))
        # Else the object's resourceVersion is unknown, but a later event brings a later one.
        if not is_earlier(self._resource_version, self._listed_version):
            self._copy_version = self._resource_version
        self._confirmed_at_seconds = self._monotonic()

    def _advance(self, version: str) -> None:
        """An event without a version changes nothing: without one, everything would be listed again."""
        self._resource_version = version or self._resource_version

    def _opened(self) -> None:
        """The watch will report every change: the next event may be a long time away."""
        self._pace.accept()
        self._is_watch_refused = False
        self._was_watch_accepted = True
        self._problem.set(None)
        self._on_watch()

    def _store(self, change: Change[T]) -> None:
        if self._listed_version and not is_earlier(self._listed_version, change.version):
            return  # The LIST beside the watch has it already.
        if self._changes is not None:
            self._changes.append(change)
        self._copy.apply(change)

    def keep_part(self) -> None:
        """Drop what is not in the part any more."""
        self._copy.keep_part()
