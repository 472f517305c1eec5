"""A copy of a collection, kept true by LIST and WATCH. Upstream: client-go's reflector and store.

The objects are decoded into the caller's struct, which names only the fields that it wants: that,
and the metadata-only mode, are what keep tens of thousands of objects cheap. A copy is always whole:
until the first LIST is complete it is empty and `synced()` waits; afterwards it may be old, never
partial, and `age_seconds` says how old.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

import msgspec

from wire import kube_json
from wire.backoff import Backoff
from wire.kube.requests import JSON, Watcher
from wire.meta import ListMeta
from wire.status import StatusError, Unavailable, from_response

PAGE_SIZE = 500
# client-go spreads the ends of its watches over five to ten minutes.
WATCH_SECONDS = 300.0
# A watch that ends sooner without a word counts as a failure, or we would ask again without pause.
WATCH_SECONDS_MIN = 1.0
METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
METADATA_OBJECT = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"

log = logging.getLogger(__name__)


class Metadata(Protocol):
    """The least a cache must know of an object; `wire.meta.ObjectMeta` has it."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class HasMetadata(Protocol):
    """An object of Kubernetes."""

    @property
    def metadata(self) -> Metadata: ...


T = TypeVar("T", bound=HasMetadata)
OnChange = Callable[[T | None, T | None], None]


class NameAndLabels(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Metadata without annotations and owners, which are the bulk of it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class PartialObject(msgspec.Struct, frozen=True):
    """An object of any kind of which only names and labels are wanted."""

    metadata: NameAndLabels


class _Page(msgspec.Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    # Not T: one object that does not decode must not hide the others.
    items: tuple[msgspec.Raw, ...] = ()


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: ListMeta


class _ExpiredError(Exception):
    """The resourceVersion that the watch would go on from is no longer known: list again."""


class WatchCache(Generic[T]):
    """The objects at `path`, as they are on the API server but for the length of a watch event."""

    def __init__(
        self,
        client: Watcher,
        path: str,
        decode_type: type[T],
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = PAGE_SIZE,
        on_change: OnChange[T] | None = None,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change(old, new)`: added when `old` is None, deleted when `new` is None. It is called
        after the copy has changed and must not block.
        """
        self.path = path
        self._client = client
        self._page_size = page_size
        self._decode_type = decode_type
        self._params = _selectors(label_selector, field_selector)
        self._accept_list = METADATA_LIST if metadata_only else JSON
        self._accept_object = METADATA_OBJECT if metadata_only else JSON
        self._listeners: list[OnChange[T]] = [on_change] if on_change else []
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._monotonic = monotonic
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._resource_version = ""
        self._synced = asyncio.Event()
        self._contact_at_seconds = monotonic()
        self.last_error = ""
        """Why the copy may be old; empty while it is kept up to date."""

    def add_listener(self, on_change: OnChange[T]) -> None:
        """One more to be told of every change from now on."""
        self._listeners.append(on_change)

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
    def is_synced(self) -> bool:
        """Whether the first LIST is complete."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait for the first LIST."""
        await self._synced.wait()

    @property
    def age_seconds(self) -> float:
        """Time since the API server last said anything. A quiet watch hears a bookmark every minute or so."""
        return self._monotonic() - self._contact_at_seconds

    async def run(self) -> None:
        """Keep the copy for ever; ends only by cancellation."""
        while True:
            try:
                if not self._resource_version:
                    await self._list()
                await self._watch()
                self._noted("")
                continue
            except _ExpiredError:
                self._resource_version = ""
                log.info("%s: listing again, the watch fell too far behind", self.path)
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._noted(str(error) or type(error).__name__)
            await self._sleep(self._backoff.next_seconds())

    async def _list(self) -> None:
        found: dict[str, dict[str, T]] = {}
        params = {**self._params, "limit": str(self._page_size)}
        while True:
            page = kube_json.decode(await self._asked_page(params), _Page)
            for raw in page.items:
                item = self._decoded(raw)
                if item is not None:
                    found.setdefault(item.metadata.namespace, {})[item.metadata.name] = item
            self._contact_at_seconds = self._monotonic()
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
        self._resource_version = page.metadata.resource_version
        self._replace(found)
        self._synced.set()
        self._backoff.reset()
        self._noted("")

    async def _asked_page(self, params: dict[str, str]) -> bytes:
        try:
            return await self._client.get(self.path, params, accept=self._accept_list)
        except StatusError as error:
            if error.code != 410:
                raise
            raise _ExpiredError from error  # paging took longer than etcd keeps history: from the start

    def _replace(self, found: dict[str, dict[str, T]]) -> None:
        before, self._by_namespace = self._by_namespace, found
        for namespace, named in before.items():
            for name, old in named.items():
                if self.get(namespace, name) is None:
                    self._tell(old, None)
        for namespace, named in list(found.items()):
            for name, new in list(named.items()):
                previous = before.get(namespace, {}).get(name)
                if (
                    previous is None
                    or previous.metadata.resource_version != new.metadata.resource_version
                ):
                    self._tell(previous, new)

    async def _watch(self) -> None:
        params = {
            **self._params,
            "resourceVersion": self._resource_version,
            "allowWatchBookmarks": "true",
        }
        started_seconds, events = self._monotonic(), 0
        lines = self._client.watch(
            self.path, params, accept=self._accept_object, timeout_seconds=WATCH_SECONDS
        )
        try:
            async with aclosing(lines):
                async for line in lines:
                    events += 1
                    self._contact_at_seconds = self._monotonic()
                    self._apply(kube_json.decode(line, _Event))
        except StatusError as error:
            if error.code == 410:
                raise _ExpiredError from error
            raise
        if not events and self._monotonic() - started_seconds < WATCH_SECONDS_MIN:
            raise Unavailable(f"the watch of {self.path} ended at once without an event")
        self._backoff.reset()

    def _apply(self, event: _Event) -> None:
        if event.type == "ERROR":
            error = from_response(500, bytes(event.object))
            raise _ExpiredError if error.code == 410 else error
        if event.type == "BOOKMARK":
            self._resource_version = kube_json.decode(
                event.object, _Bookmark
            ).metadata.resource_version
            return
        new = self._decoded(event.object)
        if new is None:
            # Its version is unknown to us, but a later event brings a later one.
            return
        self._resource_version = new.metadata.resource_version
        named = self._by_namespace.setdefault(new.metadata.namespace, {})
        old = named.get(new.metadata.name)
        if event.type == "DELETED":
            if named.pop(new.metadata.name, None) is not None:
                self._tell(old, None)
            if not named:
                del self._by_namespace[new.metadata.namespace]
        else:
            named[new.metadata.name] = new
            self._tell(old, new)

    def _decoded(self, raw: msgspec.Raw) -> T | None:
        try:
            return kube_json.decode(raw, self._decode_type)
        except msgspec.DecodeError as error:
            log.warning("%s: an object is passed over, it does not decode: %s", self.path, error)
            return None

    def _tell(self, old: T | None, new: T | None) -> None:
        for on_change in self._listeners:
            try:
                on_change(old, new)
            except Exception:
                # A listener's fault must neither stop the copy nor hide the change from the others.
                log.exception("%s: a listener failed", self.path)

    def _noted(self, error: str) -> None:
        """Speak when something changes, not at every attempt."""
        if error == self.last_error:
            return
        if error:
            log.warning("%s: the copy is not kept up to date: %s", self.path, error)
        else:
            log.info("%s: the copy is kept up to date again", self.path)
        self.last_error = error


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: text for name, text in both.items() if text}
