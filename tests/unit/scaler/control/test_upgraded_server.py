"""The control plane is upgraded under a running scaler: the behavior changes, and nothing is scaled because of it."""

import msgspec
import pytest

from scaler.algorithm.readings import ExternalValues
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.api.upstream import upstream_of
from tests.unit.scaler.control.world import KEY, SCALE_PATH, World, autoscaler
from wire.api.status import Unavailable, not_found


def world_of(minor, **options):
    return World(kind=HORIZONTAL_POD_AUTOSCALERS, upstream=upstream_of(minor), **options)


def condition_times(world):
    return {each["type"]: each["lastTransitionTime"] for each in world.status()["conditions"]}


async def idle(minor):
    """An HPA that has been scaled to what its metric wants, whose decision is kept."""
    world = world_of(minor, copies=True)
    world.measurements.are_shared = True
    for _ in range(4):
        await world.sync(30)
    assert world.replicas == 3
    assert world.reconciler.repeat(KEY)
    return world


@pytest.mark.parametrize(
    ("before", "after", "generation"),
    [pytest.param(36, 37, 2, id="upgrade"), pytest.param(37, 36, None, id="downgrade")],
)
async def test_an_idle_hpa_gets_one_status_of_the_other_version_and_keeps_its_replicas(
    before, after, generation
):
    world = await idle(before)
    memory = world.reconciler.derivation(KEY)
    writes, times = len(world.kube.put), condition_times(world)
    world.settings = world.settings.of_version(upstream_of(after))
    assert not world.reconciler.repeat(KEY), "the decision of the other version must not be kept"
    for _ in range(3):
        await world.sync(30)
    assert world.replicas == 3
    assert [path for path, _ in world.kube.put[writes:]] == [
        HORIZONTAL_POD_AUTOSCALERS.object("shop", "web") + "/status"
    ]
    assert world.status().get("observedGeneration") == generation
    assert condition_times(world) == times
    assert memory is not None


async def test_windows_continue_through_an_upgrade():
    world = await idle(36)
    world.settings = world.settings.of_version(upstream_of(37))
    for _ in range(10):
        await world.sync(10)
    assert world.replicas == 3
    for _ in range(12):
        await world.sync(10)
    assert world.replicas == 1


async def test_a_user_can_wait_for_the_generation_of_the_spec_that_was_edited():
    world = world_of(37)
    await world.reconcile()
    assert world.status()["observedGeneration"] == 2
    assert "observedGeneration" not in (await _reconciled(world_of(36))).status()


async def test_without_its_target_the_generation_stays_that_of_the_last_whole_reconcile():
    world = world_of(37)
    await world.sync(30)
    found = world.autoscalers.by_key[KEY]
    edited = msgspec.structs.replace(found.metadata, generation=3)
    world.autoscalers.by_key[KEY] = msgspec.structs.replace(found, metadata=edited)
    world.kube.answers[SCALE_PATH] = not_found("it was deleted")
    await world.sync(30)
    assert world.status()["observedGeneration"] == 2
    assert world.conditions()["AbleToScale"] == ("False", "FailedGetScale")


async def test_an_hpa_without_generation_from_before_the_upgrade_gets_an_explicit_0():
    metadata = {"namespace": "shop", "name": "web", "uid": "u9", "resourceVersion": "5"}
    world = world_of(37, object=autoscaler(metadata=metadata))
    await world.reconcile()
    assert world.status()["observedGeneration"] == 0
    assert "generation" not in world.kube.put[-1][1]["metadata"]


@pytest.mark.deviation("interrupted-writes")
@pytest.mark.parametrize("minor", [35, 36, 37])
async def test_a_write_of_the_scale_without_a_response_has_failed_in_every_version(minor):
    """Before 1.37 the controller reports it as written only if it is being stopped itself, where a scaler reports nothing."""
    world = world_of(minor)
    world.measurements.readings = [ExternalValues((30_000,))]
    world.kube.put_answers = [Unavailable("no response within 30 s")]
    await world.reconcile()
    assert "FailedRescale" in [each[1] for each in world.reported()]
    assert world.conditions()["AbleToScale"] == ("False", "FailedUpdateScale")


async def _reconciled(world):
    await world.reconcile()
    return world
