"""A scale is not written on metrics that were read long ago."""

import pytest

from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SCALE_PATH, World

BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
COPIES = pytest.mark.parametrize("copies", [False, True])
PERIOD = Settings().sync_period_seconds


async def suspended_world(kind, copies, seconds):
    """Its process is suspended between the metrics, which want 9 replicas, and the write of the scale."""
    world = World(kind=kind, copies=copies)
    world.scaled(3)
    await world.sync(30)
    reads = world.measurements.reads

    def suspended(*arguments, **options):
        world.measurements.reads = reads
        world.passes(seconds)
        return reads(*arguments, **options)

    world.measurements.reads = suspended
    return world


@pytest.mark.deviation("old-decisions")
@BOTH_KINDS
@COPIES
async def test_a_process_that_was_suspended_writes_no_scale_and_decides_again(kind, copies):
    world = await suspended_world(kind, copies, PERIOD + 1)
    assert await world.sync(90) == 3
    assert world.conditions()["AbleToScale"] == ("False", "FailedUpdateScale")
    [message] = [each[2] for each in world.reported() if each[1] == "FailedRescale"]
    assert "not written, because the metrics are up to 16 s old" in message
    assert await world.sync(60) == 6
    assert world.conditions()["AbleToScale"][0] == "True"


@BOTH_KINDS
@COPIES
async def test_a_metric_that_took_most_of_the_period_counts(kind, copies):
    assert await (await suspended_world(kind, copies, PERIOD - 1)).sync(90) > 3


async def test_a_scale_that_is_read_slowly_before_the_metrics_delays_nothing_else():
    """A kube-apiserver that needs longer than a period for each response must not prevent scaling."""
    world = World()
    get = world.kube.get

    async def slow(path, params=None, *, accept=""):
        world.passes(PERIOD + 1)
        return await get(path, params, accept=accept)

    world.kube.get = slow
    assert await world.sync(40) == 4


@pytest.mark.deviation("old-decisions")
async def test_an_old_decision_is_not_written_after_a_busy_server_was_waited_for():
    world = World()
    world.scaled(3)
    await world.sync(30)
    replace = world.kube.replace

    async def busy(path, body, *, before_each=None):
        if path == SCALE_PATH:
            before_each()
            world.passes(PERIOD + 1)
        return await replace(path, body, before_each=before_each)

    world.kube.replace = busy
    assert await world.sync(90) == 3
    assert all(path != SCALE_PATH for path, _ in world.kube.applied)


async def test_a_decision_that_was_made_again_is_as_old_as_its_own_metrics():
    """The write on the basis of a copy was refused after most of the period, and then the newest Scale was read."""
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    behind = str(world.version)
    world.watched_version = lambda: behind
    world.scaled(4)
    get = world.kube.get

    async def slow(path, params=None, *, accept=""):
        if path == SCALE_PATH:
            world.passes(PERIOD + 1)
            world.measurements.readings = [ExternalValues((60_000,))]
        return await get(path, params, accept=accept)

    world.kube.get = slow
    assert await world.sync(90) == 6
