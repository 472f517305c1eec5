"""Replicas that share the shards: each shard has one owner, and soon another one."""

import asyncio
import json

import pytest

from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.shards.assignment import ALL_SHARDS, SHARDS, shards_of
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection, LeaseServer
from tests.unit.scaler.cluster.shards.sharing_replicas import (
    TAKE_OVER_SECONDS,
    TIMES,
    Replica,
    assert_shared,
    assert_writable,
)


def test_a_single_replica_owns_everything():
    async def scenario():
        server = LeaseServer()
        replica = Replica(server, "a")
        await virtual_time.passes(3)
        assert_shared(replica)
        assert set(server.named("-shard-").values()) == set(server.named("-member-").values())

    virtual_time.run(scenario())


def test_three_replicas_share_the_shards_by_rendezvous():
    async def scenario():
        server = LeaseServer()
        replicas = [Replica(server, name) for name in "abc"]
        await virtual_time.passes(15)
        assert_shared(*replicas)
        shares = {frozenset(replica.work.shards) for replica in replicas}
        assert shares == {shards_of(number, range(3)) for number in range(3)}

    virtual_time.run(scenario())


def test_in_a_steady_state_only_the_leases_of_members_are_renewed():
    async def scenario():
        server = LeaseServer()
        [Replica(server, name) for name in "abc"]
        await virtual_time.passes(20)
        server.writes.clear()
        await virtual_time.passes(60)
        assert not [name for name in server.writes if "-shard-" in name]
        # Each replica renews its own and that with which all of them exclude a leader.
        assert len(server.writes) <= 3 * 2 * 60 / TIMES.retry_seconds

    virtual_time.run(scenario())


def test_a_replica_that_joins_gets_its_shards_from_owners_that_have_drained():
    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a", drain_seconds=2)
        await virtual_time.passes(3)
        b = Replica(server, "b")
        for _ in range(100):
            await virtual_time.passes(0.1)
            assert not a.writable() & b.writable()
            assert not b.work.shards & a.work.shards
        assert_shared(a, b)

    virtual_time.run(scenario())


def test_the_shards_of_a_replica_that_stops_are_free_at_once():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        await a.stop()
        assert not a.work.is_running
        await virtual_time.passes(1.2 * TIMES.retry_seconds + 1)
        assert_shared(b)

    virtual_time.run(scenario())


def test_the_shards_of_a_replica_that_was_killed_are_taken_over_within_the_time_of_a_lease():
    async def scenario():
        server = LeaseServer()
        a, b, c = (Replica(server, name) for name in "abc")
        await virtual_time.passes(15)
        kept = set(b.work.shards)
        await a.kill()
        await virtual_time.passes(TAKE_OVER_SECONDS)
        assert_shared(b, c)
        assert kept <= b.work.shards

    virtual_time.run(scenario())


def test_a_replica_that_is_cut_off_writes_nothing_from_before_its_shards_are_claimed():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        a.connection.is_cut = True
        for _ in range(400):
            await virtual_time.passes(0.1)
            assert not a.writable() & b.writable()
        assert_shared(b)
        a.connection.is_cut = False
        await virtual_time.passes(30)
        assert_shared(a, b)

    virtual_time.run(scenario())


def test_a_replica_that_was_suspended_does_not_write_when_it_goes_on():
    """Before it has noticed anything: `may_write` is what a write asks that was about to be sent."""

    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        a.goes_on.clear()
        for _ in range(400):
            await virtual_time.passes(0.1)
            assert not a.writable() & b.writable()
        assert_writable(b)
        a.goes_on.set()
        await virtual_time.passes(30)
        assert_shared(a, b)

    virtual_time.run(scenario())


@pytest.mark.parametrize("name", ["scaler", "scaler-member-0"])
def test_a_replica_that_cannot_renew_one_of_its_leases_writes_nothing_while_it_stops(name):
    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a", drain_seconds=3)
        await virtual_time.passes(10)
        assert_shared(a)
        a.connection.refused = name
        await virtual_time.passes(TIMES.renew_deadline_seconds + 0.5)
        assert a.work.is_running, "reconciles in progress may still end"
        assert not a.writable()

    virtual_time.run(scenario())


def test_a_replica_that_was_cut_off_has_its_shards_again_as_soon_as_it_is_connected():
    """It does not wait until the Lease that it had before expires."""

    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a")
        await virtual_time.passes(3)
        a.connection.is_cut = True
        await virtual_time.passes(TIMES.renew_deadline_seconds + 1)
        assert not a.writable()
        a.connection.is_cut = False
        await virtual_time.passes(1.2 * TIMES.retry_seconds + 0.5)
        assert_shared(a)

    virtual_time.run(scenario())


def test_a_replica_that_was_cut_off_for_a_moment_keeps_its_memory():
    """It has lost its Lease, but no other replica was there to take over."""

    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a")
        await virtual_time.passes(3)
        a.connection.is_cut = True
        await virtual_time.passes(12)
        assert not a.writable()
        a.connection.is_cut = False
        await virtual_time.passes(10)
        assert_shared(a)
        assert a.work.continued == ALL_SHARDS

    virtual_time.run(scenario())


def test_what_did_not_begin_after_its_claim_is_not_continued_after_the_next_one():
    """What was stored has not been read yet."""

    async def scenario():
        a = Replica(LeaseServer(), "a")
        a.work.may_begin.clear()
        await virtual_time.passes(3)
        a.connection.is_cut = True
        await virtual_time.passes(12)
        a.work.may_begin.set()
        a.connection.is_cut = False
        await virtual_time.passes(10)
        assert_shared(a)
        assert not a.work.continued

    virtual_time.run(scenario())


def test_what_another_replica_has_owned_meanwhile_is_not_continued():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        a.connection.is_cut = True
        await virtual_time.passes(TAKE_OVER_SECONDS + 10)
        a.connection.is_cut = False
        await b.stop()
        await virtual_time.passes(30)
        assert_shared(a)
        assert not a.work.continued

    virtual_time.run(scenario())


def test_a_claim_whose_response_was_lost_is_made_again():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(1)
        b.connection.loses_responses = True
        await virtual_time.passes(6)
        b.connection.loses_responses = False
        await virtual_time.passes(40)
        assert_shared(a, b)

    virtual_time.run(scenario())


def test_a_replica_that_joined_without_a_response_holds_one_number():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        b.connection.loses_responses_to = "-member-"
        await virtual_time.passes(5)
        assert len([each for each in server.named("-member-").values() if each[0] == "b"]) == 1
        b.connection.loses_responses_to = ""
        await virtual_time.passes(10)
        assert_shared(a, b)
        assert len(server.named("-member-")) == 2

    virtual_time.run(scenario())


@pytest.mark.parametrize("part", ["-member-0", "-shard-", "scaler"])
def test_leases_that_a_user_deletes_are_created_again(part):
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        for name in list(server.leases):
            if part in name:
                del server.leases[name]
        await virtual_time.passes(2 * TAKE_OVER_SECONDS)
        assert_shared(a, b)
        assert len(server.named("-shard-")) == SHARDS

    virtual_time.run(scenario())


def test_another_scaler_in_the_same_namespace_is_independent():
    async def scenario():
        server = LeaseServer()
        server.store({"metadata": {"name": "other-shard-00"}, "spec": {"holderIdentity": "x"}})
        server.store({"metadata": {"name": "scaler-controller"}, "spec": {"holderIdentity": "y"}})
        replica = Replica(server, "a")
        await virtual_time.passes(3)
        assert_shared(replica)
        assert server.holder("other-shard-00") == "x"

    virtual_time.run(scenario())


def test_during_a_change_to_shards_and_back_nothing_has_two_writers():
    """A Deployment that is updated from `--leader-elect` to `--sharding` runs both for a while."""

    async def scenario():
        server = LeaseServer()
        loop = asyncio.get_running_loop()
        leading = LeaderElection(
            Connection(server), namespace="loadline", name="scaler", identity="old", times=TIMES,
            monotonic=loop.time, now=loop.time, chance=lambda: 0.0,
        )  # fmt: skip
        leader = asyncio.create_task(leading.run(asyncio.Event().wait))
        await virtual_time.passes(5)
        a = Replica(server, "a")
        await virtual_time.passes(60)
        assert leading.is_leader
        assert not a.writable()
        leader.cancel()
        await virtual_time.passes(6)
        assert_shared(a)
        leader = asyncio.create_task(leading.run(asyncio.Event().wait))
        await virtual_time.passes(60)
        assert not leading.is_leader
        await a.stop()
        await virtual_time.passes(TAKE_OVER_SECONDS)
        assert leading.is_leader
        leader.cancel()

    virtual_time.run(scenario())


def test_the_largest_difference_to_the_clock_of_another_member_is_known():
    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a", clock_ahead_seconds=3600)
        b = Replica(server, "b")
        c = Replica(server, "c", clock_ahead_seconds=-60)
        await virtual_time.passes(30)
        assert 3600 - 2.5 <= b.membership.clock_difference_seconds <= 3600
        assert 3660 - 2.5 <= c.membership.clock_difference_seconds <= 3660
        assert -3660 - 2.5 <= a.membership.clock_difference_seconds <= -3660

    virtual_time.run(scenario())


@pytest.mark.parametrize("after_seconds", [10.0 + number / 4 for number in range(8)])
def test_a_member_that_has_lost_its_lease_finishes_its_reconciles_before_it_joins_again(
    after_seconds,
):
    """The loss is noticed twice while they end: from the Leases of all members, and when its own is renewed."""

    async def scenario():
        server = LeaseServer()
        a = Replica(server, "a", drain_seconds=3)
        await virtual_time.passes(after_seconds)
        assert_shared(a)
        lease = json.loads(json.dumps(server.leases["scaler-member-0"]))
        lease["spec"]["holderIdentity"] = "another"
        server.store(lease)
        await virtual_time.passes(2 * TIMES.retry_seconds + 3)
        assert not a.work.is_interrupted
        await virtual_time.passes(TAKE_OVER_SECONDS + TIMES.lease_seconds)
        assert_shared(a)

    virtual_time.run(scenario())


@pytest.mark.parametrize("replicas_count", [1, 2, 5])
@pytest.mark.parametrize("round_trip_seconds", [2.0, 3.0, 3.5])
def test_every_shard_keeps_its_owner_while_the_api_server_is_slow(
    replicas_count, round_trip_seconds
):
    """As a leader keeps its Lease: each renewal is one request, and does not conflict with those of the others."""

    async def scenario():
        server = LeaseServer()
        replicas = [Replica(server, str(number)) for number in range(replicas_count)]
        await virtual_time.passes(60)
        owned = [replica.writable() for replica in replicas]
        for replica in replicas:
            replica.connection.seconds = round_trip_seconds / 2
        for _ in range(120):
            await virtual_time.passes(1)
            assert [replica.writable() for replica in replicas] == owned

    virtual_time.run(scenario())
