"""One request for a Lease that gets no response, on a connection that hangs, does not cost the leadership."""

import asyncio
import json

import pytest

from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.lease import LeaseTimes
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection, LeaseServer
from tests.unit.scaler.cluster.shards.sharing_replicas import Replica, assert_shared


class Candidate:
    """It records when it stops to lead."""

    def __init__(self, server, times=None, seconds=0.005):
        loop = asyncio.get_running_loop()
        self.connection = Connection(server, seconds=seconds)
        self.stopped_at_seconds = []
        self.election = LeaderElection(
            self.connection, namespace="n", name="scaler", identity="a", times=times,
            sleep=virtual_time.passes, monotonic=loop.time, now=lambda: 1_700_000_000 + loop.time(),
        )  # fmt: skip
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self):
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped_at_seconds.append(asyncio.get_running_loop().time())

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.mark.parametrize("is_changed", [False, True], ids=["its PUT", "its GET after a conflict"])
@pytest.mark.parametrize(
    "times",
    [
        LeaseTimes(),
        LeaseTimes(lease_seconds=60.0, renew_deadline_seconds=40.0, retry_seconds=5.0),
        LeaseTimes(lease_seconds=137.0, renew_deadline_seconds=107.0, retry_seconds=26.0),
    ],
    ids=lambda times: f"{times.renew_deadline_seconds:g} s",
)
def test_a_leader_goes_on_after_one_request_that_hangs(is_changed, times):
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server, times)
        # The Lease is acquired by two requests of 10 ms each, and renewed by one.
        await virtual_time.passes(0.02 + times.retry_seconds / 2)
        if is_changed:
            server.store(json.loads(json.dumps(server.leases["scaler"])))
            await virtual_time.passes(times.retry_seconds / 2 + 0.007)
        candidate.connection.hanging = 1
        await virtual_time.passes(2 * times.renew_deadline_seconds)
        assert candidate.connection.hanging == 0
        assert candidate.election.is_leader
        assert candidate.stopped_at_seconds == []
        await candidate.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("latency_seconds", [1, 2, 3, 3.9])
def test_a_leader_keeps_its_lease_while_each_request_takes_seconds(latency_seconds):
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server, seconds=latency_seconds / 2)
        await virtual_time.passes(2 * latency_seconds)
        for _ in range(600):
            await virtual_time.passes(0.2)
            assert candidate.election.is_leader
        assert candidate.stopped_at_seconds == []
        await candidate.stop()

    virtual_time.run(scenario())


def test_a_renewal_is_one_request():
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server)
        await virtual_time.passes(1)
        candidate.connection.sent.clear()
        await virtual_time.passes(10)
        assert candidate.connection.sent == ["PUT scaler"] * 5
        await candidate.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("body", [b"{}", b'{"kind": "Status", "status": "Success"}'])
def test_a_leader_goes_on_after_a_response_that_is_not_a_lease(body):
    """Of a gateway: it does not say that the Lease has no holder."""

    async def scenario():
        candidate = Candidate(LeaseServer())
        await virtual_time.passes(1)
        candidate.connection.other_json = body
        for _ in range(40):
            await virtual_time.passes(0.1)
            assert candidate.election.is_leader
        candidate.connection.other_json = None
        await virtual_time.passes(20)
        assert candidate.election.is_leader
        assert candidate.stopped_at_seconds == []
        await candidate.stop()

    virtual_time.run(scenario())


def test_a_leader_whose_requests_all_hang_stops_at_the_renew_deadline():
    async def scenario():
        candidate = Candidate(LeaseServer())
        await virtual_time.passes(1)
        candidate.connection.hanging = 100
        await virtual_time.passes(9.2)
        assert not candidate.election.is_leader
        assert candidate.stopped_at_seconds == [pytest.approx(10.015, abs=0.02)]
        await candidate.stop()

    virtual_time.run(scenario())


def test_a_member_goes_on_after_one_request_of_each_kind_that_hangs():
    async def scenario():
        replica = Replica(LeaseServer(), "a")
        await virtual_time.passes(3)
        replica.connection.hanging = 3
        for _ in range(200):
            await virtual_time.passes(0.1)
            assert_shared(replica)
        assert replica.connection.hanging == 0
        await replica.stop()

    virtual_time.run(scenario())


def test_the_shards_of_a_replica_that_stops_are_claimed_although_the_next_list_hangs():
    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(10)
        await a.stop()
        b.connection.hanging = 1
        await virtual_time.passes(9)
        assert_shared(b)
        await b.stop()

    virtual_time.run(scenario())
