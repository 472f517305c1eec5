"""A failure that lasts is an event and a log line once, and a crash is seen on its autoscaler."""

import logging

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.test_reconcile import World

DOWN = MetricFailed("unable to fetch metrics from external metrics API: connection refused")
UP = ExternalValues((10_000,))


async def reconcile(world: World, periods: int) -> list[str]:
    """The reasons of the events of so many reconciles."""
    world.events.emitted.clear()
    for _ in range(periods):
        world.now_seconds += 15
        await world.reconcile()
    return [event.reason for event in world.events.emitted]


async def test_a_metric_that_stays_down_is_one_event_of_each_reason_for_a_load_autoscaler():
    world = World(DOWN)
    assert await reconcile(world, 20) == ["FailedGetExternalMetric", "FailedComputeMetricsReplicas"]
    world.measurements.readings = [UP]
    assert await reconcile(world, 1) == []
    world.measurements.readings = [DOWN]
    assert len(await reconcile(world, 20)) == 2


async def test_for_an_hpa_events_are_emitted_at_each_reconcile_as_upstream():
    world = World(DOWN, kind=HORIZONTAL_POD_AUTOSCALERS)
    assert len(await reconcile(world, 20)) == 40


@pytest.mark.parametrize("kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS])
async def test_an_error_that_stays_is_logged_once_and_its_end_too(kind, caplog):
    world = World(DOWN, kind=kind)
    with caplog.at_level(logging.INFO, logger="scaler.control.reconcile"):
        await reconcile(world, 20)
        world.measurements.readings = [UP]
        await reconcile(world, 3)
    assert len(caplog.records) == 2
    assert "connection refused" in caplog.messages[0]
    assert caplog.messages[1] == "shop/web: reconciled without errors again"


async def test_a_crash_is_an_event_on_its_autoscaler():
    world = World()
    del world.reconciler._with.pods.pods  # type: ignore[attr-defined]
    for _ in range(2):
        with pytest.raises(AttributeError):
            await world.reconcile()
    [event] = world.events.emitted
    assert (event.type.value, event.reason) == ("Warning", "InternalError")
    assert "AttributeError" in event.message
