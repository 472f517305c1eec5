"""Kinds of faults that a flag adds to those of a seed. They are drawn apart, so the faults of the seed stay the same."""

import random
from collections.abc import Callable, Sequence

from tests.simulation import balancer_faults, restore_faults
from tests.simulation.faults import FIRST_FAULT_SECONDS, Fault
from tests.simulation.scenario import Scenario

ADDED: dict[str, Callable[[random.Random, Scenario, float], tuple[Fault, ...]]] = {
    "restores": restore_faults.made_from,
    "balancer": balancer_faults.made_from,
}
"""By the flags that add them: what goes wrong at a moment."""


def with_added(scenario: Scenario, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """These, and those of the kinds that the scenario adds."""
    found = [*faults]
    for flag in scenario.added_faults:
        rng = random.Random(f"{flag} {scenario.seed}")
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
            found += ADDED[flag](rng, scenario, at)
    return tuple(sorted(found, key=lambda fault: fault.at))
