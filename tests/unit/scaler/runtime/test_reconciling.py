"""A replica reconciles the autoscalers of its shards, with memories that are up to date."""

import asyncio

import pytest

from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server, history
from tests.unit.scaler.runtime.replica import (
    BANK,
    NAMESPACES,
    OTHERS,
    PERIOD_SECONDS,
    SHOP,
    ListedHpas,
    Replica,
)
from wire.api.status import internal_error


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


class WithoutAPeriod(ListedHpas):
    """A definition without limits has let a period of no seconds through."""

    async def get(self, path, params=None, *, accept=""):
        body = await super().get(path, params, accept=accept)
        return body.replace(b'"maxReplicas"', b'"syncPeriodSeconds": 0, "maxReplicas"')


def test_a_period_of_no_seconds_does_not_end_the_process():
    async def scenario():
        replica = Replica(Server(), hpas=WithoutAPeriod())
        await replica.begin(ALL_SHARDS)
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        assert not replica.running.done()
        await replica.stop()

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
        await virtual_time.passes(0.1)  # The watch has reported them.
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
        await replica.begins_to_reconcile("shop/web")
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
