"""ScalingMemory objects without histories are deleted, so that namespaces that come and go leave nothing behind."""

import asyncio

import pytest

from tests.unit.scaler.cluster.memories.server import Server, history, over, read, started
from wire.api.status import Unavailable, forbidden


async def with_an_empty_object(server):
    """A store whose only HPA was deleted."""
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    store.remove("u1")
    return store


async def test_the_object_of_a_namespace_whose_hpas_were_deleted_is_deleted():
    server = Server()
    store = await with_an_empty_object(server)
    await store.flush()
    assert server.objects == {}
    writes = server.writes
    await store.flush()
    assert server.writes == writes, "once"
    store.put("shop", "u2", history(4), is_urgent=False)
    await store.flush()
    assert server.uids() == {"shop": ["u2"]}


async def test_a_history_that_was_never_written_needs_no_request():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    store.remove("u1")
    await store.flush()
    assert server.writes == 0


async def test_the_object_of_a_watched_namespace_without_hpas_is_deleted():
    """Its last HPA was deleted while no scaler was running."""
    server = Server()
    store = await started(server)
    for namespace in ("shop", "bank"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    await store.flush()
    after = over(server, watches=lambda namespace: namespace == "shop")
    await read(after, {})
    await after.flush()
    assert server.uids() == {"bank": ["of-bank"]}


@pytest.mark.parametrize(
    ("watches", "left"),
    [
        pytest.param(True, {}, id="watched"),
        pytest.param(False, {"shop": []}, id="of another scaler"),
    ],
)
async def test_an_object_that_an_older_version_left_empty_is_deleted_where_all_hpas_are_known(
    watches, left
):
    server = Server()
    store = await with_an_empty_object(server)
    server.objects["shop"]["histories"] = {}
    after = over(server, watches=lambda _: watches)
    await read(after, {})
    await after.flush()
    assert server.uids() == left
    del store


async def test_an_object_that_another_process_has_written_meanwhile_is_not_deleted_in_its_place():
    """A process that was paused has the version that it wrote last."""
    server = Server()
    owned = {"shop"}
    store = over(server, may_write=owned.__contains__)
    await read(store, {})
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    store.remove("u1")
    other = await started(server, {"u1": "shop"})
    other.put("shop", "u2", history(4), is_urgent=False)
    await other.flush()
    delete = server.delete

    async def late(path, *, resource_version):
        owned.clear()
        return await delete(path, resource_version=resource_version)

    server.delete = late
    await store.flush()
    assert server.uids() == {"shop": ["u1", "u2"]}


async def test_a_history_that_arrives_while_its_object_is_deleted_is_written_afterwards():
    server = Server()
    store = await with_an_empty_object(server)
    delete = server.delete

    async def slow(path, *, resource_version):
        store.put("shop", "u2", history(4), is_urgent=False)
        return await delete(path, resource_version=resource_version)

    server.delete = slow
    await store.flush()
    assert server.objects == {}
    await store.flush()
    assert server.uids() == {"shop": ["u2"]}


@pytest.mark.parametrize("how", ["deleted by a user", "deleted after a conflict"])
async def test_an_object_that_is_already_deleted_is_not_a_problem(caplog, how):
    server = Server()
    store = await with_an_empty_object(server)
    if how == "deleted by a user":
        server.objects.clear()
    else:
        server.objects["shop"]["metadata"]["resourceVersion"] = "77"
        get = server.get

        async def gone(path, params=None, *, accept=""):
            server.objects.clear()
            return await get(path, params, accept=accept)

        server.get = gone
    await store.flush()
    assert server.objects == {}
    assert "not stored" not in caplog.text


async def test_without_the_permission_to_delete_the_object_is_written_without_histories(caplog):
    """The Role of an older chart."""
    server = Server()
    store = await with_an_empty_object(server)

    async def refused(path, *, resource_version):
        raise forbidden("no")

    server.delete = refused
    await store.flush()
    assert server.uids() == {"shop": []}
    assert "not stored" not in caplog.text
    writes = server.writes
    await store.flush()
    assert server.writes == writes
    store.put("shop", "u2", history(4), is_urgent=False)
    await store.flush()
    assert server.uids() == {"shop": ["u2"]}


async def test_a_deletion_that_fails_is_tried_again():
    server = Server()
    store = await with_an_empty_object(server)
    server.failures = [Unavailable("no route")]
    await store.flush()
    assert server.uids() == {"shop": ["u1"]}
    await store.flush()
    assert server.objects == {}


async def test_a_deletion_that_is_cancelled_is_tried_again():
    server = Server()
    store = await with_an_empty_object(server)
    server.is_hanging = True
    flushing = asyncio.create_task(store.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flushing
    server.is_hanging = False
    await store.flush()
    assert server.objects == {}
