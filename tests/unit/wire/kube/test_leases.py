"""Candidates for one lease, on an API server that lets one of two writers win, in virtual time."""

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from wire.kube.leases import LeaderElection, Lease
from wire.kube.requests import JSON
from wire.status import StatusError, Unavailable

DEADLINE_SECONDS = 10
LEASE_SECONDS = 15


class Leases:
    """Keeps one Lease with a resourceVersion; `down` for some candidates cuts them off."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0

    def store(self, body: bytes) -> bytes:
        self.version += 1
        lease = msgspec.json.decode(body, type=Lease)
        metadata = msgspec.structs.replace(lease.metadata, resource_version=str(self.version))
        self.lease = msgspec.structs.replace(lease, metadata=metadata)
        return msgspec.json.encode(self.lease)


class Client:
    """One candidate's way to the API server."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.is_down = False

    def reach(self) -> None:
        if self.is_down:
            raise Unavailable("no route")

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.reach()
        if self.leases.lease is None:
            raise StatusError("none", code=404, reason="NotFound")
        return msgspec.json.encode(self.leases.lease)

    async def create(self, path: str, body: bytes) -> bytes:
        self.reach()
        if self.leases.lease is not None:
            raise StatusError("exists", code=409, reason="AlreadyExists")
        return self.leases.store(body)

    async def replace(self, path: str, body: bytes) -> bytes:
        self.reach()
        sent = msgspec.json.decode(body, type=Lease)
        if sent.metadata.resource_version != str(self.leases.version):
            raise StatusError("changed", code=409, reason="Conflict")
        return self.leases.store(body)


class Candidate:
    def __init__(self, leases, identity, time, working):
        self.client = Client(leases)
        self.time = time
        self.working = working
        self.identity = identity
        self.election = LeaderElection(
            self.client,
            namespace="n",
            name="l",
            identity=identity,
            sleep=time.pause,
            monotonic=time.now,
            chance=lambda: 0.0,
        )
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self):
        self.working.append(self.identity)
        assert len(self.working) == 1, "two must never work at once"
        try:
            await self.time.pause(1e9)
        finally:
            self.working.remove(self.identity)

    async def stop(self):
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task


@pytest.fixture
async def candidates(time):
    """Start a candidate by its identity; `working` lists who works."""
    leases, working, started = Leases(), [], []

    def start(identity):
        started.append(Candidate(leases, identity, time, working))
        return started[-1]

    start.leases, start.working = leases, working
    yield start
    for candidate in started:
        candidate.task.cancel()
    await asyncio.gather(*(candidate.task for candidate in started), return_exceptions=True)


async def test_the_first_works_and_renews_the_second_waits(candidates, time):
    candidates("a")
    await time.settle()
    candidates("b")
    await time.advance(60)
    assert candidates.working == ["a"]
    spec = candidates.leases.lease.spec
    assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == (
        "a",
        15,
        0,
    )


async def test_who_stops_gives_the_lease_back_at_once(candidates, time):
    a = candidates("a")
    await time.settle()
    candidates("b")
    await time.settle()
    await a.stop()
    assert candidates.leases.lease.spec.holder_identity == ""
    await time.advance(3)
    assert candidates.working == ["b"]
    assert candidates.leases.lease.spec.lease_transitions == 1


async def test_who_is_cut_off_stops_before_another_starts(candidates, time):
    a = candidates("a")
    await time.settle()
    candidates("b")
    await time.advance(20)
    a.client.is_down = True
    await time.advance(DEADLINE_SECONDS + 0.5)
    assert candidates.working == []
    await time.advance(LEASE_SECONDS)
    assert candidates.working == ["b"]
    a.client.is_down = False
    await time.advance(60)
    assert candidates.working == ["b"]


async def test_a_short_outage_costs_nothing(candidates, time):
    a = candidates("a")
    await time.advance(5)
    a.client.is_down = True
    await time.advance(6)
    a.client.is_down = False
    await time.advance(30)
    assert candidates.working == ["a"]
    assert candidates.leases.lease.spec.lease_transitions == 0


async def test_a_lease_that_was_taken_away_stops_the_work(candidates, time):
    candidates("a")
    await time.advance(5)
    lease = candidates.leases.lease
    thief = msgspec.structs.replace(lease.spec, holder_identity="thief")
    candidates.leases.store(msgspec.json.encode(msgspec.structs.replace(lease, spec=thief)))
    await time.advance(3)
    assert candidates.working == []
    await time.advance(LEASE_SECONDS + 3)
    assert candidates.working == ["a"]


async def test_a_lease_that_was_deleted_is_made_again(candidates, time):
    candidates("a")
    await time.advance(5)
    candidates.leases.lease = None
    await time.advance(3)
    assert candidates.working == ["a"]
    assert candidates.leases.lease.spec.holder_identity == "a"


async def test_work_that_ends_ends_the_candidate(time):
    leases = Leases()
    election = LeaderElection(
        Client(leases), namespace="n", name="l", identity="a", sleep=time.pause, monotonic=time.now
    )

    async def work() -> None:
        assert election.is_leader

    await election.run(work)
    assert leases.lease is not None
    assert leases.lease.spec.holder_identity == ""


async def test_a_fault_in_the_work_is_raised_and_the_lease_given_back(time):
    leases = Leases()
    election = LeaderElection(
        Client(leases), namespace="n", name="l", identity="a", sleep=time.pause, monotonic=time.now
    )

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await election.run(work)
    assert leases.lease is not None
    assert leases.lease.spec.holder_identity == ""
