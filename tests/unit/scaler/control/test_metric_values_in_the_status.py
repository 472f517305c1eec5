"""A metric value that has moved a little is written to the status only once in a while; everything else at once."""

import pytest

from scaler.algorithm.readings import ExternalValues
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import World

PERIOD_SECONDS = 15


async def shown(world: World, *values: int) -> list[int]:
    """The value of the status after each reconcile, on three replicas that need no change."""
    world.scaled(3)
    found = []
    for value in values:
        world.passes(PERIOD_SECONDS)
        await world.reconcile_and_keep([ExternalValues((1000 * value,))])
        [metric] = world.status()["currentMetrics"]
        found.append(3 * float(metric["external"]["current"]["averageValue"].removesuffix("m")))
    return [round(each / 1000) if each > 1000 else round(each) for each in found]


@pytest.mark.deviation("metric-status-age")
async def test_a_value_that_moves_a_little_is_written_once_a_minute():
    world = World(kind=LOAD_AUTOSCALERS, metric_status_max_age_seconds=60)
    assert await shown(world, 30, 31, 30, 31, 29, 31, 30, 29, 31) == [
        30, 30, 30, 30, 29, 29, 29, 29, 31,
    ]  # fmt: skip


async def test_a_value_that_moves_by_more_than_a_tenth_is_written_at_once():
    world = World(kind=LOAD_AUTOSCALERS, metric_status_max_age_seconds=60)
    assert await shown(world, 28, 29, 32, 31) == [28, 28, 32, 32]


async def test_values_that_add_up_are_compared_with_the_one_that_was_written():
    world = World(kind=LOAD_AUTOSCALERS, metric_status_max_age_seconds=600)
    assert await shown(world, 28, 29, 30, 31, 32) == [28, 28, 28, 31, 31]


@pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
async def test_without_an_age_every_value_is_written(kind):
    assert await shown(World(kind=kind), 30, 31, 29) == [30, 31, 29]


async def test_a_decision_is_written_at_once():
    world = World(kind=LOAD_AUTOSCALERS, metric_status_max_age_seconds=60)
    await shown(world, 32, 33)
    written = len(world.kube.put)
    # The tolerance is left, so a fourth replica is needed.
    world.passes(PERIOD_SECONDS)
    await world.reconcile_and_keep([ExternalValues((34_000,))])
    assert world.status()["desiredReplicas"] == 4
    assert len(world.kube.put) == written + 2
