"""A decision from what was measured a moment ago."""

import msgspec
import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Pod, PodStatus
from scaler.algorithm.readings import ExternalValues
from scaler.cluster.clock import Clock
from scaler.cluster.scales import none_listed
from scaler.control.decisions import Decisions
from scaler.control.left_zeros import LeftZeros
from scaler.control.memories import Memories
from scaler.control.record import Record
from tests.unit.scaler.control.world import KEY, NOW_SECONDS, SPEC, World, autoscaler
from tests.unit.scaler.objects import average, external, samples
from wire.api.meta import ObjectMeta

QUEUE_OF_PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}


def now():
    return NOW_SECONDS


def decisions_in(world: World) -> Decisions:
    dependencies = world.dependencies()
    clock = Clock(now=now, monotonic=now)
    memories = Memories(world.kube, dependencies.settings(), clock, listed=none_listed)
    return Decisions(dependencies, world.kind, memories, LeftZeros(dependencies.scales), clock)


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
    decisions, autoscaler = decisions_in(world), world.autoscalers.get(KEY)
    target, _ = await world.dependencies().scales.read(autoscaler)
    first = await decisions.make(Record(uid="u9"), autoscaler, target, Memory(), now)
    world.measurements.readings = [ExternalValues((40_000,))]
    measured = msgspec.structs.replace(first.measured, **changes)
    made = await decisions.make(Record(uid="u9"), autoscaler, target, Memory(), now, measured)
    assert made.decision.desired_replicas == expected


async def test_pods_are_those_of_after_the_metrics_were_read():
    """As upstream: otherwise pods that become ready while a metrics API is slow would count as not ready, beside their samples."""
    of = autoscaler(spec={**SPEC, "maxReplicas": 20, "metrics": [QUEUE_OF_PODS]})
    world = World(samples({f"web-{number}": 12_000 for number in range(6)}), object=of)
    world.scaled(6)
    running = tuple(_of_web(f"web-{number}", "Running") for number in range(6))
    world.pods.pods = (*(_of_web(f"web-{number}", "Pending") for number in range(3)), *running[3:])

    def become_ready() -> None:
        world.pods.pods = running

    world.measurements.while_read = become_ready
    target, _ = await world.dependencies().scales.read(of)
    made = await decisions_in(world).make(
        Record(uid="u9"), world.autoscalers.get(KEY), target, Memory(), now
    )
    assert made.decision.desired_replicas == 8


def _of_web(name: str, phase: str) -> Pod:
    metadata = ObjectMeta(name=name, namespace="shop", labels={"app": "web"})
    return Pod(metadata=metadata, status=PodStatus(phase=phase))
