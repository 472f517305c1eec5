"""Candidates for one lease, on an API server that refuses the second of two concurrent updates, in virtual time."""

import asyncio

import msgspec
import pytest

from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.lease import COMPARISON_SECONDS_MAX, LeaseTimes
from tests.unit.scaler.cluster.one_lease import Client, Leases

DEADLINE_SECONDS = 10
LEASE_SECONDS = 15


class Candidate:
    def __init__(self, leases, identity, time, working, times=None, clock_ahead_seconds=0.0):
        self.client = Client(leases)
        self.time = time
        self.working = working
        self.identity = identity
        self.clock_ahead_seconds = clock_ahead_seconds
        self.election = LeaderElection(
            self.client,
            namespace="n",
            name="l",
            identity=identity,
            times=times,
            sleep=time.pause,
            monotonic=time.now,
            now=lambda: time.now() + self.clock_ahead_seconds,
            chance=lambda: 0.0,
        )
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self):
        self.working.append(self.identity)
        assert len(self.working) == 1, "two lead at once"
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
    """Start a candidate by its identity; `working` lists the identities that lead."""
    leases, working, started = Leases(), [], []

    def start(identity, times=None, clock_ahead_seconds=0.0):
        started.append(Candidate(leases, identity, time, working, times, clock_ahead_seconds))
        return started[-1]

    start.leases, start.working = leases, working
    yield start
    for candidate in started:
        candidate.task.cancel()
    await asyncio.gather(*(candidate.task for candidate in started), return_exceptions=True)


async def test_the_first_candidate_leads_and_renews_while_the_second_waits(candidates, time):
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


async def test_a_leader_that_stops_releases_the_lease_at_once(candidates, time):
    a = candidates("a")
    await time.settle()
    candidates("b")
    await time.settle()
    await a.stop()
    assert candidates.leases.lease.spec.holder_identity == ""
    await time.advance(3)
    assert candidates.working == ["b"]
    assert candidates.leases.lease.spec.lease_transitions == 1


async def test_a_leader_that_is_cut_off_stops_before_another_starts(candidates, time):
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


@pytest.mark.parametrize(
    ("lease_seconds", "renew_deadline_seconds", "retry_seconds", "stored_seconds"),
    [(15.0, 10.0, 2.0, 15), (1.9, 1.6, 0.4, 2), (0.5, 0.4, 0.1, 1), (2.1, 2.0, 0.5, 3)],
)
async def test_fractions_of_a_second_never_make_two_leaders(
    candidates, time, lease_seconds, renew_deadline_seconds, retry_seconds, stored_seconds
):
    times = LeaseTimes(
        lease_seconds=lease_seconds,
        renew_deadline_seconds=renew_deadline_seconds,
        retry_seconds=retry_seconds,
    )
    a = candidates("a", times)
    await time.settle()
    assert candidates.leases.lease.spec.lease_duration_seconds == stored_seconds
    b = candidates("b", times)
    await time.advance(5)
    assert candidates.working == ["a"]
    a.client.is_down = True
    await time.advance(stored_seconds + 3 * retry_seconds)
    assert candidates.working == ["b"]
    assert not a.task.done(), "two led at once"
    assert not b.task.done(), "two led at once"


async def test_a_leader_that_was_suspended_knows_that_it_no_longer_leads(candidates, time):
    a = candidates("a")
    await time.advance(5)
    assert a.election.is_leader
    time.seconds += 60.0  # without running anything
    assert not a.election.is_leader


async def test_the_wall_clock_of_another_machine_does_not_matter(candidates, time):
    a = candidates("a")
    await time.advance(1)
    lease = candidates.leases.lease
    skewed = msgspec.structs.replace(lease.spec, renew_time="1999-01-01T00:00:00.000000Z")
    candidates.leases.store(msgspec.json.encode(msgspec.structs.replace(lease, spec=skewed)))
    candidates("b")
    await time.advance(60)
    assert candidates.working == ["a"]
    assert not a.task.done()


async def test_a_short_outage_changes_no_leader(candidates, time):
    a = candidates("a")
    await time.advance(5)
    a.client.is_down = True
    await time.advance(6)
    a.client.is_down = False
    await time.advance(30)
    assert candidates.working == ["a"]
    assert candidates.leases.lease.spec.lease_transitions == 0


async def test_a_leader_whose_lease_another_has_taken_stops(candidates, time):
    candidates("a")
    await time.advance(5)
    lease = candidates.leases.lease
    thief = msgspec.structs.replace(lease.spec, holder_identity="thief")
    candidates.leases.store(msgspec.json.encode(msgspec.structs.replace(lease, spec=thief)))
    await time.advance(3)
    assert candidates.working == []
    await time.advance(LEASE_SECONDS + 3)
    assert candidates.working == ["a"]


async def test_a_deleted_lease_is_created_again(candidates, time):
    candidates("a")
    await time.advance(5)
    candidates.leases.lease = None
    await time.advance(3)
    assert candidates.working == ["a"]
    assert candidates.leases.lease.spec.holder_identity == "a"


async def test_a_leader_that_acquires_its_own_lease_again_continues(candidates, time):
    a = candidates("a")
    await time.advance(5)
    assert not a.election.continues
    a.client.is_down = True
    await time.advance(DEADLINE_SECONDS + 5)
    assert candidates.working == []
    a.client.is_down = False
    await time.advance(5)
    assert (candidates.working, a.election.continues) == (["a"], True)


@pytest.mark.parametrize("deletes", [False, True], ids=["kept", "deleted in between"])
async def test_a_leader_does_not_continue_after_another_one(candidates, time, deletes):
    a = candidates("a")
    await time.advance(5)
    a.client.is_down = True
    b = candidates("b")
    await time.advance(DEADLINE_SECONDS + LEASE_SECONDS + 5)
    assert candidates.working == ["b"]
    if deletes:
        candidates.leases.lease = None
        b.client.is_down = True
        await time.advance(DEADLINE_SECONDS + 5)
    await b.stop()
    a.client.is_down = False
    await time.advance(LEASE_SECONDS + 10)
    assert (candidates.working, a.election.continues) == (["a"], False)


async def test_a_leader_does_not_continue_after_another_one_in_a_term_of_the_same_number(
    candidates, time
):
    """As after a restore of etcd from a backup, from which on transitions are counted again."""
    b = candidates("b")
    await time.advance(5)
    backup = candidates.leases.lease
    await b.stop()
    a = candidates("a")
    await time.advance(5)
    led = candidates.leases.lease.spec.lease_transitions
    a.client.is_down = True
    await time.advance(DEADLINE_SECONDS + 5)
    candidates.leases.lease = backup  # Held by b, which has led meanwhile.
    candidates.leases.version = int(backup.metadata.resource_version)
    a.client.is_down = False
    await time.advance(LEASE_SECONDS + 10)
    assert candidates.leases.lease.spec.lease_transitions == led
    assert (candidates.working, a.election.continues) == (["a"], False)


async def test_work_that_returns_ends_the_candidate(time):
    leases = Leases()
    election = LeaderElection(
        Client(leases), namespace="n", name="l", identity="a", sleep=time.pause, monotonic=time.now
    )

    async def work() -> None:
        assert election.is_leader

    await election.run(work)
    assert leases.lease is not None
    assert leases.lease.spec.holder_identity == ""


async def test_an_exception_of_the_work_is_raised_and_the_lease_released(time):
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


# Wall clocks.


@pytest.mark.parametrize("ahead_seconds", [-3600.0, -60.0, 0.0, 60.0, 3600.0])
async def test_how_far_the_clock_of_the_previous_leader_is_ahead_is_known_to_a_retry_period(
    candidates, time, ahead_seconds
):
    a = candidates("a", clock_ahead_seconds=ahead_seconds)
    await time.settle()
    b = candidates("b")
    await time.advance(60)
    assert ahead_seconds - 2.5 <= b.election.clock_difference_seconds <= ahead_seconds
    await a.stop()
    await time.advance(3)
    assert candidates.working == ["b"]
    assert ahead_seconds - 2.5 <= b.election.clock_difference_seconds <= ahead_seconds


async def test_equal_clocks_do_not_differ_however_seldom_the_lease_is_read(candidates, time):
    """With a Lease of a minute, a renewal is read up to eight seconds after it was sent."""
    times = LeaseTimes(lease_seconds=60.0, renew_deadline_seconds=40.0, retry_seconds=8.0)
    candidates("a", times)
    await time.advance(7.5)
    b = candidates("b", times)
    for _ in range(120):
        await time.advance(1)
        assert b.election.clock_difference_seconds == 0.0


async def test_a_step_of_the_own_clock_is_part_of_the_difference(candidates, time):
    candidates("a")
    await time.settle()
    b = candidates("b")
    await time.advance(30)
    b.clock_ahead_seconds = -60.0
    assert 57.5 <= b.election.clock_difference_seconds <= 60.0


async def test_without_another_replica_there_is_no_difference(candidates, time):
    """After one that has gone, the difference is no longer a problem; nor is a step of the only clock."""
    a = candidates("a", clock_ahead_seconds=100.0)
    await time.settle()
    b = candidates("b")
    await time.advance(30)
    await a.stop()
    await time.advance(COMPARISON_SECONDS_MAX + 10)
    b.clock_ahead_seconds = -60.0
    assert b.election.clock_difference_seconds == 0.0


async def test_a_renewal_that_was_not_read_for_long_says_nothing_about_the_clocks(candidates, time):
    a, b = candidates("a"), candidates("b")
    await time.advance(10)
    b.client.is_down = True
    await time.advance(4)
    a.client.is_down = True
    await time.advance(7)
    b.client.is_down = False
    await time.advance(3)
    assert b.election.clock_difference_seconds == pytest.approx(0, abs=2.5)


async def test_the_first_renewal_that_is_read_says_nothing_about_the_clocks(candidates, time):
    """It may have been sent long ago."""
    candidates("a", clock_ahead_seconds=100.0)
    await time.settle()
    b = candidates("b")
    await time.settle()
    assert b.election.clock_difference_seconds == 0.0


async def test_a_lease_without_a_valid_time_says_nothing_about_the_clocks(candidates, time):
    candidates("a")
    await time.settle()
    b = candidates("b")
    await time.settle()
    lease = candidates.leases.lease
    for text in (None, "", "now"):
        spec = msgspec.structs.replace(lease.spec, renew_time=text)
        candidates.leases.lease = msgspec.structs.replace(lease, spec=spec)
        await time.advance(2)
    assert b.election.clock_difference_seconds <= 0.0
