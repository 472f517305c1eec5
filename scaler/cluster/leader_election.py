"""Leader election over a Lease. Upstream: client-go v0.36.3, tools/leaderelection.

Implemented here, because kubernetes-asyncio's (36.1) stops an election on a transport error, compares
the wall clocks of different machines (in local time), and never releases a lease. Needs permission to
create leases and to get and update this one.

Two processes never lead at once: a leader that cannot renew stops `renew_deadline_seconds` after it
last sent a renewal that succeeded, and another takes over `lease_seconds` (or more, as a Lease stores
whole seconds) after it has seen that renewal. Both are measured by the process' own monotonic clock,
so wall clocks do not matter here. How much they differ is known, since each renewal carries its time.
"""

import asyncio
import contextlib
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable

import msgspec

from scaler.cluster.lease import (
    Lease,
    LeaseSpec,
    LeaseTimes,
    ObservedLease,
    decoded_lease,
    micro_time,
    released,
    renewal_patch,
)
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import JSON_PATCH, Writer
from wire.process.background_tasks import ended
from wire.process.problem_log import ProblemLog

# Of a request for a Lease.
FAILURES = (StatusError, Unavailable, TimeoutError, msgspec.DecodeError)

log = logging.getLogger(__name__)


class LeaderElection:
    """The election of a leader by one Lease, as this process takes part in it."""

    def __init__(
        self,
        client: Writer,
        *,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        role: str = "leading",
        is_shared: bool = False,
    ) -> None:
        """`identity` must differ from that of every other process. `now` returns Unix seconds.

        `role`: what the holder of the lease does, for the log. `is_shared`: others hold the lease too, with the same
        identity; it is not released when this process ends.
        """
        self._client = client
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._namespace = namespace
        self._times = times or LeaseTimes()
        self._sleep = sleep
        self._monotonic = monotonic
        self._now = now
        self._chance = chance
        self._role = role
        self._is_shared = is_shared
        self._observed = ObservedLease(identity, self._times, monotonic=monotonic, now=now)
        self._is_leading = False
        self._term: tuple[str, int] | None = None
        self._continues = False
        self._may_patch = True
        self._has_renewed = False
        """Whether the Lease was its own already when it was written last."""
        self._problem = ProblemLog(
            log,
            failing=f"lease {namespace}/{name} cannot be acquired or renewed",
            recovered=f"lease {namespace}/{name} can be acquired or renewed again",
        )
        self.identity = identity

    @property
    def is_leader(self) -> bool:
        """Whether this process leads now.

        False, too, after it was paused beyond the deadline, and from when it has read that the lease is not its own any more.
        """
        is_holder = self.holder == self.identity
        return self._is_leading and is_holder and self._monotonic() < self._deadline_seconds

    @property
    def leads_without_gap(self) -> bool:
        """Whether it leads now, and the Lease was not held by another one, deleted or cleared since it was acquired."""
        return self.is_leader and self._observed.term == self._term

    @property
    def continues(self) -> bool:
        """Whether no other process has led since this one led before, so what it remembers is still up to date."""
        return self._continues

    @property
    def holder(self) -> str:
        """The holder when the lease was last read; empty when it was free."""
        return self._observed.holder

    @property
    def clock_difference_seconds(self) -> float:
        """How far the wall clock of the other holder is ahead of this one, at most `retry_seconds` too low.

        0 below twice that, and if no renewal by another holder was seen for some minutes.
        """
        return self._observed.clock_difference_seconds

    @property
    def _deadline_seconds(self) -> float:
        """Whatever is read meanwhile: another one may see a renewal, whose response is lost, before this one does."""
        return self._observed.renewed_at_seconds + self._times.renew_deadline_seconds

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` whenever this process leads.

        When the lease is lost, the work is cancelled and awaited, and started again when the lease
        is acquired again. Returns when the work returns; then, and when cancelled, the lease is released.
        """
        while True:
            while not await self.acquire():
                # With jitter, so that processes do not collide at every attempt.
                await self._sleep(self._times.retry_seconds * (1 + 0.2 * self._chance()))
            if not await self.lead(work):
                return

    async def acquire(self) -> bool:
        """One attempt to acquire the lease; `lead` must follow at once if it succeeds."""
        return await self._try()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` while this process, which has acquired the lease, leads; whether it has lost the lease.

        Then the work was cancelled. Otherwise it has returned, and the lease is released, as it is when this is cancelled.
        """
        self._begin_term()
        log.info("%s: %s holds lease %s/%s", self._role, self.identity, self._namespace, self._name)
        self._is_leading = True
        working = asyncio.ensure_future(work())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            lost = not working.done()
        finally:
            # The lease is renewed until the work has ended, and released after that.
            is_cancelled = await ended(working)
            is_cancelled |= await ended(renewing)
            self._is_leading = False
            if renewing.cancelled() and not self._is_shared:
                await self._release()
            if is_cancelled:
                raise asyncio.CancelledError
        if not lost:
            working.result()
            return False
        log.warning(
            "no longer %s: %s lost lease %s/%s",
            self._role,
            self.identity,
            self._namespace,
            self._name,
        )
        return True

    def _begin_term(self) -> None:
        # After a restore of etcd, transitions are counted again, so another one may have led in a term of the same number.
        self._continues = self._has_renewed and self._observed.term == self._term
        self._term = self._observed.term

    async def _renew(self) -> None:
        """Renew periodically. Returns when the lease could not be renewed in time."""
        while True:
            await self._sleep(self._times.retry_seconds)
            began, deadline = self._monotonic(), self._deadline_seconds
            while not await self._try(timeout_seconds=deadline - began):
                now = self._monotonic()
                if now >= deadline or self.holder not in ("", self.identity):
                    return
                # After an attempt that has timed out, the next one follows at once.
                await self._sleep(max(0.0, min(began + self._times.retry_seconds, deadline) - now))
                began = self._monotonic()

    async def _try(self, *, timeout_seconds: float | None = None) -> bool:
        """One attempt to acquire or renew the lease."""
        if timeout_seconds is None:
            timeout_seconds = self._times.renew_deadline_seconds
        try:
            async with asyncio.timeout(timeout_seconds):
                if not (await self._written_at_once() or await self._written_or_shared()):
                    return False
        except FAILURES as error:
            if _is_conflict(error):
                return False  # another process was faster
            self._problem.set(str(error) or "timed out waiting for a response")
            return False
        self._problem.set(None)
        return True

    async def _written_at_once(self) -> bool:
        """Renew by one request, with the Lease as it was observed last. Upstream: the fast path of `tryAcquireOrRenew`.

        A lease that is held together is patched, because others renew it too, so that its version is seldom still that one.
        """
        if not self.is_leader or (self._is_shared and not self._may_patch):
            return False
        with contextlib.suppress(*FAILURES):
            await (self._patch() if self._is_shared else self._write())
            return True
        return False

    async def _written_or_shared(self) -> bool:
        started_seconds = self._monotonic()
        await self._read()
        if not self._may_acquire():
            return False
        before = self._observed.lease
        try:
            await self._write()
        except StatusError as error:
            if not _is_conflict(error):
                raise
            # At once, because it may show that another one holds the lease.
            await self._read()
            after = self._observed.lease
            is_held_together = self._is_shared and self.holder == self.identity
            if after is None or before is None or not is_held_together:
                return False
            is_renewed = after.spec.renew_time != before.spec.renew_time
            if is_renewed:
                # By another one, after this one began to read.
                self._observed.written(after, started_seconds)
            return is_renewed
        return True

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._times.request_seconds):
                body = await self._client.get(f"{self._folder}/{self._name}")
            lease: Lease | None = decoded_lease(body)
        except StatusError as error:
            if error.code != 404:
                raise
            lease = None
        self._observed.read(lease)

    def _may_acquire(self) -> bool:
        return self.holder in ("", self.identity) or self._observed.is_expired

    async def _write(self) -> None:
        now = micro_time(self._now())
        found = self._observed.lease
        before = found.spec if found else LeaseSpec()
        self._has_renewed = renewal = before.holder_identity == self.identity
        transitions = (before.lease_transitions or 0) + (0 if renewal or found is None else 1)
        spec = LeaseSpec(
            holder_identity=self.identity,
            # Rounded up: others must not take over before this process has stopped.
            lease_duration_seconds=math.ceil(self._times.lease_seconds),
            acquire_time=before.acquire_time if renewal and before.acquire_time else now,
            renew_time=now,
            lease_transitions=transitions,
        )
        sent_at_seconds = self._monotonic()
        self._observed.written(await self._store(spec), sent_at_seconds)

    async def _patch(self) -> None:
        found = self._observed.lease or Lease()
        body = renewal_patch(found, self._now())
        sent_at_seconds = self._monotonic()
        try:
            async with asyncio.timeout(self._times.request_seconds):
                path = f"{self._folder}/{self._name}"
                stored = await self._client.patch(path, body, content_type=JSON_PATCH)
        except StatusError as error:
            # Such as with the Role of an earlier chart.
            self._may_patch = error.code != 403
            raise
        self._has_renewed = True
        self._observed.written(decoded_lease(stored), sent_at_seconds)

    async def _store(self, spec: LeaseSpec) -> Lease:
        found = self._observed.lease
        async with asyncio.timeout(self._times.request_seconds):
            if found is None:
                metadata = ObjectMeta(name=self._name, namespace=self._namespace)
                body = msgspec.json.encode(Lease(metadata=metadata, spec=spec))
                stored = await self._client.create(self._folder, body)
            else:
                # The resourceVersion in the metadata lets only one of two concurrent updates succeed.
                body = msgspec.json.encode(msgspec.structs.replace(found, spec=spec))
                stored = await self._client.replace(f"{self._folder}/{self._name}", body)
        return decoded_lease(stored)

    async def _release(self) -> None:
        """Let another process lead at once. The renewal that was cancelled may have been carried out, or be so meanwhile."""
        with contextlib.suppress(*FAILURES):
            async with asyncio.timeout(self._times.retry_seconds):
                try:
                    await self._read_and_release()
                except StatusError as error:
                    if not _is_conflict(error):
                        raise
                    await self._read_and_release()

    async def _read_and_release(self) -> None:
        await self._read()
        found = self._observed.lease
        if found is not None and self.holder == self.identity:
            self._observed.lease = await self._store(released(found.spec, self._now()))


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, StatusError) and error.code == 409
