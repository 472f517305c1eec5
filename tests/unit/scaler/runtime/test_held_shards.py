"""A replica with shards keeps the autoscalers and the pods of its shards only. The others are not deleted by that."""

import asyncio
import json

import msgspec

from scaler.api.autoscaler import Autoscaler
from scaler.cluster.shards.assignment import ALL_SHARDS
from scaler.cluster.shards.held_shards import HeldShards
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server, history
from tests.unit.scaler.runtime.replica import (
    BANK,
    NAMESPACES,
    SHOP,
    SPEC,
    ListedHpas,
    Replica,
)


class WithPods(ListedHpas):
    """Lists one pod in each namespace. While `goes_on` is not set, LISTs have no response."""

    def __init__(self):
        super().__init__()
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.lists = 0

    async def get(self, path, params=None, *, accept=""):
        self.lists += 1
        await self.goes_on.wait()
        if not path.endswith("/pods"):
            return await super().get(path, params, accept=accept)
        items = [{"metadata": {"namespace": each, "name": "web-1"}} for each in NAMESPACES]
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()


def kept(replica):
    """The namespaces of the autoscalers, and those of the pods."""
    pods = {
        each.metadata.namespace for cache in replica.watches.pods.caches for each in cache.items
    }
    return {each.metadata.namespace for each in replica.watches.autoscalers}, pods


def test_what_belongs_to_the_shards_of_other_replicas_is_not_kept():
    async def scenario():
        replica = Replica(Server(), hpas=WithPods(), is_shared=True)
        await virtual_time.passes(1)
        assert kept(replica) == (set(), set())
        await replica.begin(SHOP)
        assert kept(replica) == ({"shop"}, {"shop"})
        await replica.begin(BANK)
        assert kept(replica) == ({"shop", "bank"}, {"shop", "bank"})
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        lists = replica.hpas.lists
        await replica.reconciling.end(SHOP)
        assert kept(replica) == ({"bank"}, {"bank"})
        assert replica.hpas.lists == lists
        assert await replica.reconciles() == {"bank/web"}
        await replica.stop()

    virtual_time.run(scenario())


def test_a_namespace_is_not_reconciled_before_it_is_listed():
    async def scenario():
        replica = Replica(Server(), hpas=WithPods(), is_shared=True)
        await replica.begin(SHOP)
        replica.hpas.goes_on.clear()
        beginning = asyncio.create_task(replica.begin(BANK))
        await virtual_time.passes(1)
        replica.hpas.create("bank", "new")
        assert await replica.reconciles() == {"shop/web"}
        assert replica.watches.is_complete("shop")
        assert not replica.watches.is_complete("bank")
        replica.hpas.goes_on.set()
        await beginning
        assert replica.watches.is_complete("bank")
        assert await replica.reconciles() == {"shop/web", "bank/web", "bank/new"}
        await replica.stop()

    virtual_time.run(scenario())


def test_a_shard_that_was_given_up_before_it_was_listed_is_listed_when_it_is_claimed_again():
    async def scenario():
        replica = Replica(Server(), hpas=WithPods(), is_shared=True)
        await replica.begin(SHOP)
        replica.hpas.goes_on.clear()
        await asyncio.wait_for(replica.reconciling.begin(BANK, continues=False), 1)
        await virtual_time.passes(1)
        await asyncio.wait_for(replica.reconciling.end(BANK), 1)
        replica.hpas.goes_on.set()
        await virtual_time.passes(1)
        assert not replica.watches.is_complete("bank")
        assert kept(replica) == ({"shop"}, {"shop"})
        await replica.begin(BANK)
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        await replica.stop()

    virtual_time.run(scenario())


async def test_a_shard_that_was_not_held_for_a_moment_of_a_list_is_listed_again():
    """Some of its objects may have been skipped then."""
    held = HeldShards()
    held.change(SHOP)
    first = await held.unlisted()
    held.change(frozenset())
    held.change(SHOP | BANK)
    assert held.listed(first) == frozenset()
    second = await asyncio.wait_for(held.unlisted(), 1)
    assert held.listed(second) == SHOP | BANK
    assert held.listed_of(SHOP) == SHOP


def test_what_a_list_lacks_of_a_namespace_that_is_not_complete_is_not_deleted():
    async def scenario():
        server = Server()
        replica = Replica(server, hpas=WithPods(), is_shared=True)
        await replica.begin(SHOP | BANK)
        replica.store.put("bank", "uid-bank", history(5), is_urgent=True)
        await virtual_time.passes(100)
        # As when the Lease of the member was lost, and of its shards one is claimed again first.
        replica.running.cancel()
        await asyncio.wait([replica.running])
        replica.run_again()
        await replica.begin(SHOP, continues=True)
        replica.hpas.goes_on.clear()
        await replica.reconciling.begin(BANK, continues=True)
        metadata = {"namespace": "bank", "name": "web", "uid": "uid-bank"}
        bank = msgspec.convert({"metadata": metadata, "spec": SPEC}, Autoscaler)
        replica.reconciling.changed(bank, None)
        await virtual_time.passes(2_000)
        assert server.uids() == {"bank": ["uid-bank"]}
        await replica.stop()

    virtual_time.run(scenario())


def test_after_an_interruption_each_shard_that_is_claimed_again_has_its_memory():
    async def scenario():
        replica = Replica(Server(), is_shared=True)
        await replica.begin(SHOP | BANK)
        for namespace in NAMESPACES:
            await replica.reconciler.reconcile(f"{namespace}/web")
        replica.running.cancel()
        await asyncio.wait([replica.running])
        replica.run_again()
        for shard in (BANK, SHOP):
            await replica.begin(shard, continues=True)
            assert replica.reconciler._records.keys() == {"bank/web", "shop/web"}
        await replica.stop()

    virtual_time.run(scenario())


def test_the_memory_of_an_autoscaler_of_another_replica_is_not_removed():
    async def scenario():
        server = Server()
        replica = Replica(server, is_shared=True)
        await replica.begin(SHOP | BANK)
        for namespace in NAMESPACES:
            replica.store.put(namespace, f"uid-{namespace}", history(5), is_urgent=False)
        # As when the Lease of the member was lost: the shards are not given up one by one.
        replica.running.cancel()
        await asyncio.wait([replica.running])
        replica.run_again()
        await replica.begin(BANK)
        assert kept(replica)[0] == {"bank"}
        await virtual_time.passes(2_000)
        assert len(server.objects) == len(NAMESPACES)
        await replica.stop()

    virtual_time.run(scenario())


def test_a_scaler_of_all_shards_or_of_named_namespaces_keeps_everything_in_them():
    async def scenario():
        alone = Replica(Server(), hpas=WithPods())
        await virtual_time.passes(1)
        assert kept(alone) == ({"shop", "bank"}, {"shop", "bank"})
        await alone.begin(ALL_SHARDS)
        assert alone.hpas.lists == len(alone.watches.caches)
        named = Replica(Server(), hpas=WithPods(), namespaces=NAMESPACES, is_shared=True)
        await named.begin(SHOP)
        assert kept(named) == ({"shop", "bank"}, {"shop", "bank"})
        await alone.stop()
        await named.stop()

    virtual_time.run(scenario())
