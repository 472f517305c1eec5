"""PURE  The list of all scenarios."""

from collections.abc import Iterable

from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenarios.behavior import behavior_scenarios
from testbed.differential.scaler.scenarios.bounds import bounds_scenarios
from testbed.differential.scaler.scenarios.deployments import deployment_scenarios
from testbed.differential.scaler.scenarios.events import event_scenarios
from testbed.differential.scaler.scenarios.external import external_scenarios
from testbed.differential.scaler.scenarios.failures import failure_scenarios
from testbed.differential.scaler.scenarios.grouping import grouping_scenarios
from testbed.differential.scaler.scenarios.objects import object_scenarios
from testbed.differential.scaler.scenarios.pods import pods_scenarios
from testbed.differential.scaler.scenarios.random import random_scenario, random_scenarios
from testbed.differential.scaler.scenarios.resource import resource_scenarios
from testbed.differential.scaler.scenarios.selectors import selector_scenarios
from testbed.differential.scaler.scenarios.zero import zero_scenarios


def handwritten() -> tuple[Scenario, ...]:
    """Every handwritten scenario."""
    return (
        *resource_scenarios(),
        *grouping_scenarios(),
        *pods_scenarios(),
        *object_scenarios(),
        *external_scenarios(),
        *selector_scenarios(),
        *bounds_scenarios(),
        *behavior_scenarios(),
        *failure_scenarios(),
        *event_scenarios(),
        *zero_scenarios(),
        *deployment_scenarios(),
    )


def selected(*, random_count: int, seed: int, again: Iterable[str] = ()) -> tuple[Scenario, ...]:
    """Every handwritten scenario and `random_count` random ones. Raises ValueError for duplicate names.

    `again`: further random ones, by the texts in their names.
    """
    drawn = random_scenarios(count=random_count, seed=seed)
    names_of_drawn = {each.name for each in drawn}
    repeated = tuple(map(random_scenario, dict.fromkeys(again)))
    repeated = tuple(each for each in repeated if each.name not in names_of_drawn)
    found = (*handwritten(), *drawn, *repeated)
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        duplicates = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"duplicate scenario names: {duplicates}")
    return found
