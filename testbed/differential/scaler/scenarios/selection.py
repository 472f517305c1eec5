"""PURE  Which scenarios there are."""

from testbed.differential.scaler.scenarios.behavior import behavior_scenarios
from testbed.differential.scaler.scenarios.bounds import bounds_scenarios
from testbed.differential.scaler.scenarios.deployments import deployment_scenarios
from testbed.differential.scaler.scenarios.events import event_scenarios
from testbed.differential.scaler.scenarios.external import external_scenarios
from testbed.differential.scaler.scenarios.failures import failure_scenarios
from testbed.differential.scaler.scenarios.grouping import grouping_scenarios
from testbed.differential.scaler.scenarios.objects import object_scenarios
from testbed.differential.scaler.scenarios.pods import pods_scenarios
from testbed.differential.scaler.scenarios.random import random_scenarios
from testbed.differential.scaler.scenarios.resource import resource_scenarios
from testbed.differential.scaler.scenarios.selectors import selector_scenarios
from testbed.differential.scaler.scenarios.zero import zero_scenarios
from testbed.differential.scaler.situation import Scenario


def by_hand() -> tuple[Scenario, ...]:
    """Every hand-written one."""
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


def selected(*, random_count: int, seed: int) -> tuple[Scenario, ...]:
    """Every hand-written one, and so many random ones; names are unique."""
    found = (*by_hand(), *random_scenarios(count=random_count, seed=seed))
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"scenarios of the same name: {twice}")
    return found
