"""Leader election over a Lease. Upstream: client-go v0.36.3, tools/leaderelection.

Our own, because kubernetes-asyncio's (36.1) lets transport errors end the candidate, compares wall
clocks of different machines (in local time), and never gives a lease back. Needs the right to create
leases and to get and update this one.
"""

import asyncio
import contextlib
import datetime
import logging
import random
import time
from collections.abc import Awaitable, Callable

import msgspec

from wire import kube_json
from wire.kube.requests import Writer
from wire.meta import ObjectMeta
from wire.status import StatusError, Unavailable

log = logging.getLogger(__name__)


class LeaseTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Kubernetes' defaults. A leader that cannot renew stops working well before another may start."""

    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who holds it since when. Times are the holder's own, for people to read."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A `coordination.k8s.io/v1` Lease."""

    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class LeaderElection:
    """One candidate for one Lease."""

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
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`identity` must differ from every other candidate's."""
        self._client = client
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._namespace = namespace
        self._times = times or LeaseTimes()
        self._sleep = sleep
        self._monotonic = monotonic
        self._chance = chance
        self._observed: Lease | None = None
        self._observed_at_seconds = 0.0
        self._last_problem = ""
        self.identity = identity
        self.is_leader = False

    @property
    def holder(self) -> str:
        """Who held the lease when it was last read; empty for nobody."""
        return (self._observed.spec.holder_identity or "") if self._observed else ""

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` whenever and as long as the lease is ours.

        Lost, the work is cancelled and waited for, and begun anew when the lease is ours again.
        Returns when the work does; then, and when cancelled, the lease is given back.
        """
        while True:
            await self._acquired()
            log.info("leading: %s holds lease %s/%s", self.identity, self._namespace, self._name)
            self.is_leader = True
            working = asyncio.ensure_future(work())
            renewing = asyncio.ensure_future(self._renewed())
            try:
                await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
                lost = not working.done()
            finally:
                # Stop first, give back then: two must never work at once.
                await _ended(working)
                await _ended(renewing)
                self.is_leader = False
                if renewing.cancelled():
                    await self._released()
            if not lost:
                return working.result()
            log.warning(
                "no longer leading: %s lost lease %s/%s", self.identity, self._namespace, self._name
            )

    async def _acquired(self) -> None:
        while not await self._try():
            # Spread, so that candidates do not collide at every attempt.
            await self._sleep(self._times.retry_seconds * (1 + 0.2 * self._chance()))

    async def _renewed(self) -> None:
        """Returns when the lease could not be renewed in time."""
        while True:
            await self._sleep(self._times.retry_seconds)
            deadline = self._observed_at_seconds + self._times.renew_deadline_seconds
            while not await self._try(timeout_seconds=deadline - self._monotonic()):
                if self._monotonic() >= deadline or self.holder not in ("", self.identity):
                    return
                await self._sleep(
                    min(self._times.retry_seconds, max(0.0, deadline - self._monotonic()))
                )

    async def _try(self, *, timeout_seconds: float | None = None) -> bool:
        """One attempt to take or renew the lease."""
        try:
            async with asyncio.timeout(timeout_seconds or self._times.renew_deadline_seconds):
                await self._read()
                if not self._is_ours_to_take():
                    return False
                await self._write()
        except (StatusError, Unavailable, TimeoutError, msgspec.DecodeError) as error:
            if isinstance(error, StatusError) and error.code == 409:
                return False  # another candidate was quicker
            self._noted(str(error) or "no answer in time")
            return False
        self._noted("")
        return True

    async def _read(self) -> None:
        try:
            lease = kube_json.decode(await self._client.get(f"{self._folder}/{self._name}"), Lease)
        except StatusError as error:
            if error.code != 404:
                raise
            self._observed = None
            return
        if self._observed is None or lease.spec != self._observed.spec:
            # Our own clock, from when we saw it change: another machine's clock may be wrong.
            self._observed_at_seconds = self._monotonic()
        self._observed = lease

    def _is_ours_to_take(self) -> bool:
        if self.holder in ("", self.identity) or self._observed is None:
            return True
        held_seconds = self._observed.spec.lease_duration_seconds or self._times.lease_seconds
        return self._monotonic() >= self._observed_at_seconds + held_seconds

    async def _write(self) -> None:
        now = _micro_time()
        before = self._observed.spec if self._observed else LeaseSpec()
        renewal = before.holder_identity == self.identity
        transitions = (before.lease_transitions or 0) + (
            0 if renewal or self._observed is None else 1
        )
        spec = LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self._times.lease_seconds),
            acquire_time=before.acquire_time if renewal and before.acquire_time else now,
            renew_time=now,
            lease_transitions=transitions,
        )
        asked_at_seconds = self._monotonic()
        self._observed = await self._store(spec)
        # From before the request: the lease runs on the server since some moment after that.
        self._observed_at_seconds = asked_at_seconds

    async def _store(self, spec: LeaseSpec) -> Lease:
        if self._observed is None:
            metadata = ObjectMeta(name=self._name, namespace=self._namespace)
            body = msgspec.json.encode(Lease(metadata=metadata, spec=spec))
            return kube_json.decode(await self._client.create(self._folder, body), Lease)
        # The resourceVersion in the metadata lets one of two writers win.
        body = msgspec.json.encode(msgspec.structs.replace(self._observed, spec=spec))
        return kube_json.decode(
            await self._client.replace(f"{self._folder}/{self._name}", body), Lease
        )

    async def _released(self) -> None:
        """Let the next one start without waiting for our lease to run out."""
        if self._observed is None or self.holder != self.identity:
            return
        spec = msgspec.structs.replace(
            self._observed.spec,
            holder_identity="",
            lease_duration_seconds=1,
            renew_time=_micro_time(),
        )
        with contextlib.suppress(StatusError, Unavailable, TimeoutError, msgspec.DecodeError):
            async with asyncio.timeout(self._times.retry_seconds):
                self._observed = await self._store(spec)

    def _noted(self, problem: str) -> None:
        if problem and problem != self._last_problem:
            log.warning(
                "lease %s/%s cannot be had or renewed: %s", self._namespace, self._name, problem
            )
        self._last_problem = problem


async def _ended(task: asyncio.Future[None]) -> None:
    """Cancel and wait, without taking its outcome."""
    task.cancel()
    await asyncio.wait({task})


def _micro_time() -> str:
    """metav1.MicroTime: always six digits, which some readers insist on."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
