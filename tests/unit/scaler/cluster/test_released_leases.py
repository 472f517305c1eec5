"""A leader that stops releases its Lease, also when a renewal is on its way."""

import asyncio

import pytest

from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection, LeaseServer
from tests.unit.scaler.cluster.test_hanging_leases import Candidate

NAME = "scaler"


class LateWrites(Connection):
    """A write that is not waited for any longer is carried out after `late_seconds`."""

    late_seconds = 0.0
    is_writing = False

    async def replace(self, path, body, params=None):
        self.is_writing = True
        writing = asyncio.ensure_future(self._replace_late(path, body))
        return await asyncio.shield(writing)

    async def _replace_late(self, path, body):
        await virtual_time.passes(self.late_seconds)
        return await super().replace(path, body)


@pytest.mark.parametrize("after_seconds", [4.55, 4.65, 4.75, 4.85])
def test_a_leader_that_stops_during_a_renewal_releases_its_lease(after_seconds):
    """From 4.6 s on, a PUT takes 0.2 s."""

    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server)
        candidate.connection.seconds = 0.1
        await virtual_time.passes(after_seconds)
        assert server.holder(NAME) == "a"
        await candidate.stop()
        assert server.holder(NAME) == ""

    virtual_time.run(scenario())


def test_a_renewal_that_is_carried_out_while_the_lease_is_released_does_not_keep_it():
    async def scenario():
        server = LeaseServer()
        candidate = Candidate(server)
        connection = candidate.election._client = LateWrites(server, 0.05)
        await virtual_time.passes(1)
        connection.late_seconds = 0.12
        while not connection.is_writing:
            await virtual_time.passes(0.01)
        before = len(server.writes)
        await candidate.stop()
        assert len(server.writes) == before + 2, "the renewal, and the release"
        assert server.holder(NAME) == ""

    virtual_time.run(scenario())
