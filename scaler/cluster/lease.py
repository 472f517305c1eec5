"""A Lease, its times, and how one process observes it.

Each renewal carries the time of its holder's wall clock, so the difference between two machines' clocks is known.
"""

import contextlib
import datetime
import math
from collections.abc import Callable
from typing import Final

import msgspec

from wire.api import kube_json
from wire.api.meta import ObjectMeta

# The clocks of two replicas are compared with each renewal. After that time the other one does not exist any more.
COMPARISON_SECONDS_MAX = 300.0

LEASE: Final = "Lease"

# The shortest time that a request for a Lease gets.
REQUEST_SECONDS_MIN = 1.0


class LeaseTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of kube-controller-manager. `lease_seconds` must exceed `renew_deadline_seconds` by the
    time that the leader's work takes to stop.
    """

    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0

    @property
    def request_seconds(self) -> float:
        """How long one request may take, so that after a connection that hangs another attempt follows before the deadline.

        Upstream: `NewFromKubeconfig` of client-go, tools/leaderelection/resourcelock.
        """
        return max(REQUEST_SECONDS_MIN, self.renew_deadline_seconds / 2)


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The holder, and times of its wall clock."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A `coordination.k8s.io/v1` Lease."""

    api_version: str = "coordination.k8s.io/v1"
    kind: str = LEASE
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class ObservedLease:
    """A Lease as it was read last, and for how long it has been unchanged by this machine's clock."""

    def __init__(
        self,
        identity: str,
        times: LeaseTimes,
        *,
        monotonic: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """`identity`: of the observer. `now` returns Unix seconds."""
        self._identity = identity
        self._times = times
        self._monotonic = monotonic
        self._now = now
        self._read_at_seconds = -math.inf
        self.lease: Lease | None = None
        self.unchanged_since_seconds = 0.0
        self.renewed_at_seconds = -math.inf
        # When a renewal by another holder was seen, by this machine's monotonic clock, and how much later it was sent by its own clock.
        self._compared_at_seconds = -math.inf
        self._renewed_later_seconds = 0.0

    @property
    def holder(self) -> str:
        """The holder when the lease was last read; empty when it was free."""
        return (self.lease.spec.holder_identity or "") if self.lease else ""

    @property
    def term(self) -> tuple[str, int]:
        """Differs between two holders. A Lease that was deleted and created again counts its transitions from zero,
        so its uid is part of it.
        """
        lease = self.lease or Lease()
        return lease.metadata.uid, lease.spec.lease_transitions or 0

    @property
    def is_expired(self) -> bool:
        """Whether the holder has not renewed it for as long as it holds it."""
        if self.lease is None or not self.holder:
            return False
        held_seconds = self.lease.spec.lease_duration_seconds or self._times.lease_seconds
        return self._monotonic() >= self.unchanged_since_seconds + held_seconds

    @property
    def clock_difference_seconds(self) -> float:
        """See `LeaderElection.clock_difference_seconds`."""
        if self._monotonic() - self._compared_at_seconds > COMPARISON_SECONDS_MAX:
            return 0.0
        ahead_seconds = self._renewed_later_seconds + self._monotonic() - self._now()
        # A renewal is read up to two attempts after it was sent.
        is_certain = abs(ahead_seconds) > 2 * self._times.retry_seconds
        return ahead_seconds if is_certain else 0.0

    def read(self, lease: Lease | None) -> None:
        """The lease has just been read; None if it does not exist."""
        if lease is None:
            self.lease = None
            return
        unread_seconds = self._monotonic() - self._read_at_seconds
        self._read_at_seconds = self._monotonic()
        if self.lease is None or lease.spec != self.lease.spec:
            # By this machine's clock, from the moment it saw the change: another machine's clock may be wrong.
            self.unchanged_since_seconds = self._monotonic()
            is_others = self._identity not in (self.holder, lease.spec.holder_identity)
            # After a longer time without a read, a renewal may be as old as that.
            is_recent = unread_seconds <= 2 * self._times.retry_seconds
            if self.lease is not None and is_others and is_recent:
                self._compare_clocks(lease.spec.renew_time)
        self.lease = lease

    def written(self, lease: Lease, sent_at_seconds: float) -> None:
        """The observer has written the lease. Others see that at some moment after it was sent."""
        self.lease = lease
        self.unchanged_since_seconds = self.renewed_at_seconds = sent_at_seconds

    def _compare_clocks(self, renew_time: str | None) -> None:
        """The renewal was sent after the previous read of the lease."""
        with contextlib.suppress(ValueError):
            renewed = datetime.datetime.fromisoformat(renew_time or "")
            self._compared_at_seconds = self._monotonic()
            self._renewed_later_seconds = renewed.timestamp() - self._monotonic()


def decoded_lease(body: bytes) -> Lease:
    """A Lease in a response. Raises `msgspec.DecodeError`, also for another object."""
    return kube_json.decode(kube_json.of_kind(body, LEASE), Lease)


class _Operation(msgspec.Struct, frozen=True):
    """Of a JSON patch (RFC 6902)."""

    op: str
    path: str
    value: str | int | None


def renewal_patch(lease: Lease, now_unix_seconds: float) -> bytes:
    """The JSON patch that renews the Lease if it has the same holder in the same term, whatever its resourceVersion is by now."""
    operations = (
        _Operation("test", "/metadata/uid", lease.metadata.uid),
        _Operation("test", "/spec/holderIdentity", lease.spec.holder_identity),
        _Operation("test", "/spec/leaseTransitions", lease.spec.lease_transitions),
        _Operation("replace", "/spec/renewTime", micro_time(now_unix_seconds)),
    )
    return msgspec.json.encode(operations)


def released(spec: LeaseSpec, now_unix_seconds: float) -> LeaseSpec:
    """The spec without a holder, so that another process may lead at once."""
    return msgspec.structs.replace(
        spec,
        holder_identity="",
        lease_duration_seconds=1,
        renew_time=micro_time(now_unix_seconds),
    )


def micro_time(unix_seconds: float) -> str:
    """As metav1.MicroTime, which has six digits, zeros included."""
    at = datetime.datetime.fromtimestamp(unix_seconds, datetime.UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
