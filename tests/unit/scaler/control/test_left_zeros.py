"""A LoadAutoscaler that is created at a zero which the scaler has set for another one, deleted since, leaves that zero."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SPEC, World, autoscaler
from tests.unit.scaler.objects import few_examples

NO_WINDOW = {"scaleDown": {"stabilizationWindowSeconds": 0}}
IDLE = {**SPEC, "minReplicas": 0, "behavior": NO_WINDOW}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}}}  # fmt: skip


def object_of(uid: str, **spec: Any) -> Any:
    metadata = {"namespace": "shop", "name": "web", "uid": uid, "resourceVersion": "5"}
    return autoscaler(metadata=metadata, spec={**IDLE, **spec})


async def at_zero(kind=LOAD_AUTOSCALERS, **spec: Any) -> World:
    """The scaler has set the target to zero."""
    world = World(copies=True, kind=kind, zero=True, object=object_of("u9", **spec))
    world.scaled(2)
    assert await world.sync(0) == 0
    return world


def created_again(world: World, **spec: Any) -> None:
    world.deleted()
    world.created(object_of("u10", **spec))


@pytest.mark.deviation("left-zero")
async def test_it_is_scaled_to_its_minimum():
    world = await at_zero()
    await world.sync(0)
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 3


async def test_it_is_scaled_to_its_minimum_if_all_of_its_metrics_are_those_of_pods():
    world = await at_zero()
    await world.sync(0)
    created_again(world, minReplicas=3, metrics=[CPU])
    assert await world.sync() == 3


async def test_with_a_minimum_of_zero_it_leaves_zero_once_there_is_load():
    world = await at_zero()
    await world.sync(0)
    created_again(world)
    assert await world.sync(0) == 0
    assert world.conditions()["ScaledToZero"] == ("True", "ScaledToZero")
    assert await world.sync(40) == 4


async def test_it_knows_who_set_the_zero_also_after_a_restart():
    """Its own history has it from its first reconcile on."""
    world = await at_zero()
    created_again(world)
    assert await world.sync(0) == 0
    world.restart()
    assert await world.sync(40) == 4


async def test_the_zero_may_have_been_set_right_before_the_deletion():
    world = await at_zero()
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 3


async def test_one_that_was_deleted_at_the_zero_of_its_predecessor_leaves_it_to_the_next_one():
    world = await at_zero()
    created_again(world)
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 3


async def test_it_need_not_have_been_created_at_once():
    world = await at_zero()
    world.deleted()
    assert not await world.reconcile()
    world.passes(86_400)
    world.created(object_of("u10", minReplicas=3))
    assert await world.sync(0) == 3


async def test_a_replica_that_does_not_lead_any_more_does_not_judge_by_what_it_remembers():
    """Another one has scaled since, which this one has not seen."""
    world = await at_zero()
    world.reconciler.leave()
    world.scaled(3)
    world.scaled(0)
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 0


async def test_while_the_watch_is_behind_it_stays_at_zero_and_leaves_it_afterwards():
    world = await at_zero()
    world.watched_version = lambda: "behind"
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 0
    world.watched_version = lambda: str(world.version)
    assert await world.sync(0) == 3


# Where it is not known for certain that the scaler has set the zero, it is a user's.


async def is_disabled(world: World) -> bool:
    before = world.replicas
    is_kept = await world.sync(50) == before == 0
    return is_kept and world.conditions()["ScalingActive"] == ("False", "ScalingDisabled")


async def test_a_user_has_set_the_zero_while_the_first_one_existed():
    world = await at_zero()
    world.scaled(3)
    await world.sync(30)
    world.scaled(0)
    created_again(world, minReplicas=3)
    assert await is_disabled(world)


@pytest.mark.deviation("users-zero")
async def test_a_user_has_set_the_zero_after_scaling_up_from_a_zero_of_the_scaler():
    """The last rescale of the scaler was to zero, but not to this zero."""
    world = await at_zero()
    await world.sync(0)
    world.scaled(3)
    await world.sync(30)
    assert world.conditions()["ScaledToZero"] == ("False", "NotScaledToZero")
    world.scaled(0)
    assert await is_disabled(world)


async def test_a_user_has_set_the_zero_after_the_first_one_was_deleted():
    world = await at_zero()
    await world.sync(0)
    world.deleted()
    world.scaled(3)
    world.scaled(0)
    world.created(object_of("u10", minReplicas=3))
    assert await is_disabled(world)


async def test_a_user_has_set_the_zero_while_the_second_one_existed():
    world = await at_zero()
    created_again(world, minReplicas=3)
    assert await world.sync(0) == 3
    world.scaled(0)
    assert await is_disabled(world)
    created_again(world, minReplicas=3)
    assert await is_disabled(world)


async def test_the_target_was_created_again_too_at_zero():
    world = await at_zero()
    created_again(world, minReplicas=3)
    world.target_uid = "u2"
    world.generation -= 1
    world.scaled(0)
    assert await is_disabled(world)


async def test_the_first_one_only_activated_a_users_zero():
    world = World(copies=True, object=object_of("u9", scaleToZero={"manualZero": "Activate"}))
    world.scaled(0)
    assert await world.sync(0) == 0
    created_again(world, minReplicas=3)
    assert await is_disabled(world)


@pytest.mark.deviation("left-zero")
async def test_no_watch_shows_whether_the_target_has_changed():
    world = await at_zero()
    world.watched_version = lambda: ""
    created_again(world, minReplicas=3)
    assert await is_disabled(world)


@pytest.mark.parametrize("min_replicas", [0, 3])
async def test_an_hpa_takes_the_zero_for_a_users_as_upstream(min_replicas):
    world = await at_zero(kind=HORIZONTAL_POD_AUTOSCALERS)
    await world.sync(0)
    created_again(world, minReplicas=min_replicas)
    assert await is_disabled(world)


async def test_an_hpa_goes_by_the_last_rescale_as_upstream():
    world = await at_zero(kind=HORIZONTAL_POD_AUTOSCALERS)
    await world.sync(0)
    world.scaled(3)
    await world.sync(30)
    assert world.conditions()["ScaledToZero"] == ("True", "ScaledToZero")
    world.scaled(0)
    assert await world.sync(40) == 4


class History:
    """What users and an autoscaler with `minReplicas: 0` do to one target, and who has set its last zero."""

    def __init__(self) -> None:
        self.world = World(copies=True, object=object_of("u9"))
        self.by_scaler = False
        self.exists = True
        self.created = 0

    async def user_scales(self, replicas: int) -> None:
        if replicas != self.world.replicas:
            self.by_scaler = False
            self.world.scaled(replicas)
        await self.sync(10 * self.world.replicas)

    async def is_idle(self) -> None:
        if self.exists and self.world.replicas:
            self.by_scaler = True
        await self.sync(0)

    async def is_deleted(self) -> None:
        if self.exists:
            self.world.deleted()
        self.exists = False

    async def is_created(self) -> None:
        if not self.exists:
            self.created += 1
            self.world.created(object_of(f"created-{self.created}"))
        self.exists = True

    async def sync(self, queue: int) -> int:
        return await self.world.sync(queue) if self.exists else self.world.replicas


steps = st.one_of(
    st.tuples(st.just("user_scales"), st.integers(0, 3)),
    st.sampled_from([("is_idle",), ("is_deleted",), ("is_created",)]),
)


@few_examples
@given(st.lists(steps, max_size=12))
def test_load_ends_a_zero_of_the_scaler_and_never_one_of_a_user(given_steps):
    async def live() -> None:
        history = History()
        for name, *arguments in given_steps:
            await getattr(history, name)(*arguments)
        await history.is_created()
        if not history.world.replicas:
            assert (await history.sync(40) > 0) is history.by_scaler

    asyncio.run(live())
