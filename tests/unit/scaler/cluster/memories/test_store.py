"""The memories of HPAs in ScalingMemory objects, on an API server that keeps what is written."""

import asyncio
import json

import pytest

from scaler.cluster.memories.scaling_memory import OBJECT_BYTES_MAX
from scaler.cluster.memories.store import MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS, shard_of
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import (
    Server,
    history,
    no_pause,
    over,
    read,
    started,
)
from wire.api.status import StatusError, Unavailable, forbidden, not_found

SHOP = frozenset({shard_of("shop")})


async def test_what_one_process_stores_the_next_one_reads():
    server = Server()
    store = await started(server)
    written = {"u1": history(3, events=4), "u2": history(5), "u3": history(1)}
    for uid, each in written.items():
        store.put("shop" if uid != "u3" else "bank", uid, each, is_urgent=False)
    await store.flush()
    assert server.uids() == {"shop": ["u1", "u2"], "bank": ["u3"]}
    after = await started(server, {"u1": "shop", "u2": "shop", "u3": "bank"})
    assert {uid: after.history(uid) for uid in written} == written


async def test_nothing_is_written_before_something_has_changed():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    second = over(server)
    async with storing(second):
        await read(second, {"u1": "shop"})
    assert second.history("u1") == history(3)
    assert server.writes == 1


async def test_the_history_is_the_last_one_that_was_stored():
    """Also before it is written: a write may have failed before the Lease was lost."""
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    assert store.history("u1") == history(3)
    store.put("shop", "u1", history(4), is_urgent=False)
    assert store.history("u1") == history(4)


async def test_what_was_not_written_yet_is_kept_until_another_process_has_led():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await read(store, {}, ALL_SHARDS - SHOP)
    await store.flush()
    assert server.uids() == {"shop": ["u1"]}
    server.objects.clear()
    store.forget()
    await read(store, {"u1": "shop"})
    assert store.history("u1") is None


async def test_only_the_memories_of_some_namespaces_are_read_again():
    """Of those whose shard this replica has claimed; the others have newer ones in this process."""
    server = Server()
    other = await started(server)
    for namespace, uid in (("shop", "u1"), ("bank", "u2")):
        other.put(namespace, uid, history(3), is_urgent=False)
    await other.flush()
    store = await started(server, {"u1": "shop", "u2": "bank"})
    store.put("bank", "u2", history(4), is_urgent=False)
    other.put("shop", "u1", history(5), is_urgent=False)
    await other.flush()
    await read(store, {"u1": "shop"}, SHOP)
    assert store.history("u1") == history(5)
    assert store.history("u2") == history(4)


@pytest.mark.parametrize("error", [forbidden("no"), not_found("no such kind")], ids=["403", "404"])
async def test_memories_from_before_another_process_led_are_not_used_where_the_stored_ones_cannot_be_read(
    error,
):
    server = Server()
    store = await started(server)
    for namespace, uid in (("shop", "u1"), ("bank", "u2")):
        store.put(namespace, uid, history(3), is_urgent=False)
    await store.flush()
    store.put("shop", "u1", history(4), is_urgent=False)
    server.failures = [error]
    await read(store, {"u1": "shop"}, SHOP)
    assert store.history("u1") is None
    assert store.history("u2") == history(3)
    await store.flush()
    assert server.writes == 2, "nothing is written over what the other process stored"


async def test_the_memories_of_a_namespace_that_another_replica_owns_are_neither_kept_nor_written():
    server = Server()
    owned = {"shop", "bank"}
    store = MemoryStore(
        server, namespace="loadline", period_seconds=1000.0, sleep=no_pause,
        may_write=owned.__contains__,
    )  # fmt: skip
    await read(store, {})
    for namespace, uid in (("shop", "u1"), ("bank", "u2")):
        store.put(namespace, uid, history(3), is_urgent=False)
    owned.remove("shop")
    await store.flush()
    assert server.uids() == {"bank": ["u2"]}
    store.forget(SHOP)
    assert store.history("u1") is None
    assert store.history("u2") == history(3)


async def test_only_what_has_changed_is_written():
    server = Server()
    store = await started(server)
    for namespace in ("shop", "bank"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    await store.flush()
    await store.flush()
    assert server.writes == 2
    store.put("shop", "of-shop", history(3), is_urgent=False)
    await store.flush()
    assert server.writes == 2, "the same again"
    store.put("shop", "of-shop", history(4), is_urgent=False)
    await store.flush()
    assert server.writes == 3


async def test_a_namespace_with_many_hpas_has_several_objects():
    server = Server()
    store = await started(server)
    for number in range(60):
        store.put("shop", f"u{number:02}", history(1, events=500), is_urgent=False)
    await store.flush()
    assert len(server.objects) > 2
    assert all(len(json.dumps(each)) < 2 * OBJECT_BYTES_MAX for each in server.objects.values())
    existing = {f"u{number:02}": "shop" for number in range(60)}
    after = await started(server, existing)
    assert all(after.history(uid) is not None for uid in existing)


async def test_the_histories_of_deleted_hpas_are_removed():
    server = Server()
    store = await started(server)
    for uid in ("u1", "u2", "u3"):
        store.put("shop", uid, history(3), is_urgent=False)
    store.remove("u2")
    await store.flush()
    assert server.uids() == {"shop": ["u1", "u3"]}
    # While not all of its HPAs are known, none has been deleted.
    for is_complete, uids in ((False, ["u1", "u3"]), (True, ["u1"])):
        after = MemoryStore(
            server, namespace="loadline", period_seconds=1000.0, sleep=no_pause,
            watches=lambda _, known=is_complete: known,
        )  # fmt: skip
        await read(after, {"u1": "shop"})
        await after.flush()
        assert server.uids() == {"shop": uids}


async def test_the_histories_of_a_namespace_that_is_not_watched_are_kept():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    after = await started(server, {"other": "bank"})
    await after.flush()
    assert server.uids() == {"shop": ["u1"]}


@pytest.mark.parametrize("error", [forbidden("no"), not_found("no such kind")], ids=["403", "404"])
async def test_without_the_kind_or_the_permission_it_is_said_once_and_later_everything_is_stored(
    error, caplog
):
    server = Server()
    server.failures = [error] * 3
    store = over(server)
    store.begin(ALL_SHARDS, dict)
    async with storing(store):
        await store.read_or_late("shop")
        assert not store.is_read("shop")
        store.put("shop", "u1", history(3), is_urgent=True)
        await store.flush()
        assert server.writes == 0, "there may be a memory that was not read"
        assert [each.levelname for each in caplog.records] == ["WARNING"]
        for _ in range(50):
            await asyncio.sleep(0)
        for namespace, uid in (("shop", "u1"), ("bank", "u2")):
            store.put(namespace, uid, history(3), is_urgent=True)
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert server.uids() == {"shop": ["u1"], "bank": ["u2"]}


def test_without_the_permission_one_request_is_sent_per_period():
    async def scenario():
        server = Server()
        server.failures = [forbidden("no")] * 9
        store = MemoryStore(server, namespace="loadline", period_seconds=15.0)
        store.begin(ALL_SHARDS, dict)
        async with storing(store):
            await virtual_time.passes(50)
        assert len(server.failures) == 5

    virtual_time.run(scenario())


async def test_without_the_permission_nothing_is_urgent():
    """A scaler that may not write ScalingMemories sends one request per period."""
    server = Server()
    store = await started(server)
    server.failures = [forbidden("no")] * 9
    async with storing(store):
        for replicas in range(3, 9):
            store.put("shop", "u1", history(replicas), is_urgent=True)
            for _ in range(20):
                await asyncio.sleep(0)
        assert len(server.failures) == 8


async def test_a_write_that_is_refused_does_not_prevent_the_writes_of_other_namespaces():
    server = Server()
    store = await started(server)
    for namespace in ("shop", "bank", "mail"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    server.failures = [StatusError("denied by a webhook", code=422, reason="Invalid")]
    await store.flush()
    assert server.uids() == {"bank": ["of-bank"], "mail": ["of-mail"]}
    await store.flush()
    assert server.uids() == {"shop": ["of-shop"], "bank": ["of-bank"], "mail": ["of-mail"]}


async def test_a_write_that_is_under_way_at_the_end_is_repeated():
    server = Server()
    store = await started(server)
    server.is_hanging = True
    async with storing(store):
        store.put("shop", "u1", history(3), is_urgent=True)
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.waiting == 1
        server.is_hanging = False
    assert server.uids() == {"shop": ["u1"]}


async def test_a_flush_waits_for_the_writes_of_another_one():
    """A replica must not release a namespace while a write of its memories is under way."""
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    server.is_hanging = True
    first = asyncio.create_task(store.flush())
    await asyncio.sleep(0)
    second = asyncio.create_task(store.flush())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not second.done()
    server.go_on.set()
    await asyncio.gather(first, second)
    assert server.uids() == {"shop": ["u1"]}


async def test_while_the_api_server_does_not_respond_the_store_waits():
    server = Server()
    server.failures = [Unavailable("no route"), Unavailable("no route")]
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    assert server.uids() == {"shop": ["u1"]}


async def test_a_damaged_object_costs_only_its_own_histories(caplog):
    server = Server()
    store = await started(server)
    for namespace in ("bank", "shop"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    await store.flush()
    server.objects["bank"]["histories"] = "many"
    after = await started(server, {"of-bank": "bank", "of-shop": "shop"})
    assert after.history("of-bank") is None
    assert after.history("of-shop") == history(3)
    assert "cannot be decoded" in caplog.text
    after.put("bank", "of-bank", history(4), is_urgent=False)
    await after.flush()
    assert server.uids()["bank"] == ["of-bank"]


async def test_a_write_that_fails_is_repeated():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    server.failures = [Unavailable("no route")]
    await store.flush()
    assert server.writes == 0
    await store.flush()
    assert server.uids() == {"shop": ["u1"]}


async def test_an_object_that_a_user_changed_or_deleted_is_written_again():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    server.objects["shop"]["metadata"]["resourceVersion"] = "77"
    store.put("shop", "u1", history(4), is_urgent=False)
    await store.flush()
    assert server.objects["shop"]["histories"]["u1"]["replicas"] == 4
    del server.objects["shop"]
    store.put("shop", "u1", history(5), is_urgent=False)
    await store.flush()
    assert server.objects["shop"]["histories"]["u1"]["replicas"] == 5


async def test_a_change_of_replicas_is_written_at_once_and_the_rest_at_the_end():
    server = Server()
    store = await started(server)
    async with storing(store):
        store.put("shop", "u1", history(3), is_urgent=True)
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.writes == 1
        store.put("shop", "u1", history(4), is_urgent=False)
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.writes == 1
    assert server.writes == 2


async def test_a_bug_in_the_write_of_one_namespace_does_not_end_the_others(caplog):
    server = Server()
    store = await started(server)
    for namespace in ("shop", "bank"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    server.failures = [ZeroDivisionError()]
    await store.flush()
    assert server.uids() == {"bank": ["of-bank"]}
    assert "ZeroDivisionError" in caplog.text
    await store.flush()
    assert server.uids().keys() == {"shop", "bank"}


async def test_what_was_listed_before_a_shard_was_claimed_again_is_not_used():
    """Another replica has owned it meanwhile."""
    server = Server()
    other = await started(server)
    other.put("shop", "u1", history(3), is_urgent=False)
    await other.flush()
    store = over(server)
    listed = asyncio.Event()
    get = server.get

    async def slow(path, params=None, *, accept=""):
        body = await get(path, params, accept=accept)
        if not listed.is_set():
            listed.set()
            other.put("shop", "u1", history(4), is_urgent=False)
            await other.flush()
            store.forget(SHOP)
            store.begin(SHOP, lambda: {"u1": "shop"})
        return body

    server.get = slow
    await read(store, {"u1": "shop"}, SHOP)
    assert store.history("u1") == history(4)


async def test_a_write_that_was_delayed_does_not_replace_what_another_replica_has_stored_meanwhile():
    """The shard was given up, and claimed again, while the object of another one was written."""
    server = Server()
    owned = {"bank", "shop"}
    store = over(server, may_write=owned.__contains__, watches=lambda _: True)
    await read(store, {})
    for namespace, uid in (("bank", "u2"), ("shop", "u1")):
        store.put(namespace, uid, history(3), is_urgent=False)
    server.is_hanging = True
    flushing = asyncio.create_task(store.flush())
    await asyncio.sleep(0)
    assert server.waiting == 1, "the object of bank"
    server.is_hanging = False
    owned.remove("shop")
    store.forget(SHOP)
    other = await started(server)
    other.put("shop", "u1", history(9), is_urgent=False)
    await other.flush()
    owned.add("shop")
    await read(store, {"u1": "shop"}, SHOP)
    server.go_on.set()
    await flushing
    assert server.objects["shop"]["histories"]["u1"]["replicas"] == 9
    assert server.uids() == {"bank": ["u2"], "shop": ["u1"]}
