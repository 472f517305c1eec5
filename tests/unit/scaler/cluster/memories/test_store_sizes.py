"""Histories that grow are divided among several ScalingMemory objects, and no crash loses one."""

import asyncio
import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scaler.api.history import Recommendation
from scaler.cluster.memories.scaling_memory import OBJECT_BYTES_MAX
from scaler.cluster.memories.store import MemoryStore
from tests.unit.scaler.cluster.memories.server import Server, history, no_pause, read, started
from wire.api.status import Unavailable


async def test_a_history_that_grows_moves_to_another_object():
    server = Server()
    store = await started(server)
    uids = [f"u{number:03}" for number in range(300)]
    for events in (1, 40, 200):
        for uid in uids:
            store.put("shop", uid, history(1, events=events), is_urgent=False)
        await store.flush()
        await store.flush()
        assert largest(server) <= OBJECT_BYTES_MAX + 4096
    after = await started(server, dict.fromkeys(uids, "shop"))
    assert all(after.history(uid) == history(1, events=200) for uid in uids)
    assert sorted(uid for each in server.uids().values() for uid in each) == uids


async def test_a_history_in_two_objects_is_the_newer_one():
    """The process stopped after it had written a history to the second object, and before it removed it from the first."""
    server = Server()
    store = await started(server)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    for name, until in (("shop.1", 9.0), ("shop.2", 1.5)):
        newer = json.loads(json.dumps(server.objects["shop"]))
        newer["metadata"]["name"] = name
        newer["histories"]["u1"]["replicas"] = int(until)
        newer["histories"]["u1"]["recommendations"][0]["untilUnixSeconds"] = until
        server.objects[name] = newer
    after = await started(server, {"u1": "shop"})
    read = after.history("u1")
    assert read is not None
    assert read.replicas == 9
    await after.flush()
    assert server.uids() == {"shop.1": ["u1"]}


@given(
    puts=st.lists(
        st.tuples(st.sampled_from(["shop", "bank"]), st.integers(0, 7), st.integers(0, 60)),
        max_size=60,
    ),
    failures=st.lists(st.booleans(), max_size=40),
    stops_after=st.integers(0, 60),
)
def test_a_process_that_dies_leaves_the_last_histories_that_were_written(
    puts, failures, stops_after
):
    asyncio.run(_lives_and_dies(puts, failures, stops_after))


async def _lives_and_dies(puts, failures, stops_after):
    """Each history is the last one or an older one that was put; without a failing write it is the last one."""
    server = Server()
    small = MemoryStore(
        server, namespace="loadline", period_seconds=1000.0, sleep=no_pause, object_bytes_max=2000,
    )  # fmt: skip
    await read(small, {})
    ever, last, existing = {}, {}, {}
    for number, (namespace, which, events) in enumerate(puts[:stops_after]):
        uid = f"{namespace}-{which}"
        each = made_at(float(number), events)
        small.put(namespace, uid, each, is_urgent=False)
        ever.setdefault(uid, []).append(each)
        last[uid], existing[uid] = each, namespace
        if number % 3 == 0:
            server.failures = [Unavailable("no route")] if number in _at(failures) else []
            await small.flush()
            server.failures = []
            assert largest(server) <= 2000 + LARGEST_HISTORY
    for uid, found in (await _found(server, existing)).items():
        assert found is None or found in ever[uid]
    await small.flush()
    assert await _found(server, existing) == last


async def _found(server, existing):
    """What the next process reads."""
    after = await started(server, existing)
    return {uid: after.history(uid) for uid in existing}


def _at(failures):
    return {number for number, fails in enumerate(failures) if fails}


LARGEST_HISTORY = 5000


def made_at(seconds, events):
    made = history(3, events=events)
    step = Recommendation(replicas=3, since_unix_seconds=1.0, until_unix_seconds=1000.0 + seconds)
    return msgspec.structs.replace(made, recommendations=(step,))


def largest(server):
    return max(
        (len(json.dumps(each, separators=(",", ":"))) for each in server.objects.values()),
        default=0,
    )
