"""Over random loads and rules: a scaler that restarts at any time makes the replica counts of one that does not."""

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SPEC, World, autoscaler
from tests.unit.scaler.objects import few_examples

PERIOD_SECONDS = 15

# Long phases of the same load, in which nothing is written, and short ones.
phases = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([1, 2, 5, 25])), min_size=1, max_size=6
)
policies = st.lists(
    st.builds(
        lambda kind, value, period: {"type": kind, "value": value, "periodSeconds": period},
        st.sampled_from(["Pods", "Percent"]),
        st.integers(1, 100),
        st.sampled_from([15, 60, 300]),
    ),
    min_size=1,
    max_size=2,
)
rules = st.builds(
    lambda window, some, select: {
        "stabilizationWindowSeconds": window,
        "policies": some,
        "selectPolicy": select,
    },
    st.sampled_from([0, 60, 300]),
    policies,
    st.sampled_from(["Max", "Min"]),
)
behaviors = st.none() | st.builds(lambda up, down: {"scaleUp": up, "scaleDown": down}, rules, rules)


class Stored:
    """The ScalingMemory of an HPA."""

    def __init__(self):
        self.by_uid = {}
        self.are_urgent = []

    async def read_or_late(self, namespace):
        return

    def is_read(self, namespace):
        return True

    def history(self, uid):
        return self.by_uid.get(uid)

    def put(self, namespace, uid, history, *, is_urgent):
        self.by_uid[uid] = history
        self.are_urgent.append(is_urgent)

    def remove(self, uid):
        self.by_uid.pop(uid, None)


def world_with(behavior, kind=LOAD_AUTOSCALERS):
    extra = {} if behavior is None else {"behavior": behavior}
    memory_store = None if kind.keeps_history else Stored()
    world = World(object=autoscaler(spec={**SPEC, **extra}), kind=kind, memory_store=memory_store)
    world.scaled(3)
    return world


async def counts(world, phases, restarts=()):
    """The replicas after each sync; before each sync of `restarts`, a new process starts."""
    loads = [load for load, syncs in phases for _ in range(syncs)]
    found = []
    for index, load in enumerate(loads):
        if index in restarts:
            world.restart()
        found.append(await world.sync(10 * load, elapsed=PERIOD_SECONDS))
    return found


@pytest.mark.parametrize("kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS])
@few_examples
@given(phases=phases, behavior=behaviors, restarts=st.sets(st.integers(0, 80), max_size=5))
@example(phases=[(2, 25), (0, 25)], behavior=None, restarts={26})
@example(phases=[(0, 25)], behavior=None, restarts={21})
def test_restarts_change_no_count(kind, phases, behavior, restarts):
    undisturbed = asyncio.run(counts(world_with(behavior, kind), phases))
    assert asyncio.run(counts(world_with(behavior, kind), phases, restarts)) == undisturbed


@pytest.mark.parametrize("minutes", [1, 10])
async def test_a_panic_that_lasts_goes_on_after_a_restart(minutes):
    """Also after minutes in which nothing else had to be stored."""
    behavior = {
        "scaleUp": {"panic": {"holdSeconds": 60}},
        "scaleDown": {"stabilizationWindowSeconds": 0},
    }
    found = World(object=autoscaler(spec={**SPEC, "behavior": behavior}))
    for _ in range(minutes * 60 // PERIOD_SECONDS):
        await found.sync(90, elapsed=PERIOD_SECONDS)
    found.restart()
    assert await found.sync(10, elapsed=PERIOD_SECONDS) == 9
    assert await found.sync(10, elapsed=60) == 1


@pytest.mark.parametrize("restarted_after", [10, 20, 35])
@pytest.mark.parametrize("window_seconds", [0, 30, 60, 120, 300])
async def test_a_restart_does_not_begin_the_cooldown_again(window_seconds, restarted_after):
    """Whatever the window is while replicas are removed slowly, which takes longer than the cooldown."""
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    down = {"stabilizationWindowSeconds": window_seconds, "policies": [policy]}
    spec = {
        "minReplicas": 0,
        "scaleToZero": {"cooldownSeconds": 600},
        "behavior": {"scaleDown": down},
    }

    async def seconds_to_zero(restarted_after=None):
        found = World(object=autoscaler(spec={**SPEC, "maxReplicas": 500, **spec}))
        found.scaled(10)
        await found.sync(100)
        began = found.now_seconds
        number = 0
        while found.replicas:
            if number == restarted_after:
                found.passes(45)
                found.restart()
            await found.sync(0)
            number += 1
        return found.now_seconds - began

    usual_seconds = await seconds_to_zero()
    assert await seconds_to_zero(restarted_after) <= usual_seconds + 60


async def test_a_restart_does_not_begin_a_failure_again_while_the_replicas_are_the_minimum():
    """The memory is not stored again then, so its age does not show when the last reconcile was."""
    fallback = {"type": "Replicas", "replicas": 2, "failureDurationSeconds": 600}
    metrics = [{**SPEC["metrics"][0], "name": "queue", "fallback": fallback}]
    found = World(object=autoscaler(spec={**SPEC, "minReplicas": 3, "metrics": metrics}))
    found.scaled(3)
    for _ in range(200):
        await found.sync(None)
    assert found.conditions()["ScalingActive"][0] == "True"
    found.restart()
    await found.sync(None)
    assert found.conditions()["ScalingActive"][0] == "True"
