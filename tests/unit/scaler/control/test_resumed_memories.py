"""After a time without reconciles, a process decides as one that was restarted: nothing is forgotten, and nothing is held longer."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.test_restart_properties import (
    PERIOD_SECONDS,
    behaviors,
    phases,
    world_with,
)
from tests.unit.scaler.control.world import KEY
from tests.unit.scaler.objects import few_examples
from wire.api.status import Unavailable

WINDOW_SECONDS = 300
BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
WITHOUT_RECONCILES_SECONDS = [5, 20, 60, 100, 240, 600, 7200]


async def at_eight(kind):
    """Six minutes at eight replicas."""
    world = world_with(None, kind)
    world.scaled(8)
    for _ in range(24):
        assert await world.sync(80) == 8
    return world


async def seconds_until_it_shrinks(world):
    """With a low load from now on, which wants one replica."""
    passed = 0
    while await world.sync(10) == 8:
        passed += PERIOD_SECONDS
        assert passed < 3600
    return passed


@BOTH_KINDS
@pytest.mark.parametrize("seconds", WITHOUT_RECONCILES_SECONDS)
@pytest.mark.deviation("restart-memory")
async def test_a_regained_lease_holds_the_target_as_long_as_a_restart_after_the_same_time(
    kind, seconds
):
    regained, restarted = await at_eight(kind), await at_eight(kind)
    regained.reconciler.leave()
    regained.passes(seconds)
    restarted.passes(seconds)
    restarted.restart()
    held_seconds = await seconds_until_it_shrinks(restarted)
    assert await seconds_until_it_shrinks(regained) == held_seconds
    assert held_seconds >= WINDOW_SECONDS - 2 * PERIOD_SECONDS


@BOTH_KINDS
@pytest.mark.parametrize("seconds", [240, 600, 7200])
async def test_a_process_that_was_suspended_holds_the_target_for_a_window(kind, seconds):
    """Also without leader election."""
    world = await at_eight(kind)
    world.passes(seconds)
    assert await seconds_until_it_shrinks(world) >= WINDOW_SECONDS - 2 * PERIOD_SECONDS


@BOTH_KINDS
@pytest.mark.parametrize("seconds", [240, 600])
async def test_a_suspended_process_that_reconciles_before_it_loses_its_lease_holds_the_target(
    kind, seconds
):
    world = await at_eight(kind)
    world.passes(seconds)
    world.kube.put_answers = [Unavailable("this replica no longer leads")]
    assert await world.sync(10) == 8
    world.reconciler.leave()
    world.kube.put_answers = []
    assert await seconds_until_it_shrinks(world) >= WINDOW_SECONDS - 3 * PERIOD_SECONDS


@BOTH_KINDS
@few_examples
@given(phases=phases, behavior=behaviors, losses=st.sets(st.integers(1, 80), max_size=5))
def test_a_lease_that_is_regained_within_a_period_changes_no_count(kind, phases, behavior, losses):
    async def counts(losses):
        world = world_with(behavior, kind)
        loads = [load for load, syncs in phases for _ in range(syncs)]
        found = []
        for index, load in enumerate(loads):
            if index in losses:
                world.reconciler.leave()
            found.append(await world.sync(10 * load, elapsed=PERIOD_SECONDS))
        return found

    assert asyncio.run(counts(losses)) == asyncio.run(counts(set()))


@BOTH_KINDS
async def test_a_time_in_which_metrics_fail_is_not_one_without_reconciles(kind):
    """An HPA then shrinks at the first low value, as by kube-controller-manager."""
    world = await at_eight(kind)
    for _ in range(WINDOW_SECONDS // PERIOD_SECONDS + 2):
        await world.sync(None)
    held = await seconds_until_it_shrinks(world)
    assert held >= WINDOW_SECONDS if kind.holds_while_failing else held == 0


@BOTH_KINDS
@pytest.mark.parametrize("seconds", [30, 45, 60])
async def test_a_reconcile_that_is_late_by_some_periods_changes_nothing(kind, seconds):
    world = await at_eight(kind)
    memory = world.reconciler._records[KEY].memory.memory
    await world.sync(10, elapsed=seconds)
    after = world.reconciler._records[KEY].memory.memory
    assert after.recommendations[0].until_unix_seconds <= world.now_seconds - seconds
    assert memory.states is after.states


BUDGET = {"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 1800}]}}


@BOTH_KINDS
@pytest.mark.parametrize("is_applied", [True, False])
async def test_a_write_without_a_response_counts_for_the_policies_after_a_regained_lease(
    kind, is_applied
):
    """Two pods within half an hour from when it was sent, or from when it was sent again."""
    world = world_with(BUDGET, kind)
    await world.sync(30)
    world.kube.put_answers = [Unavailable("timeout")]
    await world.sync(90)
    assert world.replicas == 3
    if is_applied:
        world.scaled(5)
    world.reconciler.leave()
    world.passes(600)
    assert await world.sync(90) == 5
    assert await world.sync(90) == 5
    world.passes(1200)
    assert await world.sync(90) == (7 if is_applied else 5)


@BOTH_KINDS
async def test_ages_are_kept_when_the_clock_is_stepped_while_another_process_could_lead(kind):
    world = await at_eight(kind)
    await world.sync(10)
    world.reconciler.leave()
    world.passes(30)
    world.now_seconds += 3600
    held_seconds = await seconds_until_it_shrinks(world)
    assert WINDOW_SECONDS - 6 * PERIOD_SECONDS <= held_seconds <= WINDOW_SECONDS
