"""Kinds of faults that a flag adds to those of a seed. They are drawn apart, so the faults of the seed stay the same."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tests.simulation import balancer_faults, restore_faults, sample_faults, schema_faults
from tests.simulation.faults import FIRST_FAULT_SECONDS, Fault
from tests.simulation.scenario import Scenario

if TYPE_CHECKING:
    from tests.simulation.world import World

ADDED: dict[str, Callable[[random.Random, Scenario, float], tuple[Fault, ...]]] = {
    "restores": restore_faults.made_from,
    "balancer": balancer_faults.made_from,
    "schemas": schema_faults.made_from,
    "samples": sample_faults.made_from,
}
"""By the flags that add them: what goes wrong at a moment."""

BEGIN: dict[str, Callable[[Fault, "World"], None]] = {
    "restore": restore_faults.begin,
    "balancer": balancer_faults.begin,
    "schema": schema_faults.begin,
}
"""By their kinds; others are kinds that seeds have without a flag, too."""


def prepare(fault: Fault, world: "World") -> None:
    """What has to be done before a fault begins."""
    if fault.kind == "restore":
        restore_faults.prepare(fault, world)


def with_added(scenario: Scenario, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """These, and those of the kinds that the scenario adds."""
    found = [*faults]
    for flag in scenario.added_faults:
        rng = random.Random(f"{flag} {scenario.seed}")
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
            found += ADDED[flag](rng, scenario, at)
    return tuple(sorted(found, key=lambda fault: fault.at))
