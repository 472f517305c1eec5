"""Replicas that share the shards, under random faults: no shard ever has two owners."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.cluster.shards.assignment import SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import LeaseServer
from tests.unit.scaler.cluster.shards.sharing_replicas import (
    TAKE_OVER_SECONDS,
    Replica,
    assert_shared,
)

faults = st.lists(
    st.tuples(
        st.floats(0.1, 25),
        st.sampled_from(["cut", "heal", "lose", "stop", "kill", "start", "suspend", "resume"]),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(faults=faults, rates=st.tuples(*[st.floats(0.9, 1.1)] * 3))
@settings(max_examples=25, deadline=None)
def test_no_shard_ever_has_two_owners_and_each_has_one_after_the_faults(faults, rates):
    virtual_time.run(_survived(faults, rates))


async def _survived(faults, rates):
    server = LeaseServer()
    replicas = [Replica(server, str(n), rate=rate) for n, rate in enumerate(rates)]
    everyone = list(replicas)
    for seconds, fault, number in faults:
        await _passes(seconds, everyone)
        replica = replicas[number]
        if fault in ("cut", "heal"):
            replica.connection.is_cut = fault == "cut"
        elif fault == "lose":
            replica.connection.loses_responses = not replica.connection.loses_responses
        elif fault in ("suspend", "resume"):
            (replica.goes_on.clear if fault == "suspend" else replica.goes_on.set)()
        elif fault in ("stop", "kill"):
            await (replica.stop() if fault == "stop" else replica.kill())
        elif replica.task.done():
            replicas[number] = Replica(server, f"{number}'", rate=rates[number])
            everyone.append(replicas[number])
    for number, replica in enumerate(replicas):
        replica.connection.is_cut = replica.connection.loses_responses = False
        replica.goes_on.set()
        if replica.task.done():
            replicas[number] = Replica(server, f"{number}''", rate=rates[number])
            everyone.append(replicas[number])
    await _passes(3 * TAKE_OVER_SECONDS, everyone)
    assert_shared(*replicas)


async def _passes(seconds, replicas):
    """Any number of replicas, and at every moment at most one owner of each shard."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        await virtual_time.passes(0.5)
        owned = [shard for replica in replicas for shard in replica.writable()]
        assert len(owned) == len(set(owned)) <= SHARDS
