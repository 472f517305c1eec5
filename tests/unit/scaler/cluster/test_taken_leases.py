"""A Lease that a user deletes or edits: who held it writes nothing from the moment at which it can know."""

import pytest

from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection, LeaseServer
from tests.unit.scaler.cluster.shards.sharing_replicas import Replica
from tests.unit.scaler.cluster.test_hanging_leases import Candidate

NAME = "scaler"


class Draining(Candidate):
    """Its reconciles in progress take three seconds to end."""

    async def work(self):
        try:
            await super().work()
        finally:
            await virtual_time.passes(3)


class Interrupted(Connection):
    """`before_write` is called once, before the next write."""

    before_write = None

    async def replace(self, path, body, params=None):
        self._interrupt()
        return await super().replace(path, body, params)

    async def create(self, path, body, params=None):
        self._interrupt()
        return await super().create(path, body, params)

    def _interrupt(self):
        interruption, self.before_write = self.before_write, None
        if interruption is not None:
            interruption()


def taken(server):
    """By a user, or by another replica after a user has deleted the Lease."""
    server.store({"metadata": {"name": NAME}, "spec": {"holderIdentity": "b"}})


def test_a_leader_that_has_read_that_another_one_holds_the_lease_writes_nothing_while_it_stops():
    async def scenario():
        server = LeaseServer()
        candidate = Draining(server)
        await virtual_time.passes(5)
        taken(server)
        await virtual_time.passes(2.1)
        assert candidate.stopped_at_seconds
        assert candidate.election._is_leading, "it still stops"
        assert not candidate.election.is_leader
        await candidate.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("is_deleted", [False, True], ids=["edited", "deleted"])
def test_a_leader_that_another_one_was_faster_than_reads_at_once_who_leads(is_deleted):
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server)
        connection = candidate.election._client = Interrupted(server, seconds=0.005)
        await virtual_time.passes(5)
        if is_deleted:
            del server.leases[NAME]
        connection.before_write = lambda: taken(server)
        await virtual_time.passes(2.1)
        assert connection.before_write is None
        assert not candidate.election.is_leader
        assert candidate.stopped_at_seconds
        await candidate.stop()

    virtual_time.run(scenario())


def test_a_leader_that_cannot_create_its_deleted_lease_again_writes_nothing():
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server)
        await virtual_time.passes(5)
        del server.leases[NAME]
        candidate.connection.refused = NAME
        await virtual_time.passes(2.1)
        assert not candidate.election.is_leader
        candidate.connection.refused = ""
        await virtual_time.passes(2.1)
        assert candidate.election.is_leader
        await candidate.stop()

    virtual_time.run(scenario())


def test_what_a_leader_reads_does_not_move_its_deadline():
    """Its renewals arrive, and the responses do not: another one counts from when it has seen them."""

    async def scenario():
        candidate = Draining(LeaseServer())
        await virtual_time.passes(1)
        candidate.connection.loses_responses = True
        candidate.connection.get = Connection(candidate.connection.server, 0.005).get
        await virtual_time.passes(9.2)
        assert candidate.election._is_leading, "it still stops"
        assert not candidate.election.is_leader
        await candidate.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize("after_seconds", [0.1, 0.5, 1.0, 1.5, 1.9])
def test_a_member_that_has_read_that_its_lease_is_gone_writes_nothing(after_seconds):
    """The others may have claimed its shards."""

    async def scenario():
        server = LeaseServer()
        a, b = Replica(server, "a"), Replica(server, "b")
        await virtual_time.passes(20 + after_seconds)
        owned = a.writable()
        (name,) = (each for each, holder in server.named("-member-").items() if holder[0] == "a")
        del server.leases[name]
        a.connection.listed_at_seconds.clear()
        while not a.connection.listed_at_seconds:
            await virtual_time.passes(0.005)
        await virtual_time.passes(0.006)
        assert owned
        assert not a.writable()
        await a.stop()
        await b.stop()

    virtual_time.run(scenario())
