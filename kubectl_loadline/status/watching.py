"""The autoscalers that change, as rows, by one watch per kind."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from kubectl_loadline.status.row import Row, row_of
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher
from wire.process.background_tasks import BackgroundTasks

DELETED = "it was deleted"
"""The reason in the last row of an autoscaler."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which autoscalers are watched; the namespace is empty for all."""

    kinds: Sequence[WatchedKind]
    namespace: str
    label_selector: str = ""
    field_selector: str = ""


async def changed_rows(
    client: Watcher, scope: Scope, known: Mapping[str, Row]
) -> AsyncGenerator[Row, None]:
    """Each row that differs from the one before, until the caller stops; `known` are those that were shown, by key."""
    shown = dict(known)
    changes: asyncio.Queue[Row] = asyncio.Queue()
    background = BackgroundTasks()
    try:
        for kind in scope.kinds:
            background.start(_cache(client, scope, kind, changes).run(), name=kind.plural)
        while True:
            row = await changes.get()
            if shown.get(row.key) != row:
                shown[row.key] = row
                yield row
    finally:
        await background.stop()


def _cache(
    client: Watcher, scope: Scope, kind: WatchedKind, changes: asyncio.Queue[Row]
) -> WatchCache[Autoscaler]:
    def changed(old: Autoscaler | None, new: Autoscaler | None) -> None:
        if new is not None:
            changes.put_nowait(row_of(new, kind))
        elif old is not None:
            changes.put_nowait(msgspec.structs.replace(row_of(old, kind), reason=DELETED))

    return WatchCache(
        client,
        kind.collection(scope.namespace),
        Autoscaler,
        label_selector=scope.label_selector,
        field_selector=scope.field_selector,
        on_change=changed,
    )
