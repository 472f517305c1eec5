"""A replica without Leases, which reconciles in virtual time what a watch reports."""

import asyncio
import json

from scaler.algorithm.settings import Settings
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.api.upstream import upstream_of
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.shards.assignment import ALL_SHARDS, SHARDS, shard_of
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.workqueue import WorkQueue
from scaler.runtime.reconciling import Reconciling
from scaler.runtime.watches import Watches
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.control.world import SPEC, World
from tests.unit.scaler.runtime.test_watches import SilentServer

NAMESPACES = ("bank", "shop")
SHOP, BANK = (frozenset({shard_of(namespace)}) for namespace in ("shop", "bank"))
OTHERS = ALL_SHARDS - SHOP - BANK
PERIOD_SECONDS = 15.0


class ListedHpas(SilentServer):
    """Lists one HPA in each namespace; `changes` are reported by the watch."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: asyncio.Queue[bytes] = asyncio.Queue()

    def create(self, namespace: str, name: str) -> None:
        self._change("ADDED", namespace, name, uid=f"uid-{name}")

    def update(self, namespace: str, name: str, *, generation: int, **labels: str) -> None:
        self._change(
            "MODIFIED", namespace, name, uid=f"uid-{name}", generation=generation, labels=labels
        )

    def delete(self, namespace: str, name: str) -> None:
        self._change("DELETED", namespace, name, uid=f"uid-{namespace}")

    def _change(self, kind: str, namespace: str, name: str, *, uid: str, **more: object) -> None:
        metadata = {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": "2"}
        metadata |= more
        change = {"type": kind, "object": {"metadata": metadata, "spec": SPEC}}
        self.changes.put_nowait(json.dumps(change).encode())

    async def watch(self, path, params=None, *, on_accepted=lambda: None, **options):
        if not path.endswith("/horizontalpodautoscalers"):
            await asyncio.Event().wait()
        on_accepted()
        while True:
            yield await self.changes.get()

    async def get(self, path, params=None, *, accept=""):
        if not path.endswith("/horizontalpodautoscalers"):
            return await super().get(path, params, accept=accept)
        items = [
            {
                "metadata": {"namespace": each, "name": "web", "uid": f"uid-{each}"},
                "spec": SPEC,
            }
            for each in NAMESPACES
        ]
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()


class RecordedLists:
    """Which autoscalers the lists were begun for, and which of all were forgotten."""

    def __init__(self):
        self.begun: list[list[str]] = []
        self.forgotten: list[list[str]] = []

    def begin(self, autoscalers, listed_in):
        namespaces = {each.metadata.namespace for each in autoscalers}
        assert all(listed_in(each) >= 1 for each in namespaces)
        self.begun.append(sorted(each.key for each in autoscalers))

    def forget(self, includes):
        keys = [f"{each}/web" for each in NAMESPACES]
        self.forgotten.append(sorted(key for key in keys if includes(key)))


class Replica:
    """Everything but the Leases."""

    def __init__(
        self, server: Server, *, minor: int = 37, hpas=None, namespaces=(), is_shared=False
    ) -> None:
        self.settings = Settings(upstream=upstream_of(minor))
        self.reconciled: list[str] = []
        self.times: list[tuple[str, float]] = []
        self.is_slow = False
        self.lists = RecordedLists()
        self.telemetry = Telemetry(shards=SHARDS)
        self.hpas = hpas or ListedHpas()
        self.watches = Watches(
            self.hpas,
            HORIZONTAL_POD_AUTOSCALERS,
            namespaces,
            is_shared=is_shared,
            on_change=self._changed,
            on_crash=lambda: None,
        )
        self.store = MemoryStore(
            server,
            namespace="loadline",
            period_seconds=1000.0,
            watches=lambda namespace: namespace in NAMESPACES,
        )
        world = World(kind=HORIZONTAL_POD_AUTOSCALERS, memory_store=self.store)
        world.autoscalers = self.watches.autoscalers
        self.reconciler = world.started()
        self.reconciling = Reconciling(
            HORIZONTAL_POD_AUTOSCALERS,
            self.watches,
            self.reconciler,
            Controller(
                WorkQueue(PERIOD_SECONDS),
                self._reconcile,
                self.telemetry,
                concurrent=5,
                monotonic=asyncio.get_running_loop().time,
            ),
            self.store,
            self.telemetry,
            lambda: self.settings,
            self.lists,
        )
        self.tasks = [asyncio.create_task(each.run()) for each in self.watches.caches]
        self.run_again()

    def run_again(self):
        self.running = asyncio.create_task(self.reconciling.run())
        self.tasks.append(self.running)

    def _changed(self, old, new):
        self.reconciling.changed(old, new)

    async def _reconcile(self, key):
        self.times.append((key, asyncio.get_running_loop().time()))
        self.reconciled.append(f"{key} begins")
        await virtual_time.passes(2 if self.is_slow else 0)
        self.reconciled.append(f"{key} ends")
        return True

    async def begin(self, shards, *, continues=False):
        """Begin, and wait until everything is listed and the memories were read."""
        await self.reconciling.begin(shards, continues=continues)
        while self.watches.listed_shards(shards) != shards:
            await virtual_time.passes(0.01)
        for namespace in NAMESPACES:
            await self.store.read_or_late(namespace)

    async def begins_to_reconcile(self, key: str) -> None:
        """Wait until a reconcile of this key has begun."""
        while f"{key} begins" not in self.reconciled:
            await virtual_time.passes(0.1)

    async def times_of(self, key, change, seconds) -> list[float]:
        """When the autoscaler of this key is reconciled after a change, in seconds from then on."""
        clock = asyncio.get_running_loop().time
        began_at, self.times = clock(), []
        change()
        await virtual_time.passes(seconds)
        return [round(at - began_at, 3) for each, at in self.times if each == key]

    async def reconciles(self) -> set[str]:
        """What is reconciled within a period."""
        self.reconciled.clear()
        await virtual_time.passes(PERIOD_SECONDS)
        return {each.partition(" ")[0] for each in self.reconciled}

    def owned(self) -> float | None:
        return self.telemetry.registry.get_sample_value("loadline_scaler_shards_owned")

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
