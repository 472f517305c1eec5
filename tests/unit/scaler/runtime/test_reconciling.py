"""A replica reconciles the autoscalers of its shards, with memories that are up to date."""

import asyncio
import json

import pytest

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
from tests.unit.scaler.cluster.memories.server import Server, history
from tests.unit.scaler.control.world import SPEC, World
from tests.unit.scaler.runtime.test_watches import SilentServer
from wire.api.status import internal_error

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

    def begin(self, autoscalers, known):
        assert {each.key for each in autoscalers} <= {each.key for each in known}
        self.begun.append(sorted(each.key for each in autoscalers))

    def forget(self, includes):
        keys = [f"{each}/web" for each in NAMESPACES]
        self.forgotten.append(sorted(key for key in keys if includes(key)))


class Replica:
    """Everything but the Leases."""

    def __init__(self, server: Server, *, minor: int = 37) -> None:
        self.settings = Settings(upstream=upstream_of(minor))
        self.reconciled: list[str] = []
        self.times: list[tuple[str, float]] = []
        self.is_slow = False
        self.lists = RecordedLists()
        self.telemetry = Telemetry(shards=SHARDS)
        self.hpas = ListedHpas()
        self.watches = Watches(
            self.hpas,
            HORIZONTAL_POD_AUTOSCALERS,
            (),
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
        """Begin, and wait until the memories were read."""
        await self.reconciling.begin(shards, continues=continues)
        for namespace in NAMESPACES:
            await self.store.read_or_late(namespace)

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


def test_only_the_autoscalers_of_owned_shards_are_reconciled_and_shown():
    async def scenario():
        replica = Replica(Server())
        assert await replica.reconciles() == set()
        await replica.begin(SHOP)
        assert await replica.reconciles() == {"shop/web"}
        assert [each.key for each in replica.reconciling.autoscalers()] == ["shop/web"]
        await replica.begin(BANK)
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        assert replica.owned() == 2
        await replica.reconciling.end(SHOP)
        assert await replica.reconciles() == {"bank/web"}
        assert replica.owned() == 1
        await replica.stop()
        assert replica.owned() == 0

    virtual_time.run(scenario())


def test_an_autoscaler_that_is_taken_over_is_reconciled_at_once():
    async def scenario():
        replica = Replica(Server())
        await replica.begin(SHOP)
        await virtual_time.passes(0.1)
        assert replica.reconciled == ["shop/web begins", "shop/web ends"]
        await replica.stop()

    virtual_time.run(scenario())


@pytest.mark.deviation("first-list")
def test_until_1_36_the_first_reconciles_of_all_autoscalers_are_spread_over_a_period():
    async def scenario():
        replica = Replica(Server(), minor=36)
        for number in range(100):
            replica.hpas.create("shop", f"new-{number}")
        await replica.begin(ALL_SHARDS)
        replica.reconciled.clear()
        await virtual_time.passes(PERIOD_SECONDS / 3)
        assert 20 < sum(each.endswith("ends") for each in replica.reconciled) < 50
        await replica.stop()

    virtual_time.run(scenario())


@pytest.mark.deviation("first-list")
def test_since_1_37_autoscalers_that_exist_already_are_reconciled_at_400_per_second():
    async def scenario():
        replica = Replica(Server())
        for number in range(800):
            replica.hpas.create("shop", f"new-{number}")
        await replica.begin(ALL_SHARDS)
        replica.reconciled.clear()
        await virtual_time.passes(1.0)
        assert 300 < sum(each.endswith("ends") for each in replica.reconciled) < 500
        await virtual_time.passes(1.1)
        assert len({each for each in replica.reconciled if each.endswith("ends")}) >= 800
        await replica.stop()

    virtual_time.run(scenario())


def test_an_autoscaler_that_is_created_while_memories_are_read_is_reconciled():
    async def scenario():
        server = Server()
        replica = Replica(server)
        beginning = asyncio.create_task(replica.begin(SHOP))
        server.is_hanging = True
        while not server.waiting:
            await virtual_time.passes(0.1)
        replica.hpas.create("shop", "new")
        await virtual_time.passes(1)
        assert "shop/new" in {each.key for each in replica.watches.autoscalers}
        server.go_on.set()
        await beginning
        assert await replica.reconciles() == {"shop/web", "shop/new"}
        await replica.stop()

    virtual_time.run(scenario())


def test_a_reconcile_in_progress_has_ended_before_a_shard_is_given_up():
    async def scenario():
        replica = Replica(Server())
        replica.is_slow = True
        await replica.begin(SHOP)
        while "shop/web begins" not in replica.reconciled:
            await virtual_time.passes(0.1)
        await replica.reconciling.end(SHOP)
        assert replica.reconciled == ["shop/web begins", "shop/web ends"]
        await replica.stop()

    virtual_time.run(scenario())


def test_what_is_remembered_is_stored_before_a_shard_is_given_up_and_read_by_the_next_owner():
    async def scenario():
        server = Server()
        one, other = Replica(server), Replica(server)
        await one.begin(SHOP | BANK)
        await other.begin(OTHERS)
        one.store.put("shop", "uid-shop", history(5), is_urgent=False)
        await one.reconciling.end(SHOP)
        await other.begin(SHOP)
        assert other.store.history("uid-shop") == history(5)
        assert one.store.history("uid-shop") is None
        await one.stop()
        await other.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("continues", [True, False])
def test_memories_are_read_again_only_if_another_replica_has_owned_the_shard(continues):
    """Otherwise those of this process are newer than what is stored."""

    async def scenario():
        server = Server()
        replica = Replica(server)
        await replica.begin(SHOP)
        replica.store.put("shop", "uid-shop", history(5), is_urgent=False)
        await replica.begin(SHOP, continues=continues)
        assert (replica.store.history("uid-shop") == history(5)) is continues
        await replica.stop()

    virtual_time.run(scenario())


def test_memories_that_could_not_be_read_the_first_time_are_read_although_the_term_continues():
    async def scenario():
        server = Server()
        writer = Replica(server)
        await writer.begin(SHOP)
        writer.store.put("shop", "uid-shop", history(5), is_urgent=False)
        await writer.stop()
        replica = Replica(server)
        await replica.begin(SHOP, continues=True)
        assert replica.store.history("uid-shop") == history(5)
        await replica.stop()

    virtual_time.run(scenario())


def test_an_autoscaler_of_a_shard_of_another_replica_is_not_reconciled():

    async def scenario():
        replica = Replica(Server())
        await virtual_time.passes(1)
        found = next(iter(replica.watches.autoscalers))
        replica.reconciling.changed(None, found)
        assert await replica.reconciles() == set()
        await replica.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("is_created_again", [False, True])
@pytest.mark.parametrize("while_read", [False, True], ids=["afterwards", "while they are read"])
def test_the_memory_of_an_hpa_that_is_deleted_before_its_first_reconcile_is_removed(
    is_created_again, while_read
):
    async def scenario():
        server = Server()
        writer = Replica(server)
        await writer.begin(SHOP)
        writer.store.put("shop", "uid-shop", history(5), is_urgent=False)
        await writer.stop()
        replica = Replica(server)
        await virtual_time.passes(1)
        server.is_hanging = while_read
        beginning = asyncio.create_task(replica.begin(SHOP))
        await virtual_time.passes(1)
        replica.hpas.delete("shop", "web")
        if is_created_again:
            replica.hpas.create("shop", "web")
        await virtual_time.passes(1)
        server.go_on.set()
        await beginning
        assert await replica.reconciler.reconcile("shop/web") is is_created_again
        assert replica.store.history("uid-shop") is None
        await replica.stop()

    virtual_time.run(scenario())


class BrokenServer(Server):
    """Its ScalingMemories cannot be read."""

    async def get(self, path, params=None, *, accept=""):
        raise internal_error("etcdserver: request timed out")


def test_shards_are_given_up_and_taken_over_while_memories_cannot_be_read():
    async def scenario():
        replica = Replica(BrokenServer())
        await virtual_time.passes(1)
        async with asyncio.timeout(1):
            await replica.reconciling.begin(SHOP, continues=False)
            await replica.reconciling.begin(BANK, continues=False)
            await replica.reconciling.end(SHOP)
        assert await replica.reconciles() == {"bank/web"}
        await replica.stop()

    virtual_time.run(scenario())


def test_an_autoscaler_that_is_deleted_while_another_process_leads_is_forgotten():
    async def scenario():
        replica = Replica(Server())
        await replica.begin(ALL_SHARDS)
        for namespace in NAMESPACES:
            await replica.reconciler.reconcile(f"{namespace}/web")
        replica.running.cancel()
        await virtual_time.passes(1)
        replica.hpas.delete("shop", "web")
        await virtual_time.passes(1)
        assert replica.reconciler._records.keys() == {"bank/web"}
        await replica.stop()

    virtual_time.run(scenario())
