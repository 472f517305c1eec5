"""What a replica does for the shards that it owns; a leader owns all of them."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterator

from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.api.sync_period import own_period_seconds
from scaler.cluster.memories.store import FLUSH_SECONDS, MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS, shard_of
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.reconcile import Reconciler, every
from scaler.runtime.initial_lists import InitialLists
from scaler.runtime.watches import Watches
from wire.process.first_of import first_of

# The first reconcile of an autoscaler takes longer than later ones: it reads the Scale, and all metrics are requested together.
FIRST_PER_SECOND_MAX = 400.0

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
        settings: Callable[[], Settings],
        initial_lists: InitialLists,
    ) -> None:
        """`settings`: those of the algorithm as of now."""
        self._kind = kind
        self._watches = watches
        self._reconciler = reconciler
        self._controller = controller
        self._store = store
        self._telemetry = telemetry
        self._settings = settings
        self._initial_lists = initial_lists
        self._is_synced = False
        self._syncing = asyncio.Lock()
        self._active: set[int] = set()
        self._remembered: set[int] = set()

    def autoscalers(self) -> Iterator[Autoscaler]:
        """Those that are reconciled here; another replica has the metrics of the others."""
        return (each for each in self._watches.autoscalers if self._is_active(each))

    def changed(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        """An autoscaler was created, updated or deleted, or deleted and created again."""
        if (
            new is None
            and old is not None
            and not self._watches.is_complete(old.metadata.namespace)
        ):
            return  # It is not known to be deleted: the namespace has left the part that is kept, or is being listed.
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._reconciler.deleted(old)
        if new is not None and self._is_active(new):
            self._enqueue(new)
            if self._must_be_at_once(old, new):
                self._controller.reconcile_at_once(new.key)

    async def synced(self) -> None:
        """Wait for the first LIST of everything that is watched, once."""
        async with self._syncing:
            if not self._is_synced:
                await self._watches.synced()
                self._is_synced = True

    async def completed(self) -> None:
        """Reconcile in namespaces that could not be listed at the start, each as soon as it has been listed."""
        await self.synced()
        async with asyncio.TaskGroup() as group:
            for namespace in self._watches.late_namespaces():
                group.create_task(self._completed(namespace), name=f"namespace {namespace}")

    async def _completed(self, namespace: str) -> None:
        log.warning(
            "namespace %s is not scaled: %s. If it was deleted, remove it from --namespace (watchNamespaces of the chart);"
            " otherwise grant the permission",
            namespace,
            self._watches.refusal(namespace),
        )
        await self._watches.completed(namespace)
        log.info(
            "the objects of namespace %s have been listed: it is scaled from now on", namespace
        )
        for each in self._found(namespace.__eq__):
            if self._is_active(each):
                self._enqueue(each)

    async def run(self) -> None:
        """Reconcile until cancelled. Then reconciles in progress have ended, and their memories are stored."""
        try:
            async with storing(self._store):
                try:
                    await first_of(self._controller.run(), self._watches.list_held(self._start))
                finally:
                    # Before the memories are stored: a change must not queue what another replica may reconcile then.
                    self._active.clear()
        finally:
            self._initial_lists.forget(every)
            self._show_share()
            self._reconciler.leave()

    async def begin(self, shards: frozenset[int], *, continues: bool) -> None:
        """Reconcile these too, as soon as their objects are listed. `continues`: no other replica has reconciled them since this one did.

        Neither claims nor releases of other shards wait for that.
        """
        if not continues:
            self._remembered -= shards
        await self.synced()
        self._active |= shards
        self._watches.hold(frozenset(self._active))
        self._show_share()
        self._start(self._watches.listed_shards(shards))

    def _start(self, shards: frozenset[int]) -> None:
        """Their objects are complete."""
        shards &= self._active
        if not shards:
            return
        unknown = shards - self._remembered
        is_unknown = _in(unknown)
        if unknown:
            self._reconciler.forget(_of_key(is_unknown))
            if self._store is not None:
                self._store.begin(unknown, lambda: self._namespaces(is_unknown))
        self._remembered |= shards
        log.info("reconciling %d %s objects", sum(1 for _ in self.autoscalers()), self._kind.kind)
        found = [each for each in self._found(_in(shards)) if self._is_active(each)]
        if unknown:
            new = [each for each in found if is_unknown(each.metadata.namespace)]
            self._initial_lists.begin(new, self._watches.autoscalers.listed_in)
        is_taken_over = shards != ALL_SHARDS
        is_soon = is_taken_over or self._settings().upstream.reconciles_new_at_once
        within_seconds = len(found) / FIRST_PER_SECOND_MAX if is_soon else math.inf
        for autoscaler in found:
            self._enqueue(autoscaler, within_seconds)

    async def end(self, shards: frozenset[int]) -> None:
        """Another replica will reconcile these: reconciles in progress have ended, and their memories are stored."""
        is_key_in = _of_key(_in(shards))
        self._active -= shards
        self._initial_lists.forget(is_key_in)
        await self._controller.stop(is_key_in)
        if self._store is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._store.flush()
            self._store.forget(shards)
        self._remembered -= shards
        self._reconciler.forget(is_key_in)
        self._show_share()
        self._watches.hold(frozenset(self._active))

    def _must_be_at_once(self, old: Autoscaler | None, new: Autoscaler) -> bool:
        """Upstream: `enqueueHPA` and `updateHPA`. All other changes, such as our own status, wait for the end of the period."""
        upstream = self._settings().upstream
        if old is None:
            return upstream.reconciles_new_at_once
        is_changed = old.metadata.generation != new.metadata.generation
        return upstream.keeps_generations and is_changed

    def _found(self, includes: Callable[[str], bool]) -> list[Autoscaler]:
        return [each for each in self._watches.autoscalers if includes(each.metadata.namespace)]

    def _namespaces(self, includes: Callable[[str], bool]) -> dict[str, str]:
        """Of the autoscalers, by uid."""
        return {each.metadata.uid: each.metadata.namespace for each in self._found(includes)}

    def _is_active(self, autoscaler: Autoscaler) -> bool:
        namespace = autoscaler.metadata.namespace
        return shard_of(namespace) in self._active and self._watches.is_complete(namespace)

    def _enqueue(self, autoscaler: Autoscaler, within_seconds: float = math.inf) -> None:
        self._controller.enqueue(
            autoscaler.key,
            autoscaler.metadata.uid,
            period_seconds=own_period_seconds(autoscaler.spec),
            within_seconds=within_seconds,
        )

    def _show_share(self) -> None:
        self._telemetry.show_share(len(self._active))


def _in(shards: frozenset[int]) -> Callable[[str], bool]:
    return lambda namespace: shard_of(namespace) in shards


def _of_key(includes: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda key: includes(key.partition("/")[0])
