"""The objects of a collection as a cache has them, by namespace and name, and who is called when they change."""

import logging
from collections.abc import Callable, Collection, Iterator
from typing import Final, Generic

import msgspec

from wire.kube.list_and_watch import is_earlier
from wire.kube.object_reading import Part, T, metadata_of

OnChange = Callable[[T | None, T | None], None]
Named = dict[str, dict[str, T]]
"""Objects by namespace and name."""

COPY_AGE_SECONDS_MAX: Final = 360.0
"""A healthy copy is confirmed by a bookmark every minute, and at the latest when its watch ends, after five minutes. By one that
is older nothing is scaled down."""

log = logging.getLogger(__name__)


class Change(msgspec.Struct, Generic[T], frozen=True):
    """An event of a watch: the object, or the last copy of one that cannot be read any more, and the version of the event."""

    object: T
    version: str
    is_deleted: bool


class ObjectCopy(Generic[T]):
    """Those of the namespaces of a part; without a part, all."""

    def __init__(
        self,
        path: str,
        part: Part | None,
        on_change: OnChange[T] | None,
        on_crash: Callable[[], object],
    ) -> None:
        """`on_change` and `on_crash`: see `wire.kube.cache.WatchCache`."""
        self._path = path
        self._part = part
        self._on_change = on_change
        self._on_crash = on_crash
        self._by_namespace: Named[T] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def items(self) -> Iterator[T]:
        """Every object."""
        for named in self._by_namespace.values():
            yield from named.values()

    def get(self, namespace: str, name: str) -> T | None:
        """One object."""
        return self._by_namespace.get(namespace, {}).get(name)

    def of_namespace(self, namespace: str) -> Collection[T]:
        """A live view."""
        return self._by_namespace.get(namespace, {}).values()

    def previous(self, raw: msgspec.Raw) -> T | None:
        """The copy of an object that can no longer be read: it still exists, and must not seem deleted."""
        metadata = metadata_of(raw)
        return None if metadata is None else self.get(metadata.namespace, metadata.name)

    def apply(self, change: Change[T]) -> None:
        """Take an event."""
        new = change.object
        old = self.get(new.metadata.namespace, new.metadata.name)
        _apply(self._by_namespace, change)
        if change.is_deleted and old is not None:
            self._count -= 1
            self._notify(old, None)
        elif not change.is_deleted:
            self._count += old is None
            self._notify(old, new)

    def replace(self, found: Named[T], *, versions_repeat: bool) -> None:
        """Take a LIST. `versions_repeat`: the same version may be another object, as after a restore of etcd."""
        found = {name: named for name, named in found.items() if named and self._keeps(name)}
        before, self._by_namespace = self._by_namespace, found
        self._count = sum(map(len, found.values()))
        for namespace, named in before.items():
            for name, old in named.items():
                if self.get(namespace, name) is None:
                    self._notify(old, None)
        for namespace, named in list(found.items()):
            for name, new in list(named.items()):
                previous = before.get(namespace, {}).get(name)
                if (
                    previous is not None
                    and not versions_repeat
                    and previous.metadata.resource_version == new.metadata.resource_version
                ):
                    # Also what the caller may have kept: an equal object would take its memory twice.
                    found[namespace][name] = previous
                else:
                    self._notify(previous, new)

    def keep_part(self) -> None:
        """Drop what is not in the part any more."""
        for namespace in [each for each in self._by_namespace if not self._keeps(each)]:
            dropped = self._by_namespace.pop(namespace)
            self._count -= len(dropped)
            for old in dropped.values():
                self._notify(old, None)

    def _keeps(self, namespace: str) -> bool:
        return self._part is None or namespace in self._part

    def _notify(self, old: T | None, new: T | None) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(old, new)
        except Exception:
            # The caller's bug must not stop the copy.
            self._on_crash()
            log.exception("%s: handling a change failed", self._path)


def with_later(found: Named[T], version: str, changes: Collection[Change[T]]) -> Named[T]:
    """A LIST of this resourceVersion, and those of the changes that came after it."""
    for each in changes:
        if is_earlier(version, each.version):
            _apply(found, each)
    return found


def _apply(objects: Named[T], change: Change[T]) -> None:
    metadata = change.object.metadata
    if not change.is_deleted:
        objects.setdefault(metadata.namespace, {})[metadata.name] = change.object
        return
    named = objects.get(metadata.namespace, {})
    named.pop(metadata.name, None)
    if not named:
        objects.pop(metadata.namespace, None)
