"""Watches the autoscalers of one kind, in all namespaces or in some.

An item of a LIST has neither kind nor apiVersion, but a write needs both: they are added here. Texts that thousands of
autoscalers have in common, such as the messages of their conditions, are kept once.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import intern

import msgspec
from cachetools import LRUCache
from msgspec.structs import force_setattr

from scaler.algorithm.spec_limits import shortened
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from wire.api.meta import ObjectMeta
from wire.kube.cache import WatchCache
from wire.kube.object_copy import OnChange
from wire.kube.object_reading import Part
from wire.kube.requests import Watcher

# What is forgotten is only stored once more.
MESSAGES_MAX = 10_000
# A longer one names what only one autoscaler has. All together are 20 MB at most.
MESSAGE_CHARACTERS_MAX = 512
# Of the metadata of one autoscaler. kube-apiserver limits annotations alone, to 262,144 characters; the others could be as
# many as fit into 1.5 MB, which take ten times as much in memory.
METADATA_TEXTS_MAX = 1_000
METADATA_CHARACTERS_MAX = 400_000


class WatchedAutoscalers:
    """The cached autoscalers of one kind, by `namespace/name`."""

    def __init__(
        self,
        client: Watcher,
        kind: WatchedKind,
        namespaces: Sequence[str],
        *,
        part: Part | None = None,
        on_change: OnChange[Autoscaler] | None = None,
        on_crash: Callable[[], object] = lambda: None,
        on_watch: Callable[[], object] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all namespaces; `part`: those of them whose autoscalers are kept, None for all. `on_crash` is called when one autoscaler cannot be kept because of a bug,
        `on_watch` whenever a watch was accepted."""
        self.kind = kind
        self._messages: LRUCache[str, str] = LRUCache(MESSAGES_MAX)
        self.caches = [
            WatchCache(
                client,
                path,
                Autoscaler,
                part=part,
                convert=self._completed,
                on_change=on_change,
                on_crash=on_crash,
                on_watch=on_watch,
                monotonic=monotonic,
            )
            for path in collections(kind, namespaces)
        ]

    def get(self, key: str) -> Autoscaler | None:
        """One autoscaler, the same object until it changes; None when it does not exist."""
        namespace, _, name = key.partition("/")
        for cache in self.caches:
            found = cache.get(namespace, name)
            if found is not None:
                return found
        return None

    def version(self, namespace: str) -> str:
        """The resourceVersion up to which the changes in a namespace are known; empty if that is not known."""
        cache = self._cache_of(namespace)
        return "" if cache is None else cache.resource_version

    def listed_at_seconds(self, namespace: str) -> float:
        """When the LIST began from which those of a namespace are known, by the monotonic clock; -inf before the first one."""
        cache = self._cache_of(namespace)
        return -math.inf if cache is None else cache.listed_at_seconds

    def listed_in(self, namespace: str) -> int:
        """How many autoscalers the last LIST of the namespace had, or of all if it is empty, whether they are kept or not."""
        cache = self._cache_of(namespace)
        return 0 if cache is None else cache.listed_count

    def _cache_of(self, namespace: str) -> WatchCache[Autoscaler] | None:
        path = self.kind.collection(namespace) if len(self.caches) > 1 else ""
        for cache in self.caches:
            if not path or cache.path == path:
                return cache
        return None

    def __iter__(self) -> Iterator[Autoscaler]:
        """Every autoscaler."""
        for cache in self.caches:
            yield from cache.items

    def __len__(self) -> int:
        return sum(map(len, self.caches))

    def _completed(self, found: Autoscaler) -> Autoscaler:
        check_metadata(found.metadata)
        self._share_texts(found)
        return msgspec.structs.replace(
            found,
            api_version=self.kind.api_version,
            kind=self.kind.kind,
            spec=shortened(found.spec),
        )

    def _share_texts(self, found: Autoscaler) -> None:
        """Nothing else refers to the decoded object yet, so it can be changed: a copy of each part would take much longer."""
        target = found.spec.scale_target_ref
        force_setattr(target, "kind", intern(target.kind))
        force_setattr(target, "api_version", intern(target.api_version))
        force_setattr(found.metadata, "namespace", intern(found.metadata.namespace))
        for each in (found.status.conditions if found.status else None) or ():
            force_setattr(each, "type", intern(each.type))
            force_setattr(each, "status", intern(each.status))
            force_setattr(each, "reason", intern(each.reason))
            if len(each.message) <= MESSAGE_CHARACTERS_MAX:
                shared = self._messages.setdefault(each.message, each.message)
                force_setattr(each, "message", shared)


def check_metadata(metadata: ObjectMeta) -> None:
    """Raise `msgspec.ValidationError` if it is too large to be kept: all of it is part of every write of the status."""
    named = metadata.labels, metadata.annotations
    texts = [
        *metadata.finalizers,
        *(text for each in named for pair in each.items() for text in pair),
    ]
    count = len(metadata.owner_references) + len(texts)
    characters = sum(map(len, texts))
    if count > METADATA_TEXTS_MAX or characters > METADATA_CHARACTERS_MAX:
        raise msgspec.ValidationError(
            f"its labels, annotations, finalizers and owners have more than {METADATA_TEXTS_MAX} keys and values, or"
            f" {METADATA_CHARACTERS_MAX} characters, together, which is not read: remove some"
        )


def collections(kind: WatchedKind, namespaces: Sequence[str]) -> Iterable[str]:
    """The paths to watch: one per namespace, or a single one for all namespaces."""
    return [kind.collection(namespace) for namespace in namespaces] or [kind.collection("")]
