"""The rows of every autoscaler, kept up to date by one watch per kind."""

import time
from collections.abc import Collection, Sequence

from kubectl_loadline.cluster.autoscaler_name import KINDS, short_name
from kubectl_loadline.page.collected import Collected
from kubectl_loadline.status.row import Row, row_of
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from wire.api.status import StatusError
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher
from wire.process.background_tasks import BackgroundTasks


class Autoscalers:
    """The rows of each kind, within a namespace, or of the cluster where that is empty. Made by `watched`."""

    def __init__(
        self,
        client: Watcher,
        scopes: Sequence[tuple[WatchedKind, str]],
        refused: str | None = None,
    ) -> None:
        self._refused = refused
        self._rows: dict[str, Row] = {}
        self.collected = Collected(time.time())
        self._caches = [self._cache(client, kind, namespace) for kind, namespace in scopes]
        namespaces = {namespace for _, namespace in scopes}
        self.namespace = namespaces.pop() if len(namespaces) == 1 else ""

    @property
    def rows(self) -> Collection[Row]:
        """A live view, in no order."""
        return self._rows.values()

    @property
    def problem(self) -> str | None:
        """What is missing or may be old; None while every row is kept up to date."""
        old = [each.last_error for each in self._caches]
        return "; ".join(each for each in (self._refused, *old) if each) or None

    def row(self, key: str) -> Row | None:
        """By `la/namespace/name`."""
        return self._rows.get(key)

    async def start(self, background: BackgroundTasks) -> None:
        """Returns when the first LISTs are complete."""
        for cache in self._caches:
            background.start(cache.run(), name=cache.path)
        for cache in self._caches:
            await cache.synced()

    def _cache(self, client: Watcher, kind: WatchedKind, namespace: str) -> WatchCache[Autoscaler]:
        def changed(old: Autoscaler | None, new: Autoscaler | None) -> None:
            if new is not None:
                row = row_of(new, kind)
                self._rows[row.key] = row
                self.collected.note(row, time.time())
            elif old is not None:
                key = f"{short_name(kind)}/{old.key}"
                self._rows.pop(key, None)
                self.collected.forget(key)

        return WatchCache(client, kind.collection(namespace), Autoscaler, on_change=changed)


async def watched(client: Watcher, namespace: str) -> Autoscalers:
    """Those that the user may list: of each kind those of all namespaces, else those of `namespace`.

    A cluster without the kind LoadAutoscaler has HPAs only. Raises `StatusError` if the user may list neither kind, and
    `Unavailable`.
    """
    scopes: list[tuple[WatchedKind, str]] = []
    refusals: list[StatusError] = []
    for kind in KINDS:
        for inside in ("", namespace):
            try:
                await client.get(kind.collection(inside), {"limit": "1"})
            except StatusError as error:
                if error.code == 404:
                    break
                if error.code != 403:
                    raise
                if inside:
                    refusals.append(error)
            else:
                scopes.append((kind, inside))
                break
    if not scopes and refusals:
        raise refusals[0]
    return Autoscalers(client, scopes, "; ".join(each.message for each in refusals) or None)
