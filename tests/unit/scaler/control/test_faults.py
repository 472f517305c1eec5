"""No fault of the process, its clock or the API makes a wrong scale."""

import asyncio

import msgspec
import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.test_restart_properties import Stored
from tests.unit.scaler.control.world import KEY, SCALE_PATH, SPEC, World, autoscaler
from wire.api.status import StatusError, Unavailable, conflict

# The ordinary spec without `behavior`: its window is the flag's, five minutes.
WINDOW_SECONDS = 300
BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])


async def steady(world, replicas, *, seconds):
    """At this count, with the load for it, for so long."""
    world.scaled(replicas)
    for _ in range(int(seconds // 15)):
        assert await world.sync(10 * replicas) == replicas


def status_writes(world):
    return [path for path, _ in world.kube.put if path.endswith("/status")]


# A restart.


@pytest.mark.deviation("restart-memory")
@BOTH_KINDS
async def test_after_a_restart_a_steady_target_does_not_shrink_at_the_first_low_reading(kind):
    """Ten minutes at 8, then a restart: what is stored was last written ten minutes ago."""
    world = World(kind=kind)
    await steady(world, 8, seconds=600)
    world.restart()
    for _ in range(WINDOW_SECONDS // 15):
        assert await world.sync(10) == 8
    await world.sync(10)
    assert await world.sync(10) == 1


async def test_a_steady_target_causes_no_writes():
    world = World()
    await steady(world, 8, seconds=60)
    before = len(world.kube.put)
    await steady(world, 8, seconds=3600)
    assert len(world.kube.put) == before


@pytest.mark.parametrize("restart_at", range(24))
async def test_a_restart_within_a_window_changes_no_count(restart_at):
    """Load goes up and down; at any sync a restart may happen, and every count stays the same."""
    loads = [60, 60, 20, 20, 30, 30, 90, 10, 10, 10, 10, 40, *([10] * 24)]
    undisturbed, restarted = World(), World()
    for index, load in enumerate(loads):
        if index == restart_at:
            restarted.restart()
        assert await restarted.sync(load) == await undisturbed.sync(load), index


@pytest.mark.deviation("restart-memory")
async def test_after_a_long_downtime_the_target_does_not_shrink_for_a_window():
    """What was stored is too old to tell how the target came to its count."""
    world = World()
    await steady(world, 2, seconds=60)
    world.restart()
    world.scaled(9)  # by a user, or by a process whose status writes were lost
    assert await world.sync(20, elapsed=7200) == 9
    for _ in range(WINDOW_SECONDS // 15 - 1):
        assert await world.sync(20) == 9
    assert await world.sync(20) == 2


async def test_a_process_that_dies_after_it_reversed_a_scale_down_does_not_shrink_the_target():
    """The stored status shows two replicas as the count before the scale-down, and two is what its successor finds."""
    spec = {**SPEC, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}
    world = World(object=autoscaler(spec=spec))
    await steady(world, 2, seconds=60)
    while await world.sync(10) == 2:
        pass
    lost = Unavailable("killed")
    world.kube.put_answers = [b"{}", lost, lost, lost]
    assert await world.sync(20) == 2
    world.kube.put_answers = []
    world.restart()
    for _ in range(3):
        assert await world.sync(10) == 2
    await world.sync(10)
    assert await world.sync(10) == 1


@pytest.mark.parametrize("failures", [1, 3])
async def test_a_history_that_could_not_be_written_is_written_at_the_next_reconcile(failures):
    """The recommendation does not change meanwhile, and neither does the status."""
    world = World()
    await steady(world, 8, seconds=60)
    world.kube.put_answers = [Unavailable("timeout")] * failures
    for _ in range(failures + 1):
        await world.sync(60)
    world.restart()
    assert await world.sync(10) == 8


async def test_a_history_of_another_form_is_replaced_and_the_current_count_held():
    world = World()
    world.scaled(8)
    stored = {"status": {"history": {"recommendations": [{"replicas": "many"}]}}}
    world.kube.serve(LOAD_AUTOSCALERS.object("shop", "web"), stored)
    assert await world.sync(10) == 8
    assert status_writes(world)


# An outage of the metrics API, longer than the window.


@pytest.mark.deviation("held-while-failing", "no-history-while-failing")
@pytest.mark.parametrize(
    ("kind", "after"),
    [
        pytest.param(LOAD_AUTOSCALERS, 8, id="a LoadAutoscaler holds for a window"),
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, 1, id="an HPA shrinks at once, as upstream"),
    ],
)
async def test_the_first_low_reading_after_an_outage(kind, after):
    world = World(kind=kind)
    await steady(world, 8, seconds=60)
    for _ in range(2 * WINDOW_SECONDS // 15):
        assert await world.sync(None) == 8
    assert await world.sync(10) == after


async def test_an_outage_of_the_api_server_ends_without_a_scale_down():
    world = World()
    await steady(world, 8, seconds=60)
    scale = world.kube.answers[SCALE_PATH]
    world.kube.answers[SCALE_PATH] = Unavailable("connection refused")
    for _ in range(2 * WINDOW_SECONDS // 15):
        await world.sync(10)
    world.kube.answers[SCALE_PATH] = scale
    assert await world.sync(10) == 8


async def test_during_an_outage_nothing_new_is_written():
    world = World()
    await steady(world, 8, seconds=60)
    await world.sync(None)
    before = len(world.kube.put)
    for _ in range(20):
        await world.sync(None)
    assert len(world.kube.put) == before


# Scaling to zero.


def idle(kind, memory_store=None):
    """A world whose target may go to zero, at two replicas."""
    changed = msgspec.structs.replace(autoscaler().spec, min_replicas=0)
    found = msgspec.structs.replace(autoscaler(), spec=changed)
    world = World(kind=kind, object=found, zero=True, memory_store=memory_store)
    world.scaled(2)
    return world


async def to_zero(world):
    """Until the window has passed; the last reconcile is left to the test."""
    for _ in range(WINDOW_SECONDS // 15):
        await world.sync(0)


@pytest.mark.deviation("zero-intention")
@BOTH_KINDS
async def test_a_conflict_on_the_status_after_scaling_to_zero_does_not_keep_the_target_at_zero(
    kind,
):
    world = idle(kind)
    await to_zero(world)
    succeeded = [b"{}"] * (1 + kind.keeps_history)
    world.kube.put_answers = [*succeeded, conflict("the object has been modified")]
    assert await world.sync(0, elapsed=60) == 0
    assert await world.sync(0) == 0
    assert world.conditions()["ScaledToZero"] == ("True", "ScaledToZero")
    assert await world.sync(50) == 4


@BOTH_KINDS
async def test_a_write_of_zero_that_times_out_but_was_applied_does_not_keep_the_target_at_zero(
    kind,
):
    world = idle(kind)
    await to_zero(world)
    world.kube.put_answers = [*[b"{}"] * kind.keeps_history, Unavailable("timeout")]
    await world.sync(0, elapsed=60)
    world.scaled(0)
    assert await world.sync(0) == 0
    assert world.conditions()["ScaledToZero"] == ("True", "ScaledToZero")
    assert await world.sync(50) == 4


@pytest.mark.deviation("zero-intention")
@pytest.mark.parametrize("answered", [True, False], ids=["answered", "answer lost"])
async def test_a_process_that_dies_after_writing_zero_does_not_keep_the_target_at_zero(answered):
    """The intention is stored before the scale is written."""
    world = idle(LOAD_AUTOSCALERS)
    await to_zero(world)
    scale_answer = b"{}" if answered else Unavailable("timeout")
    world.kube.put_answers = [b"{}", scale_answer, Unavailable("killed")]
    await world.sync(0, elapsed=60)
    world.scaled(0)
    world.restart()
    assert await world.sync(50) == 4


async def test_zero_is_not_written_while_the_intention_cannot_be_stored():
    world = idle(LOAD_AUTOSCALERS)
    await to_zero(world)
    world.kube.put_answers = [conflict("the object has been modified")]
    assert await world.sync(0, elapsed=60) == 2
    assert world.events.emitted[-1].reason in ("FailedRescale", "FailedUpdateStatus")
    assert await world.sync(0) == 0


async def test_zero_is_not_written_for_an_autoscaler_that_was_created_again_meanwhile():
    """Its predecessor had scaled to zero, and a user to 1; the new object would take the zero for a user's."""
    world = idle(LOAD_AUTOSCALERS)
    await to_zero(world)
    assert await world.sync(0, elapsed=60) == 0
    world.scaled(1)
    world.kube.put_answers = [conflict("the object has been modified")]
    assert await world.sync(0, elapsed=600) == 1


async def test_a_process_that_dies_while_it_writes_the_status_of_an_hpa_does_not_keep_the_target_at_zero():
    world = idle(HORIZONTAL_POD_AUTOSCALERS, memory_store=Stored())
    await to_zero(world)
    world.kube.put_answers = [b"{}", asyncio.CancelledError()]
    with pytest.raises(asyncio.CancelledError):
        await world.sync(0, elapsed=60)
    world.scaled(0)
    world.restart()
    assert await world.sync(20) == 2


@pytest.mark.deviation("zero-intention")
async def test_an_hpa_whose_write_of_zero_got_no_response_does_not_stay_at_zero_with_another_process():
    """The intention is stored at once, because the next process finds nothing but zero replicas."""
    memory_store = Stored()
    world = idle(HORIZONTAL_POD_AUTOSCALERS, memory_store=memory_store)
    await to_zero(world)
    world.kube.put_answers = [Unavailable("timeout")]
    memory_store.are_urgent.clear()
    await world.sync(0, elapsed=60)
    assert memory_store.are_urgent == [True]
    world.scaled(0)
    world.restart()
    assert await world.sync(20) == 2


async def test_an_hpa_whose_write_of_zero_was_not_applied_leaves_a_later_zero_to_the_user():
    world = idle(HORIZONTAL_POD_AUTOSCALERS, memory_store=Stored())
    await to_zero(world)
    world.kube.put_answers = [Unavailable("timeout")]
    await world.sync(0, elapsed=60)
    assert await world.sync(20) == 2
    world.restart()
    world.scaled(0)
    assert await world.sync(20) == 0


@BOTH_KINDS
async def test_a_user_who_scales_to_zero_still_disables_autoscaling(kind):
    """Also after the controller itself failed to scale to zero once."""
    world = idle(kind)
    await to_zero(world)
    forbidden = StatusError("no", code=403, reason="Forbidden")
    world.kube.put_answers = [*[b"{}"] * kind.keeps_history, forbidden]
    assert await world.sync(0, elapsed=60) == 2
    assert await world.sync(20) == 2
    world.scaled(0)
    assert await world.sync(50) == 0
    assert world.conditions()["ScalingActive"] == ("False", "ScalingDisabled")


# Two autoscalers on one target.


@pytest.mark.deviation("shared-target")
@pytest.mark.parametrize("replicas", [0, 3, 20], ids=["at zero", "by metrics", "above the maximum"])
async def test_two_loadautoscalers_on_one_target_both_refuse(replicas):
    world = World()
    world.rivals.follow(LOAD_AUTOSCALERS.kind)(
        None, autoscaler(metadata={"namespace": "shop", "name": "twin"})
    )
    world.scaled(replicas)
    assert await world.sync(50) == replicas
    assert world.conditions()["ScalingActive"] == ("False", "AmbiguousSelector")
    assert world.events.emitted[-1].message == (
        "Deployment/web is scaled by LoadAutoscaler shop/twin as well: delete one of them"
    )


async def test_when_the_other_autoscaler_is_deleted_the_current_count_is_held_for_a_window():
    world = World()
    await steady(world, 2, seconds=60)
    twin = autoscaler(metadata={"namespace": "shop", "name": "twin"})
    follow = world.rivals.follow(LOAD_AUTOSCALERS.kind)
    follow(None, twin)
    world.scaled(8)
    await world.sync(20, elapsed=3600)
    follow(twin, None)
    assert await world.sync(20) == 8


# The clock.


@BOTH_KINDS
async def test_a_clock_that_steps_forward_does_not_shrink_the_target(kind):
    world = World(kind=kind)
    await steady(world, 8, seconds=600)
    assert await world.sync(10) == 8
    world.now_seconds += 385
    assert await world.sync(10) == 8


@BOTH_KINDS
async def test_a_clock_that_steps_back_does_not_hold_the_target_longer(kind):
    world = World(kind=kind)
    await steady(world, 8, seconds=600)
    world.now_seconds -= 3600
    for _ in range(WINDOW_SECONDS // 15):
        assert await world.sync(10) == 8
    await world.sync(10)
    assert world.replicas == 1


async def test_a_leader_with_a_slower_clock_does_not_hold_the_target_longer():
    """Its predecessor's times are in the future."""
    world = World()
    await steady(world, 8, seconds=600)
    world.restart()
    world.now_seconds -= 3600
    for _ in range(WINDOW_SECONDS // 15):
        assert await world.sync(10) == 8
    await world.sync(10)
    assert await world.sync(10) == 1


async def test_after_a_step_of_the_clock_a_restart_continues_with_the_same_ages():
    """The stored times follow the clock, otherwise they would seem younger or older to the next process."""
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 600}}
    world = World(object=autoscaler(spec={**SPEC, "behavior": behavior}))
    await steady(world, 8, seconds=60)
    await world.sync(10)
    world.now_seconds += 385
    await world.sync(10)
    world.restart()
    for _ in range(600 // 15 - 3):
        assert await world.sync(10) == 8
    for _ in range(4):
        await world.sync(10)
    assert world.replicas < 8


# Deletion and creation.


@pytest.mark.deviation("memory-by-uid")
@BOTH_KINDS
async def test_a_recreated_autoscaler_does_not_inherit_the_memory_of_the_deleted_one(kind):
    world = World(kind=kind)
    await steady(world, 8, seconds=60)
    recreated = autoscaler(metadata={"namespace": "shop", "name": "web", "uid": "new"})
    world.autoscalers.by_key[KEY] = msgspec.structs.replace(
        recreated, kind=kind.kind, api_version=kind.api_version
    )
    world.kube.serve(kind.object("shop", "web"), {})
    world.scaled(2)
    assert await world.sync(20) == 2


# A target that cannot be read.


@pytest.mark.deviation("observed-generation")
async def test_the_observed_generation_advances_when_the_scale_cannot_be_read():
    world = World()
    await world.sync(30)
    spec_changed = msgspec.structs.replace(world.autoscalers.by_key[KEY].metadata, generation=3)
    world.autoscalers.by_key[KEY] = msgspec.structs.replace(
        world.autoscalers.by_key[KEY], metadata=spec_changed
    )
    world.kube.answers[SCALE_PATH] = Unavailable("connection refused")
    await world.sync(30)
    assert world.status()["observedGeneration"] == 3
