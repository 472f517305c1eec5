"""What the watch reports while a replica stops reconciling a namespace is left to the replica that reconciles it next."""

import asyncio

import pytest

from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server, history
from tests.unit.scaler.runtime.replica import BANK, SHOP, Replica


@pytest.mark.parametrize(
    "after_seconds", [0.5, 2.5], ids=["while reconciles end", "while memories are stored"]
)
def test_what_changes_while_a_replica_loses_its_lease_is_not_reconciled_by_it_afterwards(
    after_seconds,
):
    async def scenario():
        server = Server()
        replica = Replica(server)
        replica.is_slow = True
        await replica.begin(SHOP | BANK)
        await replica.begins_to_reconcile("shop/web")
        replica.store.put("shop", "uid-shop", history(5), is_urgent=False)
        server.is_hanging = True
        replica.running.cancel()
        await virtual_time.passes(after_seconds)
        assert not replica.running.done()
        replica.hpas.update("shop", "web", generation=1)
        await virtual_time.passes(5)
        assert replica.running.done()
        server.is_hanging = False
        server.go_on.set()
        replica.is_slow = False
        replica.run_again()
        await replica.begin(BANK)
        assert await replica.reconciles() == {"bank/web"}
        await replica.stop()

    virtual_time.run(scenario())


def test_what_changes_while_a_shard_is_given_up_is_not_reconciled_when_other_shards_follow():
    async def scenario():
        replica = Replica(Server())
        replica.is_slow = True
        await replica.begin(SHOP)
        await replica.begins_to_reconcile("shop/web")
        ending = asyncio.create_task(replica.reconciling.end(SHOP))
        await virtual_time.passes(0.5)
        replica.hpas.update("shop", "web", generation=1)
        await ending
        await replica.begin(BANK)
        assert await replica.reconciles() == {"bank/web"}
        await replica.stop()

    virtual_time.run(scenario())
