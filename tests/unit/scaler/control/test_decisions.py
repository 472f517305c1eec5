"""A decision from what was measured a moment ago."""

import msgspec
import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.cluster.clock import Clock
from scaler.control.decisions import Decisions
from scaler.control.left_zeros import LeftZeros
from scaler.control.memories import Memories
from tests.unit.scaler.control.world import KEY, NOW_SECONDS, World
from tests.unit.scaler.objects import average, external


def now():
    return NOW_SECONDS


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, 2, id="of the same metrics"),
        pytest.param({"metrics": (external(average("1"), name="other"),)}, 4, id="of others"),
        pytest.param({"selector": ()}, 4, id="of other pods"),
    ],
)
async def test_readings_are_used_again_only_for_what_was_read(changes, expected):
    world = World(ExternalValues((20_000,)))
    dependencies, settings = world.dependencies(), Settings(kind=world.kind)
    clock = Clock(now=now, monotonic=now)
    memories = Memories(world.kube, settings, clock)
    left_zeros = LeftZeros(dependencies.scales)
    decisions = Decisions(dependencies, settings, memories, left_zeros, clock)
    autoscaler = world.autoscalers.get(KEY)
    target, _ = await dependencies.scales.read(autoscaler)
    first = await decisions.make(autoscaler, target, Memory(), now)
    world.measurements.readings = [ExternalValues((40_000,))]
    measured = msgspec.structs.replace(first.measured, **changes)
    made = await decisions.make(autoscaler, target, Memory(), now, measured)
    assert made.decision.desired_replicas == expected
