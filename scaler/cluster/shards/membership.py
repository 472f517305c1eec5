"""A replica among those that share the shards.

It holds the Lease of a member, sees by the Leases of the others which of them are alive, claims the shards that it should own once they
are free, and gives up those that another member should own. Two members never own a shard at once:

- A member writes only while its own Lease is valid by its own clock: until `renew_deadline_seconds` after it sent the last renewal that
  succeeded.
- A shard is claimed only if it has no holder, or if its holder holds no member's Lease in the same snapshot. The Lease of a member that does not
  respond is taken from it when it has been unchanged for `lease_seconds`, which is longer. Identities are not used again, so this is final.
- Every write carries the resourceVersion of the snapshot, so that of two claims only one succeeds.
"""

import asyncio
import contextlib
import logging
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, Protocol

from scaler.cluster.leader_election import FAILURES, LeaderElection
from scaler.cluster.lease import Lease, LeaseTimes, ObservedLease
from scaler.cluster.shards.assignment import SHARDS, shard_of, shards_of
from scaler.cluster.shards.shard_leases import (
    MEMBERS_MAX,
    ShardLeases,
    Snapshot,
    holder_of,
    member_name,
    term_of,
)
from wire.api.status import StatusError
from wire.kube.requests import Writer
from wire.process.first_of import first_of
from wire.process.problem_log import ProblemLog

# The identity with which all members together hold the Lease of the leader, so that no replica without shards leads.
SHARED_IDENTITY: Final = "shards"

log = logging.getLogger(__name__)


class Work(Protocol):
    """What a replica does for its shards; `scaler.runtime.reconciling` implements it."""

    async def run(self) -> None:
        """Reconcile until cancelled; then everything has ended and is stored."""
        ...

    async def begin(self, shards: frozenset[int], *, continues: bool) -> None:
        """Reconcile these too. `continues`: no other member has owned them since this one did."""
        ...

    async def end(self, shards: frozenset[int]) -> None:
        """Reconcile these no more; everything has ended and is stored when this returns."""
        ...


class Membership:
    """This replica."""

    def __init__(
        self,
        client: Writer,
        work: Work,
        *,
        namespace: str,
        name: str,
        times: LeaseTimes,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        hostname: Callable[[], str] = socket.gethostname,
    ) -> None:
        """`name`: of the Lease of the leader, with which the names of the other Leases begin. `now` returns Unix seconds."""
        self._client = client
        self._work = work
        self._namespace = namespace
        self._name = name
        self._times = times
        self._sleep = sleep
        self._monotonic = monotonic
        self._now = now
        self._chance = chance
        self._hostname = hostname
        self._leases = ShardLeases(
            client, namespace=namespace, name=name, timeout_seconds=times.request_seconds
        )
        self._excludes_leaders = self._election(name, SHARED_IDENTITY, is_shared=True)
        self._own: LeaderElection | None = None
        self._number = 0
        self._owned: dict[int, Lease] = {}
        self._claimed_terms: dict[int, tuple[str, int, str] | None] = {}
        self._observed: dict[int, ObservedLease] = {}
        self._past_identities: set[str] = set()
        self._problem = ProblemLog(
            log,
            failing=f"the shards of {namespace}/{name} cannot be read or claimed",
            recovered=f"the shards of {namespace}/{name} can be read and claimed again",
        )

    def may_write(self, namespace: str) -> bool:
        """Whether this replica owns the shard of the namespace now, and no other one can."""
        return (
            shard_of(namespace) in self._owned
            and self._excludes_leaders.is_leader
            and self._own is not None
            and self._own.leads_without_gap
        )

    @property
    def clock_difference_seconds(self) -> float:
        """The largest difference to another member, as in `LeaderElection.clock_difference_seconds`."""
        found = (each.clock_difference_seconds for each in self._observed.values())
        return max(found, key=abs, default=0.0)

    async def run(self) -> None:
        """Take part until cancelled; then the shards are free at once. Raises what the work raises."""
        await self._excludes_leaders.run(self._take_part)

    async def _take_part(self) -> None:
        while True:
            self._own = await self._joined()
            try:
                await self._own.lead(self._share)
            finally:
                self._past_identities.add(self._own.identity)

    async def _joined(self) -> LeaderElection:
        """With the Lease of a member, under an identity that was never used before."""
        identity = f"{self._hostname()}_{uuid.uuid4()}"
        while True:
            with self._reported():
                found = await self._leases.read()
                holders = found.holders
                # The response to an earlier attempt may have been lost.
                own = [number for number, holder in holders.items() if holder == identity]
                free = [number for number in range(MEMBERS_MAX) if number not in holders]
                for number in (own or free)[:1]:
                    election = self._election(member_name(self._name, number), identity)
                    if await election.acquire():
                        self._number = number
                        return election
                self._observe(found, identity)
                await self._release(self._expired(found))
            await self._pause()

    def _election(self, name: str, identity: str, *, is_shared: bool = False) -> LeaderElection:
        return LeaderElection(
            self._client,
            namespace=self._namespace,
            name=name,
            identity=identity,
            times=self._times,
            sleep=self._sleep,
            monotonic=self._monotonic,
            now=self._now,
            chance=self._chance,
            role="sharing",
            is_shared=is_shared,
        )

    async def _share(self) -> None:
        """Returns when the Lease of this member was held by another one, or deleted, without a gap in its renewals."""
        self._owned = {}
        try:
            # The loss of the Lease may be noticed here and by its renewal: the work ends, and stores, once and undisturbed.
            await first_of(self._follow(), self._work.run())
        finally:
            self._owned = {}

    async def _follow(self) -> None:
        while self._own is not None and self._own.leads_without_gap:
            with self._reported():
                if not await self._once(self._own.identity):
                    return
            await self._pause()

    async def _once(self, identity: str) -> bool:
        """Whether this is still a member."""
        found = await self._leases.read()
        self._observe(found, identity)
        expired = self._expired(found)
        if expired:
            gone = ", ".join(sorted(map(holder_of, expired)))
            log.info("the Leases of %s were not renewed in time: their shards are free", gone)
            await self._release(expired)
            found = await self._leases.read()
        if found.holders.get(self._number) != identity:
            # Others may have claimed its shards already.
            self._owned = {}
            return False
        wanted = shards_of(self._number, found.holders)
        await self._give_up(self._owned.keys() - wanted, self._taken(found, identity))
        await self._release_strays(found, identity, wanted)
        others = frozenset(found.holders.values()) - {identity}
        free = [each for each in wanted - self._owned.keys() if found.is_free(each, others)]
        await self._claim(found, sorted(free), identity)
        return True

    def _taken(self, found: Snapshot, identity: str) -> set[int]:
        """Owned shards whose Lease a user has changed or deleted."""
        return {shard for shard in self._owned if holder_of(found.shards.get(shard)) != identity}

    async def _release_strays(self, found: Snapshot, identity: str, wanted: frozenset[int]) -> None:
        """Shards that this member holds and does not own: a request got no response."""
        strays = found.shards.keys() - wanted - self._owned.keys()
        await self._release(
            found.shards[each] for each in strays if holder_of(found.shards[each]) == identity
        )

    async def _give_up(self, unwanted: set[int], taken: set[int]) -> None:
        shards = frozenset(unwanted | taken)
        if not shards:
            return
        for shard in taken:
            del self._owned[shard]
        await self._work.end(shards)
        leases = [self._owned.pop(shard) for shard in sorted(unwanted - taken)]
        for shard in shards:
            self._claimed_terms.pop(shard, None)
        log.info("gave up shards %s; owns %d of %d", named(shards), len(self._owned), SHARDS)
        await self._release(leases)

    async def _release(self, leases: Iterable[Lease]) -> None:
        """One that fails is tried again, as a shard that this member holds and should not own."""
        now = self._now()
        results = await asyncio.gather(
            *(self._leases.release(each, now) for each in leases),
            return_exceptions=True,
        )
        _raise_unexpected(results)

    async def _claim(self, found: Snapshot, shards: list[int], identity: str) -> None:
        """One that fails is claimed again if it is still free then."""
        now = self._now()
        results = await asyncio.gather(
            *(self._leases.claim(each, found.shards.get(each), identity, now) for each in shards),
            return_exceptions=True,
        )
        claimed = {
            shard: lease
            for shard, lease in zip(shards, results, strict=True)
            if isinstance(lease, Lease)
        }
        continuing = frozenset(
            shard
            for shard in claimed
            if shard in self._claimed_terms
            and self._claimed_terms[shard] == term_of(found.shards.get(shard))
        )
        self._owned.update(claimed)
        if claimed:
            log.info("claimed shards %s; owns %d of %d", named(claimed), len(self._owned), SHARDS)
        if claimed.keys() - continuing:
            await self._work.begin(frozenset(claimed.keys() - continuing), continues=False)
        if continuing:
            await self._work.begin(continuing, continues=True)
        # Not before: what did not begin must not seem to continue after the next claim.
        self._claimed_terms.update((shard, term_of(lease)) for shard, lease in claimed.items())
        _raise_unexpected(results)

    def _observe(self, found: Snapshot, identity: str) -> None:
        for number, lease in found.members.items():
            observed = self._observed.get(number)
            if observed is None or observed.holder != holder_of(lease):
                observed = self._observed[number] = ObservedLease(
                    identity, self._times, monotonic=self._monotonic, now=self._now
                )
            observed.read(lease)

    def _expired(self, found: Snapshot) -> list[Lease]:
        """The Leases of members that do not renew them, or that were this replica."""
        return [
            lease
            for number, lease in found.members.items()
            if self._observed[number].is_expired or holder_of(lease) in self._past_identities
        ]

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            self._problem.set(str(error) or "timed out waiting for a response")
        else:
            self._problem.set(None)

    async def _pause(self) -> None:
        await self._sleep(self._times.retry_seconds * (1 + 0.2 * self._chance()))


def named(shards: Iterable[int]) -> str:
    """For a log line."""
    return ", ".join(map(str, sorted(shards)))


def _raise_unexpected(results: Iterable[object]) -> None:
    """The first failure; a conflict is none, because the next snapshot shows who was faster."""
    for each in results:
        if isinstance(each, BaseException) and not (
            isinstance(each, StatusError) and each.code == 409
        ):
            raise each
