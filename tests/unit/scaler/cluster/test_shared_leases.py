"""Candidates that hold a lease together, under one identity."""

import asyncio

import msgspec
import pytest

from scaler.cluster.leader_election import LeaderElection
from tests.unit.scaler.cluster.one_lease import Client, Leases
from tests.unit.scaler.cluster.test_leases import DEADLINE_SECONDS
from wire.api.status import StatusError


def candidate(client, time):
    """One of those that hold the Lease together."""
    return LeaderElection(
        client, namespace="n", name="l", identity="all", is_shared=True,
        sleep=time.pause, monotonic=time.now, now=time.now, chance=lambda: 0.0,
    )  # fmt: skip


async def test_candidates_with_one_identity_hold_a_lease_together(time):
    """Of those that renew it at the same moment one succeeds; for the others this is as good as their own renewal."""
    leases = Leases()
    elections, tasks = [], []
    for _ in range(5):
        election = candidate(Client(leases), time)
        elections.append(election)
        tasks.append(asyncio.create_task(election.run(lambda: time.pause(1e9))))
    for _ in range(120):
        await time.advance(0.5)
        assert time.now() < 1_003 or all(election.is_leader for election in elections)
    tasks.pop().cancel()
    await time.advance(1)
    assert leases.lease.spec.holder_identity == "all"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class WithoutPatch(Client):
    """As with the Role of an earlier chart."""

    def __init__(self, leases):
        super().__init__(leases)
        self.patches = 0

    async def patch(self, path, body, *, content_type):
        self.patches += 1
        raise StatusError("forbidden", code=403, reason="Forbidden")


async def test_without_permission_to_patch_a_lease_that_is_held_together_is_still_renewed(time):
    leases = Leases()
    client = WithoutPatch(leases)
    election = candidate(client, time)
    task = asyncio.create_task(election.run(lambda: time.pause(1e9)))
    for _ in range(60):
        await time.advance(1)
        assert election.is_leader
    assert client.patches == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"holder_identity": "another"}, id="another holder"),
        pytest.param({"lease_transitions": 2}, id="another one has held it"),
    ],
)
async def test_a_lease_of_another_term_is_not_renewed_together(time, change):
    leases = Leases()
    election = candidate(Client(leases), time)
    task = asyncio.create_task(election.run(lambda: time.pause(1e9)))
    await time.advance(1)
    assert election.leads_without_gap
    spec = msgspec.structs.replace(leases.lease.spec, **change)
    leases.store(msgspec.json.encode(msgspec.structs.replace(leases.lease, spec=spec)))
    await time.advance(3)
    assert not election.leads_without_gap
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_conflict_with_another_client_does_not_renew_a_lease_that_is_held_together(time):
    leases = Leases()
    client = WithoutPatch(leases)
    election = candidate(client, time)
    task = asyncio.create_task(election.run(lambda: time.pause(1e9)))
    await time.advance(1)
    assert election.is_leader
    replace = client.replace

    async def replace_after_a_label(path, body):
        leases.store(msgspec.json.encode(leases.lease))
        return await replace(path, body)

    client.replace = replace_after_a_label
    await time.advance(DEADLINE_SECONDS + 1)
    assert not election.is_leader
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_leader_that_is_cancelled_twice_ends_after_its_work_and_releases_the_lease(time):
    """As a member that loses its own lease, and then the one that it shares: the next work must not begin beside this one."""
    leases, ended = Leases(), []
    election = LeaderElection(
        Client(leases), namespace="n", name="l", identity="a",
        sleep=time.pause, monotonic=time.now, now=time.now, chance=lambda: 0.0,
    )  # fmt: skip

    async def work():
        try:
            await time.pause(1e9)
        finally:
            await time.pause(3)
            ended.append("drained")

    task = asyncio.create_task(election.run(work))
    await time.advance(1)
    for _ in range(2):
        task.cancel()
        await time.settle()
    assert not task.done()
    await time.advance(4)
    assert (task.cancelled(), ended) == (True, ["drained"])
    assert leases.lease.spec.holder_identity == ""
