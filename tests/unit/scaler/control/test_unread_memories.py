"""HPAs are scaled while their stored memories cannot be read, and what is stored is not lost by that."""

import asyncio

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.cluster.memories.store import MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.control.world import NOW_SECONDS, SPEC, World, autoscaler
from wire.api.status import forbidden, internal_error

PERIOD_SECONDS = 15.0
# One policy per direction: 2 pods in 10 minutes up, and a window of 5 minutes down.
BEHAVIOR = {"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 600}]}}


class Unreadable(Server):
    """LISTs fail with `error`, and never end while it is None and `hangs`."""

    def __init__(self):
        super().__init__()
        self.error = None
        self.hangs = False

    async def get(self, path, params=None, *, accept=""):
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return await super().get(path, params, accept=accept)


class Life:
    """A process that reconciles one HPA on 10 per replica. The clock of the loop is that of the world."""

    def __init__(self, server, replicas, *, zero=False):
        spec = {**SPEC, "minReplicas": 0 if zero else 1, "behavior": BEHAVIOR}
        self.store = MemoryStore(server, namespace="loadline", period_seconds=PERIOD_SECONDS)
        self.world = World(
            kind=HORIZONTAL_POD_AUTOSCALERS,
            object=autoscaler(spec=spec),
            zero=zero,
            copies=True,
            memory_store=self.store,
        )
        self.world.scaled(replicas)

    async def sync(self, queue, elapsed=PERIOD_SECONDS):
        await virtual_time.passes(elapsed)
        self.world.now_seconds = NOW_SECONDS + asyncio.get_running_loop().time()
        self.world.monotonic_seconds = asyncio.get_running_loop().time()
        return await self.world.sync(queue, elapsed=0)

    def storing(self):
        self.store.begin(ALL_SHARDS, lambda: {"u9": "shop"})
        return storing(self.store)


async def scaled_up(server):
    """What a former process has stored: it has just scaled from 3 to 5, which is all that its policy allows."""
    life = Life(server, 3)
    async with life.storing():
        await life.sync(30)
        assert await life.sync(90) == 5
    return server.objects["shop"]


def failing(server, how):
    server.hangs = how == "hangs"
    server.error = {"500": internal_error("etcd"), "403": forbidden("no")}.get(how)


UNREADABLE = pytest.mark.parametrize("how", ["500", "403", "hangs"])


@pytest.mark.deviation("restart-memory")
@UNREADABLE
def test_an_hpa_is_scaled_as_by_kube_controller_manager_while_memories_cannot_be_read(how):
    async def scenario():
        server = Unreadable()
        stored = await scaled_up(server)
        failing(server, how)
        life = Life(server, 5)
        async with life.storing():
            began_at = asyncio.get_running_loop().time()
            assert await life.sync(90, elapsed=0) == 7, (
                "the policy of the former process is not known"
            )
            assert asyncio.get_running_loop().time() - began_at <= PERIOD_SECONDS
            assert await life.sync(10) == 7, "the first count is held for one window"
            assert server.objects["shop"] == stored, "nothing is written over it"

    virtual_time.run(scenario())


@UNREADABLE
def test_memories_that_are_read_late_are_continued_and_stored_again(how):
    async def scenario():
        server = Unreadable()
        await scaled_up(server)
        failing(server, how)
        life = Life(server, 5)
        async with life.storing():
            assert await life.sync(60, elapsed=0) == 6
            failing(server, "")
            assert await life.sync(90, elapsed=2 * PERIOD_SECONDS) == 6, "3 of 2 pods are used up"
            await virtual_time.passes(1)
            stored = server.objects["shop"]["histories"]["u9"]
            assert [each["replicaChange"] for each in stored["scaleUpEvents"]] == [2, 1]
            assert stored["replicas"] == 6

    virtual_time.run(scenario())


def test_a_kept_decision_is_not_repeated_once_the_memory_is_read():
    """Otherwise a steady HPA would not be stored until something changes."""

    async def scenario():
        server = Unreadable()
        server.error = internal_error("etcd")
        life = Life(server, 5)
        async with life.storing():
            for _ in range(4):
                await life.sync(50)
            assert not server.objects
            server.error = None
            await life.sync(50, elapsed=2 * PERIOD_SECONDS)
            await virtual_time.passes(PERIOD_SECONDS)
            assert server.objects["shop"]["histories"]["u9"]["replicas"] == 5

    virtual_time.run(scenario())


def test_a_zero_of_a_former_process_is_known_once_the_memory_is_read():
    async def scenario():
        server = Unreadable()
        life = Life(server, 3, zero=True)
        async with life.storing():
            for _ in range(21):
                await life.sync(0)
            assert await life.sync(0) == 0
        server.error = internal_error("etcd")
        life = Life(server, 0, zero=True)
        async with life.storing():
            assert await life.sync(30, elapsed=0) == 0
            server.error = None
            assert await life.sync(30, elapsed=2 * PERIOD_SECONDS) > 0

    virtual_time.run(scenario())


def test_without_failures_the_first_reconcile_waits_for_the_memory():
    async def scenario():
        server = Unreadable()
        await scaled_up(server)
        life = Life(server, 5)
        async with life.storing():
            assert await life.sync(90, elapsed=0) == 5, (
                "the policy of the former process is used up"
            )

    virtual_time.run(scenario())
