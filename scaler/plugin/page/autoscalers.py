"""The rows of every autoscaler, kept up to date by one watch per kind."""

from collections.abc import Collection, Sequence

from scaler.model.autoscaler import Autoscaler
from scaler.model.kinds import WatchedKind
from scaler.plugin.row import Row, row_of
from scaler.plugin.target import KINDS, short_name
from wire.background_tasks import BackgroundTasks
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher
from wire.status import StatusError


class Autoscalers:
    """The rows of a namespace; of the cluster if it is empty. Made by `watched`."""

    def __init__(self, client: Watcher, kinds: Sequence[WatchedKind], namespace: str) -> None:
        self.namespace = namespace
        self._rows: dict[str, Row] = {}
        self._caches = [self._cache(client, kind) for kind in kinds]

    @property
    def rows(self) -> Collection[Row]:
        """A live view, in no order."""
        return self._rows.values()

    @property
    def problem(self) -> str:
        """Why the rows may be old; empty while they are kept up to date."""
        return "; ".join(each.last_error for each in self._caches if each.last_error)

    def row(self, key: str) -> Row | None:
        """By `la/namespace/name`."""
        return self._rows.get(key)

    async def start(self, background: BackgroundTasks) -> None:
        """Returns when the first LISTs are complete."""
        for cache in self._caches:
            background.start(cache.run(), name=cache.path)
        for cache in self._caches:
            await cache.synced()

    def _cache(self, client: Watcher, kind: WatchedKind) -> WatchCache[Autoscaler]:
        def changed(old: Autoscaler | None, new: Autoscaler | None) -> None:
            if new is not None:
                row = row_of(new, kind)
                self._rows[row.key] = row
            elif old is not None:
                self._rows.pop(f"{short_name(kind)}/{old.key}", None)

        return WatchCache(client, kind.collection(self.namespace), Autoscaler, on_change=changed)


async def watched(client: Watcher, namespace: str) -> Autoscalers:
    """Those that the user may list: of all namespaces, else of `namespace`.

    A cluster without the kind LoadAutoscaler has HPAs only. Raises `StatusError` and `Unavailable`.
    """
    inside = ""
    kinds = []
    for kind in KINDS:
        try:
            await client.get(kind.collection(inside), {"limit": "1"})
        except StatusError as error:
            if error.code == 404:
                continue
            if error.code != 403 or inside == namespace:
                raise
            inside = namespace
            await client.get(kind.collection(inside), {"limit": "1"})
        kinds.append(kind)
    return Autoscalers(client, kinds, inside)
