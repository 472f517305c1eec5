"""Scenarios must depend neither on the clock nor on chance."""

from collections.abc import Iterator
from typing import Any

import pytest

from testbed.differential.scaler.environment import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenarios.random import random_scenarios
from testbed.differential.scaler.scenarios.selection import handwritten, selected

EVERY = selected(random_count=200, seed=7)
# Longer than any scenario. Anything shorter than a period ends between two reconciles.
LONGER_THAN_ANY_RUN_SECONDS = 600
# These two test the API's default policies of 15 s and end before that.
ABOUT_DEFAULTS = {"behavior: empty", "behavior: empty rules"}


def seconds_of(rules: dict[str, Any]) -> Iterator[float]:
    if "policies" not in rules:
        yield 15.0
    for policy in rules.get("policies", ()):
        yield policy["periodSeconds"]
    yield rules.get("stabilizationWindowSeconds", 0)


def behaviors(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for step in scenario.steps:
        for autoscaler in step.state.autoscalers:
            if "behavior" in autoscaler.spec:
                yield autoscaler.spec["behavior"]


def test_there_are_at_least_200_handwritten_scenarios_with_unique_names():
    names = [each.name for each in EVERY]
    assert len(set(names)) == len(names)
    assert len(handwritten()) >= 200


@pytest.mark.parametrize("scenario", EVERY, ids=lambda each: each.name)
def test_no_window_or_period_ends_while_a_scenario_runs(scenario):
    if scenario.name in ABOUT_DEFAULTS:
        assert sum(step.reconciles for step in scenario.steps) * SYNC_PERIOD_SECONDS < 15
        return
    for behavior in behaviors(scenario):
        for side in ("scaleUp", "scaleDown"):
            for seconds in seconds_of(behavior.get(side, {})):
                is_past = seconds < SYNC_PERIOD_SECONDS * 0.7
                assert is_past or seconds >= LONGER_THAN_ANY_RUN_SECONDS, (side, seconds)


def test_the_same_seed_gives_the_same_scenarios_and_another_seed_others():
    first, again = random_scenarios(count=20, seed=3), random_scenarios(count=20, seed=3)
    other = random_scenarios(count=20, seed=4)
    assert first == again
    assert [each.steps for each in first] != [each.steps for each in other]


def test_a_larger_number_of_random_scenarios_starts_with_the_same_ones():
    assert random_scenarios(count=20, seed=3)[:5] == random_scenarios(count=5, seed=3)
