"""A failure that lasts is an event and a log line once, and a crash is seen on its autoscaler."""

import asyncio
import logging

import pytest

from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.control.controller import Controller
from scaler.control.workqueue import WorkQueue
from tests.fakes import virtual_time
from tests.unit.scaler.control.world import KEY, METRIC, SPEC, World, autoscaler

DOWN = MetricFailed("unable to fetch metrics from external metrics API: connection refused")
UP = ExternalValues((10_000,))


async def reconcile(world: World, periods: int) -> list[str]:
    """The reasons of the events of so many reconciles."""
    world.events.emitted.clear()
    for _ in range(periods):
        world.now_seconds += 15
        await world.reconcile()
    return [event.reason for event in world.events.emitted]


@pytest.mark.deviation("lasting-failures")
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


@pytest.mark.parametrize("kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS])
async def test_a_cancelled_reconcile_ends_no_failure(kind, caplog):
    """The replica gives up the shard, or ends, while a reconcile is in progress."""
    world = World(DOWN, kind=kind)
    await reconcile(world, 1)
    caplog.clear()
    reads = world.measurements.reads

    def cancelled(*_, **__):
        raise asyncio.CancelledError

    world.measurements.reads = cancelled
    with caplog.at_level(logging.INFO, logger="scaler.control"):
        with pytest.raises(asyncio.CancelledError):
            await world.reconcile()
        world.measurements.reads = reads
        await reconcile(world, 1)
    assert caplog.messages == []


async def test_a_crash_is_not_reported_as_the_end_of_a_failure(caplog):
    world = World(DOWN, kind=HORIZONTAL_POD_AUTOSCALERS)
    await reconcile(world, 1)
    del world.reconciler._with.pods.pods  # type: ignore[attr-defined]
    with (
        caplog.at_level(logging.INFO, logger="scaler.control"),
        pytest.raises(AttributeError),
    ):
        await world.reconcile()
    assert not [each for each in caplog.messages if "without errors" in each]


TWO_METRICS = {
    **SPEC,
    "metrics": [
        *SPEC["metrics"],
        {**SPEC["metrics"][0], "external": {**METRIC, "metric": {"name": "other"}}},
    ],
    "syncPeriodSeconds": 3600,
}


@pytest.mark.parametrize("readings", [[DOWN, DOWN], [ExternalValues((90_000,)), DOWN]])
def test_a_metric_that_fails_once_is_read_again_after_the_usual_period(readings):
    """Not after the hour of `syncPeriodSeconds`, also if another metric decides."""

    async def scenario():
        world = World(*readings, object=autoscaler(spec=TWO_METRICS))
        running = Controller(
            WorkQueue(15.0),
            lambda key: world.reconciler.reconcile(key),
            world.telemetry,
            has_failed=world.reconciler.has_failed,
            concurrent=1,
            monotonic=asyncio.get_running_loop().time,
        )
        running.enqueue(KEY, "", period_seconds=3600.0)
        task = asyncio.create_task(running.run())
        await virtual_time.passes(16)
        assert len(world.measurements.requested) == 2
        world.measurements.readings = [UP]
        await virtual_time.passes(15)
        assert len(world.measurements.requested) == 4, "it is tried again"
        await virtual_time.passes(3500)
        assert len(world.measurements.requested) == 4, "it has not failed any more"
        await virtual_time.passes(100)
        assert len(world.measurements.requested) == 6
        task.cancel()
        await asyncio.wait({task})

    virtual_time.run(scenario())


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}}}  # fmt: skip
ASLEEP = {
    **SPEC,
    "minReplicas": 0,
    "scaleToZero": {"manualZero": "Activate"},
    "metrics": [*SPEC["metrics"], CPU],
}


@pytest.mark.parametrize(
    ("replicas", "failures"),
    [
        pytest.param(0, [], id="there are no pods"),
        pytest.param(2, ["FailedGetResourceMetric", "FailedComputeMetricsReplicas"], id="a failure"),
    ],
)  # fmt: skip
async def test_a_metric_of_pods_does_not_fail_at_zero(replicas, failures):
    none, world = ExternalValues((0,)), World(object=autoscaler(spec=ASLEEP))
    world.measurements.readings = [none, MetricFailed("no metrics returned")] * 3
    world.scaled(replicas)
    assert await reconcile(world, 3) == failures
    assert world.reconciler.has_failed(KEY) is bool(failures)
