"""Claims of shards: when they are made, what they write, and what happens when one fails."""

import logging
from itertools import pairwise

import msgspec
import pytest

from scaler.cluster.lease import Lease, LeaseSpec
from scaler.cluster.shards.assignment import ALL_SHARDS
from scaler.cluster.shards.shard_leases import ShardLeases, shard_name, term_of
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection, LeaseServer
from tests.unit.scaler.cluster.shards.sharing_replicas import TIMES, Replica
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError

SHARD = 7
NAME = shard_name("scaler", SHARD)
PROBLEM = "the shards of loadline/scaler cannot be read or claimed"


def shard_leases(connection):
    return ShardLeases(connection, namespace="loadline", name="scaler", timeout_seconds=10)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, 1, id="never counted"),
        pytest.param(0, 1, id="the first holder"),
        pytest.param(4, 5, id="the fifth"),
    ],
)
async def test_a_claim_counts_a_transition_more_than_the_lease_that_was_read(before, after):
    server = LeaseServer()
    server.store({"metadata": {"name": NAME}})
    metadata = ObjectMeta(name=NAME, namespace="loadline", resource_version="1")
    found = Lease(metadata=metadata, spec=LeaseSpec(lease_transitions=before))
    claimed = await shard_leases(Connection(server)).claim(SHARD, found, "a", 0.0)
    assert claimed.spec.lease_transitions == after
    assert server.leases[NAME]["spec"]["leaseTransitions"] == after


async def test_a_lease_that_is_created_counts_no_transition():
    claimed = await shard_leases(Connection(LeaseServer())).claim(SHARD, None, "a", 0.0)
    assert claimed.spec.lease_transitions == 0


async def test_a_lease_that_has_changed_since_it_was_read_is_not_claimed():
    server = LeaseServer()
    server.store({"metadata": {"name": NAME}})
    metadata = ObjectMeta(name=NAME, namespace="loadline", resource_version="0")
    with pytest.raises(StatusError, match="changed"):
        await shard_leases(Connection(server)).claim(SHARD, Lease(metadata=metadata), "a", 0.0)


@pytest.mark.parametrize("body", [b"{}", b'{"message": "ok"}'])
async def test_the_json_of_something_else_is_not_a_list_without_leases(body):
    """All shards would seem free."""
    connection = Connection(LeaseServer())
    connection.other_json = body
    with pytest.raises(msgspec.DecodeError, match="neither items nor a resourceVersion"):
        await shard_leases(connection).read()


async def test_a_shard_is_not_claimed_by_a_response_that_is_not_a_lease():
    connection = Connection(LeaseServer())
    connection.other_json = b"{}"
    with pytest.raises(msgspec.DecodeError, match="not a Lease"):
        await shard_leases(connection).claim(SHARD, None, "a", 0.0)
    found = Lease(metadata=ObjectMeta(name=NAME, resource_version="1"))
    with pytest.raises(msgspec.DecodeError, match="not a Lease"):
        await shard_leases(connection).claim(SHARD, found, "a", 0.0)


def test_two_claims_of_the_same_number_are_different_terms():
    """As after a restore of etcd from a backup, from which on transitions are counted again."""
    metadata = ObjectMeta(name=NAME, namespace="loadline", uid="u")
    a, b = (
        Lease(metadata=metadata, spec=LeaseSpec(holder_identity=each, lease_transitions=5))
        for each in ("a", "b")
    )
    assert term_of(a) != term_of(b)


def test_two_claims_by_the_same_replica_are_different_terms():
    metadata = ObjectMeta(name=NAME, namespace="loadline", uid="u")
    terms = {
        term_of(
            Lease(metadata=metadata, spec=LeaseSpec(holder_identity="a", lease_transitions=each))
        )
        for each in (None, 1, 2)
    }
    assert len(terms) == 3


def owned_by_one(caplog, **faults):
    """What a replica owns after its first claims, and whether it has logged a problem."""

    async def scenario():
        replica = Replica(LeaseServer(), "a")
        for name, fault in faults.items():
            setattr(replica.connection, name, fault)
        await virtual_time.passes(1)
        found.update(replica.writable())
        await replica.stop()

    found = set()
    with caplog.at_level(logging.INFO):
        virtual_time.run(scenario())
    return found, any(PROBLEM in each.message for each in caplog.records)


def test_a_shard_whose_claim_is_refused_is_reported_and_does_not_delay_the_others(caplog):
    assert owned_by_one(caplog, refused=NAME) == (set(ALL_SHARDS) - {SHARD}, True)


def test_a_shard_that_another_client_was_faster_to_claim_is_not_reported(caplog):
    assert owned_by_one(caplog, changed=NAME) == (set(ALL_SHARDS) - {SHARD}, False)


def test_a_member_looks_for_free_shards_every_retry_period_and_up_to_a_fifth_later():
    async def scenario():
        replica = Replica(LeaseServer(), "a")
        await virtual_time.passes(100)
        pauses = [
            after - before for before, after in pairwise(replica.connection.listed_at_seconds)
        ]
        # Without the first one, which ends with a claim. The LIST and its response take 10 ms.
        between = [pause - 0.01 for pause in pauses[2:]]
        assert min(between) >= TIMES.retry_seconds - 0.001
        assert max(between) <= 1.2 * TIMES.retry_seconds + 0.001
        assert max(between) > min(between) + 0.1, "at random"

    virtual_time.run(scenario())
