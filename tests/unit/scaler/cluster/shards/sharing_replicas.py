"""Replicas that share the shards over one lease server, in virtual time."""

import asyncio
import random

from scaler.cluster.lease import LeaseTimes
from scaler.cluster.shards.assignment import ALL_SHARDS, shard_of
from scaler.cluster.shards.membership import Membership
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.shards.lease_server import Connection

TIMES = LeaseTimes()
# One per shard.
NAMESPACES = {}
for number in range(10_000):
    NAMESPACES.setdefault(shard_of(f"team-{number}"), f"team-{number}")
# A renewal that was read late, and the attempts to read and to claim.
TAKE_OVER_SECONDS = TIMES.lease_seconds + 3 * 1.2 * TIMES.retry_seconds


class Work:
    """Records what a replica reconciles. Ending takes `drain_seconds`."""

    def __init__(self, drain_seconds=0.0):
        self.shards = set()
        self.continued = set()
        self.drain_seconds = drain_seconds
        self.is_running = self.is_interrupted = False
        self.may_begin = asyncio.Event()
        self.may_begin.set()

    async def run(self):
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await virtual_time.passes(self.drain_seconds)
            except asyncio.CancelledError:
                self.is_interrupted = True
                raise
            self.is_running = False
            self.shards.clear()

    async def begin(self, shards, *, continues):
        await self.may_begin.wait()
        self.shards |= shards
        if continues:
            self.continued |= shards

    async def end(self, shards):
        await virtual_time.passes(self.drain_seconds)
        self.shards -= shards


class Replica:
    """One process: its connection, its clock and its work."""

    def __init__(self, server, name, *, rate=1.0, drain_seconds=0.0, clock_ahead_seconds=0.0):
        self.name = name
        self.connection = Connection(server, seconds=0.005)
        self.work = Work(drain_seconds)
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        loop = asyncio.get_running_loop()
        self.membership = Membership(
            self.connection,
            self.work,
            namespace="loadline",
            name="scaler",
            times=TIMES,
            sleep=lambda seconds: self._pauses(seconds / rate),
            monotonic=lambda: loop.time() * rate,
            now=lambda: 1_700_000_000 + loop.time() + clock_ahead_seconds,
            chance=random.Random(name).random,
            hostname=lambda: name,
        )
        self.task = asyncio.create_task(self.membership.run())

    async def _pauses(self, seconds):
        """Longer, if the process is suspended meanwhile."""
        await virtual_time.passes(seconds)
        await self.goes_on.wait()

    def writable(self):
        return {
            shard for shard, namespace in NAMESPACES.items() if self.membership.may_write(namespace)
        }

    async def stop(self):
        """SIGTERM."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def kill(self):
        """SIGKILL: nothing that it does on its way out reaches the server."""
        self.connection.is_cut = True
        await self.stop()


def assert_writable(*replicas):
    """Every shard has one owner."""
    owned = [replica.writable() for replica in replicas]
    assert sorted(shard for each in owned for shard in each) == sorted(ALL_SHARDS)


def assert_shared(*replicas):
    """Every shard has one owner, which reconciles it."""
    assert_writable(*replicas)
    assert [each.work.shards for each in replicas] == [each.writable() for each in replicas]
