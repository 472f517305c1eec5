"""The memories of HPAs in ScalingMemory objects, on an API server that keeps what is written."""

import asyncio
import json

import pytest

from scaler.memory.scaling_memory import OBJECT_BYTES_MAX, StoredHistory
from scaler.memory.store import MemoryStore, storing
from scaler.model.memory import Recommendation, ScaleEvent
from wire.status import Unavailable, conflict, forbidden, not_found

FOLDER = "/apis/loadline.io/v1beta1/namespaces/loadline/scalingmemories"


def history(replicas, events=1):
    return StoredHistory(
        recommendations=(
            Recommendation(replicas=replicas, since_unix_seconds=1.0, until_unix_seconds=2.0),
        ),
        scale_up_events=tuple(
            ScaleEvent(replica_change=n, happened_at_unix_seconds=float(n)) for n in range(events)
        ),
        replicas=replicas,
    )


class Server:
    """Optimistic locking, pages of two objects, and failures that are raised once each."""

    def __init__(self):
        self.objects = {}
        self.version = 0
        self.writes = 0
        self.failures = []

    def _fail(self):
        if self.failures:
            raise self.failures.pop(0)

    async def get(self, path, params=None, *, accept=""):
        self._fail()
        if path != FOLDER:
            return self._one(path.rpartition("/")[2])
        start = int((params or {}).get("continue", "0"))
        found = list(self.objects.values())
        more = str(start + 2) if start + 2 < len(found) else ""
        page = {"metadata": {"continue": more}, "items": found[start : start + 2]}
        return json.dumps(page).encode()

    async def create(self, path, body, params=None):
        self._fail()
        name = json.loads(body)["metadata"]["name"]
        if name in self.objects:
            raise conflict("exists")
        return self._store(body)

    async def replace(self, path, body, params=None):
        self._fail()
        given = json.loads(body)["metadata"]
        current = self.objects.get(path.rpartition("/")[2])
        if current is None:
            raise not_found("deleted")
        if current["metadata"]["resourceVersion"] != given["resourceVersion"]:
            raise conflict("changed")
        return self._store(body)

    async def patch(self, path, body, *, content_type="", params=None):
        raise NotImplementedError

    def _store(self, body):
        self.version += 1
        self.writes += 1
        document = json.loads(body)
        document["metadata"]["resourceVersion"] = str(self.version)
        self.objects[document["metadata"]["name"]] = document
        return json.dumps(document).encode()

    def _one(self, name):
        if name not in self.objects:
            raise not_found(name)
        return json.dumps(self.objects[name]).encode()

    def uids(self):
        return {name: sorted(each["histories"]) for name, each in self.objects.items()}


async def no_pause(seconds):
    await asyncio.sleep(0)


def over(server):
    return MemoryStore(server, namespace="loadline", period_seconds=1000.0, sleep=no_pause)


async def started(server, existing=None):
    store = over(server)
    await store.load(existing or {})
    return store


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
    await store.load({}, lambda namespace: namespace != "shop")
    await store.flush()
    assert server.uids() == {"shop": ["u1"]}
    server.objects.clear()
    store.forget()
    await store.load({"u1": "shop"})
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
    await store.load({"u1": "shop"}, lambda namespace: namespace == "shop")
    assert store.history("u1") == history(5)
    assert store.history("u2") == history(4)


async def test_the_memories_of_a_namespace_that_another_replica_owns_are_neither_kept_nor_written():
    server = Server()
    owned = {"shop", "bank"}
    store = MemoryStore(
        server, namespace="loadline", period_seconds=1000.0, sleep=no_pause,
        may_write=owned.__contains__,
    )  # fmt: skip
    await store.load({})
    for namespace, uid in (("shop", "u1"), ("bank", "u2")):
        store.put(namespace, uid, history(3), is_urgent=False)
    owned.remove("shop")
    await store.flush()
    assert server.uids() == {"bank": ["u2"]}
    store.forget(lambda namespace: namespace == "shop")
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
    after = await started(server, {"u1": "shop"})
    await after.flush()
    assert server.uids() == {"shop": ["u1"]}


async def test_the_histories_of_a_namespace_that_is_not_watched_are_kept():
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    after = await started(server, {"other": "bank"})
    await after.flush()
    assert server.uids() == {"shop": ["u1"]}


@pytest.mark.parametrize("error", [forbidden("no"), not_found("no such kind")], ids=["403", "404"])
async def test_without_the_kind_or_the_permission_nothing_is_stored_and_it_is_said_once(
    error, caplog
):
    server = Server()
    server.failures = [error]
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=True)
    await store.flush()
    assert server.writes == 0
    assert store.history("u1") is None
    assert [each.levelname for each in caplog.records] == ["WARNING"]


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
