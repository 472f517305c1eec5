"""The Leases of the members and of the shards.

`NAME-member-N` is held and renewed by one replica, as in a leader election: it shows that this replica is alive. `NAME-shard-NN`
names the member that owns a shard, and is written only when that changes. It is valid for as long as that member is.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from scaler.cluster.lease import Lease, LeaseSpec, decoded_lease, micro_time, released
from scaler.cluster.shards.assignment import SHARDS
from wire.api import kube_json
from wire.api.meta import ObjectMeta
from wire.kube.list_and_watch import list_page
from wire.kube.requests import Writer

# As many members as shards: another one would not own any.
MEMBERS_MAX: Final = SHARDS
# So many Leases are written at once.
WRITES_MAX: Final = 8


class Snapshot(msgspec.Struct, frozen=True):
    """All Leases of one scaler at one moment: those of members by their number, those of shards by the shard."""

    members: Mapping[int, Lease]
    shards: Mapping[int, Lease]

    @property
    def holders(self) -> dict[int, str]:
        """The identity of each member."""
        return {
            number: holder for number, each in self.members.items() if (holder := holder_of(each))
        }

    def is_free(self, shard: int, holders: frozenset[str]) -> bool:
        """Whether none of these members owns the shard."""
        return holder_of(self.shards.get(shard)) not in holders


class ShardLeases:
    """Reads and writes them. Raises `StatusError`, `Unavailable`, `TimeoutError` and `msgspec.DecodeError`."""

    def __init__(
        self, client: Writer, *, namespace: str, name: str, timeout_seconds: float
    ) -> None:
        """`name`: of the scaler, with which the names of the Leases begin."""
        self._client = client
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._name = name
        self._timeout_seconds = timeout_seconds
        self._writes = asyncio.Semaphore(WRITES_MAX)
        self._members = {member_name(name, number): number for number in range(MEMBERS_MAX)}
        self._shards = {shard_name(name, shard): shard for shard in range(SHARDS)}

    async def read(self) -> Snapshot:
        """One LIST, so that all of them are of the same moment."""
        async with asyncio.timeout(self._timeout_seconds):
            page = list_page(await self._client.get(self._folder))
        found = (kube_json.decode(each, Lease) for each in page.items)
        named = {each.metadata.name: each for each in found}
        return Snapshot(
            members={
                number: named[name] for name, number in self._members.items() if name in named
            },
            shards={shard: named[name] for name, shard in self._shards.items() if name in named},
        )

    async def claim(self, shard: int, found: Lease | None, identity: str, now: float) -> Lease:
        """Name the member of this identity as the owner. `found`: the Lease in the snapshot; a conflict if it has changed since.

        `now` in Unix seconds.
        """
        at = micro_time(now)
        if found is None:
            metadata = ObjectMeta(name=shard_name(self._name, shard), namespace=self._namespace)
            spec = LeaseSpec(
                holder_identity=identity, acquire_time=at, renew_time=at, lease_transitions=0
            )
            return await self._created(Lease(metadata=metadata, spec=spec))
        spec = LeaseSpec(
            holder_identity=identity,
            acquire_time=at,
            renew_time=at,
            # Also for a claim by the same member, so that an earlier request of it that is still on its way conflicts.
            lease_transitions=(found.spec.lease_transitions or 0) + 1,
        )
        return await self._replaced(found, spec)

    async def release(self, lease: Lease, now: float) -> None:
        """Remove the holder of a shard or of a member's Lease that has expired. `now` in Unix seconds."""
        await self._replaced(lease, released(lease.spec, now))

    async def _created(self, lease: Lease) -> Lease:
        async with self._writes, asyncio.timeout(self._timeout_seconds):
            body = await self._client.create(self._folder, msgspec.json.encode(lease))
        return decoded_lease(body)

    async def _replaced(self, found: Lease, spec: LeaseSpec) -> Lease:
        path = f"{self._folder}/{found.metadata.name}"
        body = msgspec.json.encode(msgspec.structs.replace(found, spec=spec))
        async with self._writes, asyncio.timeout(self._timeout_seconds):
            return decoded_lease(await self._client.replace(path, body))


def member_name(name: str, number: int) -> str:
    """The name of a member's Lease, for the scaler with this name."""
    return f"{name}-member-{number}"


def shard_name(name: str, shard: int) -> str:
    """The name of a shard's Lease, for the scaler with this name."""
    return f"{name}-shard-{shard:02}"


def holder_of(lease: Lease | None) -> str:
    """The holder's identity; empty without one."""
    return (lease.spec.holder_identity or "") if lease else ""


def term_of(lease: Lease | None) -> tuple[str, int, str] | None:
    """Differs between two claims of a shard, also if the transitions are counted again after a restore of etcd."""
    if lease is None:
        return None
    return lease.metadata.uid, lease.spec.lease_transitions or 0, holder_of(lease)
