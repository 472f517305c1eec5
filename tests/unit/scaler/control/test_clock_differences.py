"""What another wall clock can do when a new process continues: a window or a period ends that much too early or too late, not more."""

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.test_restart_properties import Stored
from tests.unit.scaler.control.world import SPEC, World, autoscaler

STEP_SECONDS = 5
DIFFERENCES = pytest.mark.parametrize("ahead_seconds", [-60, -30, -5, 0, 5, 30, 60])
KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])


def world(kind, behavior):
    """With memories that are stored, also of an HPA."""
    memory_store = Stored() if kind is HORIZONTAL_POD_AUTOSCALERS else None
    spec = {**SPEC, "behavior": behavior}
    return World(object=autoscaler(spec=spec), kind=kind, memory_store=memory_store)


async def seconds_until_scaled(found, queue, before):
    """With a sync every few seconds."""
    seconds = 0
    while found.replicas == before and seconds < 1000:
        await found.sync(queue, elapsed=STEP_SECONDS)
        seconds += STEP_SECONDS
    return seconds


def is_wrong_by(seconds, ahead_seconds, expected_seconds):
    """At most two syncs later than a window that ends so much earlier."""
    return 0 <= seconds - (expected_seconds - ahead_seconds) <= 2 * STEP_SECONDS


@pytest.mark.deviation("clock-steps")
@KINDS
@DIFFERENCES
async def test_a_window_ends_wrong_by_the_difference_and_no_more(kind, ahead_seconds):
    found = world(kind, {"scaleDown": {"stabilizationWindowSeconds": 180}})
    found.scaled(9)
    await found.sync(90)
    for _ in range(4):
        await found.sync(10)
    found.restart()
    found.now_seconds += ahead_seconds
    seconds = await seconds_until_scaled(found, 10, 9)
    assert is_wrong_by(seconds, ahead_seconds, 180 - 60)


@pytest.mark.deviation("clock-steps")
@KINDS
@DIFFERENCES
async def test_a_policy_counts_a_change_wrong_by_the_difference_and_no_more(kind, ahead_seconds):
    policies = [{"type": "Pods", "value": 2, "periodSeconds": 180}]
    found = world(kind, {"scaleUp": {"policies": policies}})
    await found.sync(10)
    assert await found.sync(90) == 3
    for _ in range(4):
        await found.sync(90)
    found.restart()
    found.now_seconds += ahead_seconds
    seconds = await seconds_until_scaled(found, 90, 3)
    assert is_wrong_by(seconds, ahead_seconds, 180 - 60)


@KINDS
@pytest.mark.parametrize("behind_seconds", [300, 3600, 86400])
async def test_what_another_process_stored_for_the_future_counts_as_now(kind, behind_seconds):
    found = world(kind, {"scaleDown": {"stabilizationWindowSeconds": 180}})
    found.scaled(9)
    await found.sync(90)
    for _ in range(4):
        await found.sync(10)
    found.restart()
    found.now_seconds -= behind_seconds
    seconds = await seconds_until_scaled(found, 10, 9)
    assert is_wrong_by(seconds, 0, 180)


@pytest.mark.deviation("clock-steps")
@KINDS
@pytest.mark.parametrize("stepped_seconds", [-3600, -60, 60, 3600])
async def test_a_step_of_the_own_clock_changes_no_window(kind, stepped_seconds):
    found = world(kind, {"scaleDown": {"stabilizationWindowSeconds": 180}})
    found.scaled(9)
    await found.sync(90)
    for _ in range(4):
        await found.sync(10)
    found.now_seconds += stepped_seconds
    seconds = await seconds_until_scaled(found, 10, 9)
    assert is_wrong_by(seconds, 0, 180 - 60)
