"""Whether a changed metric would change the replica count, without a request. The target is 10 per replica."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues, MetricFailed
from tests.unit.scaler.control.world import KEY, METRIC, SPEC, World, autoscaler


def reading(value):
    return MetricFailed("down") if value is None else ExternalValues((value * 1000,))


async def steady(value=30, *, reconciles=4):
    """After reconciles with this value, which the last one did not have to change anything for."""
    world = World(copies=True)
    world.measurements.readings = [reading(value)]
    for _ in range(reconciles):
        await world.sync(value)
    return world


def changes_to(world, value):
    return changes_to_readings(world, [reading(value)])


def changes_to_readings(world, readings):
    world.measurements.readings = readings
    world.measurements.are_shared = True
    return may_rescale(world)


def may_rescale(world):
    due_seconds = world.reconciler.rescale_due_seconds(KEY)
    assert math.isinf(due_seconds), "at once, or not before the regular reconcile"
    return due_seconds < 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(30, False, id="the same"),
        pytest.param(32, False, id="within the tolerance"),
        pytest.param(60, True, id="twice as much"),
        pytest.param(3, False, id="less, but the stabilization window is not over"),
        pytest.param(None, False, id="the metric fails"),
    ],
)
async def test_only_a_change_that_a_reconcile_would_act_on_counts(value, expected):
    assert changes_to(await steady(), value) is expected


async def test_a_window_counts_from_the_last_time_that_a_kept_decision_was_made_again():
    """Otherwise the first drop of the load after a steady hour brings every autoscaler forward."""
    world = await steady(reconciles=240)
    assert not changes_to(world, 10)
    world.measurements.are_shared = False
    assert await world.sync(10, elapsed=1) == 3


async def test_before_the_first_reconcile_it_is_not_known():
    world = World(copies=True)
    assert changes_to(world, 30)


async def test_a_metric_that_has_to_be_requested_counts_as_it_was_read_last():
    world = await steady()
    world.measurements.readings = [reading(60)]
    assert not may_rescale(world)


async def test_a_value_that_changes_all_the_time_within_the_tolerance_brings_forward_only_after_a_written_status():
    world = World(copies=True, metric_status_max_age_seconds=60)
    for value in (30, 30, 31, 30):
        await world.sync(value)
    written, brought_forward = len(world.kube.applied), 0
    for second in range(1, 121):
        readings = [ExternalValues((30_000 + second,))]
        counts = changes_to_readings(world, readings)
        brought_forward += counts
        world.measurements.are_shared = False
        world.passes(1)
        if counts or second % 15 == 0:
            await world.reconcile_and_keep(readings)
    assert brought_forward <= len(world.kube.applied) - written <= 2


async def test_beside_a_metric_that_fails_only_a_change_that_a_reconcile_would_act_on_counts():
    metrics = [
        SPEC["metrics"][0],
        {"type": "External", "external": {**METRIC, "metric": {"name": "other"}}},
    ]
    world = World(copies=True, object=autoscaler(spec={**SPEC, "metrics": metrics}))
    for _ in range(4):
        world.passes(15)
        await world.reconcile_and_keep([reading(30), reading(None)])
    for value, expected in ((31, False), (60, True)):
        assert changes_to_readings(world, [reading(value), reading(None)]) is expected


async def test_a_decision_that_would_delay_others_is_not_made_to_find_it_out():
    world = await steady()
    world.measurements.readings = [ExternalValues((1,) * 30_100)]
    world.measurements.are_shared = True
    assert may_rescale(world)


async def test_deciding_it_requests_and_counts_nothing():
    world = await steady()
    before = len(world.kube.requested), len(world.kube.put), len(world.events.emitted)
    changes_to(world, 60)
    assert before == (len(world.kube.requested), len(world.kube.put), len(world.events.emitted))


@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 90)), min_size=1, max_size=8),
    reconciles=st.sampled_from([4, 30]),
)
def test_a_change_counts_only_if_a_reconcile_would_scale(values, reconciles):
    async def scenario():
        world = await steady(reconciles=reconciles)
        for number, value in enumerate(values):
            counts = changes_to(world, value)
            world.measurements.are_shared = False
            before = world.replicas
            after = await world.sync(value, elapsed=1)
            assert after == before or counts
            # Later, a change may be unknown, which counts as well.
            assert after != before or not counts or number > 0

    asyncio.run(scenario())
