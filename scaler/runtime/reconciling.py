"""What a replica does for the shards that it owns; a leader owns all of them."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterator

from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.memories.store import FLUSH_SECONDS, MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS, shard_of
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.reconcile import Reconciler
from scaler.runtime.watches import Watches

# The first reconcile of an autoscaler that another replica has reconciled until now takes longer than later ones.
TAKEN_OVER_PER_SECOND_MAX = 400.0

log = logging.getLogger(__name__)


class Reconciling:
    """Reconciles the autoscalers of some shards, which may change."""

    def __init__(
        self,
        kind: WatchedKind,
        watches: Watches,
        reconciler: Reconciler,
        controller: Controller,
        store: MemoryStore | None,
        telemetry: Telemetry,
    ) -> None:
        self._kind = kind
        self._watches = watches
        self._reconciler = reconciler
        self._controller = controller
        self._store = store
        self._telemetry = telemetry
        self._is_synced = False
        self._active: set[int] = set()
        self._remembered: set[int] = set()

    def autoscalers(self) -> Iterator[Autoscaler]:
        """Those that are reconciled here; another replica has the metrics of the others."""
        return (each for each in self._watches.autoscalers if self._is_active(each))

    def changed(self, autoscaler: Autoscaler) -> None:
        """It was created or updated."""
        if self._is_active(autoscaler):
            self._enqueue(autoscaler)

    async def synced(self) -> None:
        """Wait for the first LIST of everything that is watched, once."""
        if not self._is_synced:
            await self._watches.synced()
            self._is_synced = True

    async def run(self) -> None:
        """Reconcile until cancelled. Then reconciles in progress have ended, and their memories are stored."""
        try:
            async with storing(self._store):
                await self._controller.run()
        finally:
            self._active.clear()
            self._show_share()
            self._reconciler.leave()

    async def begin(self, shards: frozenset[int], *, continues: bool) -> None:
        """Reconcile these too, once what is stored was read. `continues`: no other replica has reconciled them since this one did."""
        in_shards, is_key_in = _in(shards), _of_key(_in(shards))
        if not continues:
            self._remembered -= shards
        if not shards <= self._remembered:
            self._reconciler.forget(is_key_in)
        await self.synced()
        if self._store is not None and not shards <= self._remembered:
            found = self._found(in_shards)
            self._reconciler.expect(found)
            existing = {each.metadata.uid: each.metadata.namespace for each in found}
            await self._store.load(existing, in_shards)
        self._reconciler.forget_deleted()
        self._remembered |= shards
        self._active |= shards
        self._show_share()
        log.info("reconciling %d %s objects", sum(1 for _ in self.autoscalers()), self._kind.kind)
        # Also those that were created while the memories were read.
        found = self._found(in_shards)
        is_taken_over = shards != ALL_SHARDS
        within_seconds = len(found) / TAKEN_OVER_PER_SECOND_MAX if is_taken_over else math.inf
        for autoscaler in found:
            self._enqueue(autoscaler, within_seconds)

    async def end(self, shards: frozenset[int]) -> None:
        """Another replica will reconcile these: reconciles in progress have ended, and their memories are stored."""
        in_shards, is_key_in = _in(shards), _of_key(_in(shards))
        self._active -= shards
        await self._controller.stop(is_key_in)
        if self._store is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._store.flush()
            self._store.forget(in_shards)
        self._remembered -= shards
        self._reconciler.leave(is_key_in)
        self._reconciler.forget(is_key_in)
        self._show_share()

    def _found(self, includes: Callable[[str], bool]) -> list[Autoscaler]:
        return [each for each in self._watches.autoscalers if includes(each.metadata.namespace)]

    def _is_active(self, autoscaler: Autoscaler) -> bool:
        return shard_of(autoscaler.metadata.namespace) in self._active

    def _enqueue(self, autoscaler: Autoscaler, within_seconds: float = math.inf) -> None:
        self._controller.enqueue(
            autoscaler.key,
            autoscaler.metadata.uid,
            period_seconds=autoscaler.spec.sync_period_seconds,
            within_seconds=within_seconds,
        )

    def _show_share(self) -> None:
        self._telemetry.show_share(len(self._active))


def _in(shards: frozenset[int]) -> Callable[[str], bool]:
    return lambda namespace: shard_of(namespace) in shards


def _of_key(includes: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda key: includes(key.partition("/")[0])
