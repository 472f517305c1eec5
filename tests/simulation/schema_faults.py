"""A CustomResourceDefinition that is deleted with its objects, or whose schema prunes or rejects a field of the status."""

import random
from typing import TYPE_CHECKING

from tests.simulation.cluster import Document
from tests.simulation.faults import Fault
from tests.simulation.scenario import Scenario

if TYPE_CHECKING:
    from tests.simulation.world import World

# How a CustomResourceDefinition fails whose objects are deleted with it.
DELETED = "deleted"
PRUNED_FIELDS = ("history", "history", "conditions", "currentMetrics")


def made_from(rng: random.Random, scenario: Scenario, at: float) -> tuple[Fault, ...]:
    """`where`: the field that is pruned."""
    seconds = min(rng.choice((5.0, 20.0, 90.0, 300.0)) * rng.uniform(0.5, 1), scenario.calm_at - at)
    match rng.choice(("deleted", "pruned", "pruned", "rejected")):
        case "deleted":
            return (Fault(kind="crd", at=at, seconds=seconds, how=DELETED),)
        case "pruned":
            where = rng.choice(PRUNED_FIELDS)
            return (Fault(kind="schema", at=at, seconds=seconds, where=where),)
    return (Fault(kind="writes", at=at, seconds=seconds, where="status", how="invalid"),)


def begin(fault: Fault, world: "World") -> None:
    """For a while the schema does not have a field of the status."""
    world.server.pruned_fields |= {fault.where}
    world.timeline.after(fault.seconds, _end, fault, world)


def _end(fault: Fault, world: "World") -> None:
    world.server.pruned_fields -= {fault.where}


def delete_objects(fault: Fault, world: "World") -> None:
    """The objects of CustomResourceDefinitions that are deleted are deleted, too. Their users create both again."""
    for namespace in world.journal.namespaces:
        world.server.memories.spoil(namespace, how="deleted")
    for found in tuple(world.cluster["loadautoscalers"].objects.values()):
        world.delete(found)
        named = {each: found["metadata"][each] for each in ("namespace", "name")}
        key = "/".join(named.values())
        if key in world.server.workloads:
            again = {"kind": found["kind"], "metadata": named, "spec": found["spec"]}
            world.timeline.after(fault.seconds, _create_again, world, key, again)


def _create_again(world: "World", key: str, wanted: Document) -> None:
    world.switch_on(key)
    world.create(wanted)
