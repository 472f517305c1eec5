"""Watches the autoscalers of one kind, in all namespaces or in some.

An item of a LIST has neither kind nor apiVersion, but a write needs both: they are added here.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from scaler.model.autoscaler import Autoscaler
from scaler.model.kinds import WatchedKind
from wire.kube.cache import OnChange, WatchCache
from wire.kube.requests import Watcher


class WatchedAutoscalers:
    """The cached autoscalers of one kind, by `namespace/name`."""

    def __init__(
        self,
        client: Watcher,
        kind: WatchedKind,
        namespaces: Sequence[str],
        *,
        on_change: OnChange[Autoscaler] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all namespaces."""
        self.kind = kind
        self.caches = [
            WatchCache(
                client,
                path,
                Autoscaler,
                convert=self._completed,
                on_change=on_change,
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

    def __iter__(self) -> Iterator[Autoscaler]:
        """Every autoscaler."""
        for cache in self.caches:
            yield from cache.items

    def __len__(self) -> int:
        return sum(map(len, self.caches))

    def _completed(self, found: Autoscaler) -> Autoscaler:
        return msgspec.structs.replace(
            found, api_version=self.kind.api_version, kind=self.kind.kind
        )


def collections(kind: WatchedKind, namespaces: Sequence[str]) -> Iterable[str]:
    """The paths to watch: one per namespace, or a single one for all namespaces."""
    return [kind.collection(namespace) for namespace in namespaces] or [kind.collection("")]
