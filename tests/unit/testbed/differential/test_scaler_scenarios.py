"""Scenarios that neither the clock nor chance may decide."""

from collections.abc import Iterator
from typing import Any

import pytest

from testbed.differential.scaler.contest import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.scenarios.random import random_scenarios
from testbed.differential.scaler.scenarios.selection import by_hand, selected
from testbed.differential.scaler.situation import Scenario

EVERY = selected(random_count=200, seed=7)
# Whatever is longer than this outlives every scenario; whatever is shorter than a period ends between two looks.
OUTLIVES_SECONDS = 600
# The API's default policies are for 15 s: these two are about them, and over before.
ABOUT_DEFAULTS = {"behavior: empty", "behavior: empty rules"}


def seconds_of(rules: dict[str, Any]) -> Iterator[float]:
    if "policies" not in rules:
        yield 15.0
    for policy in rules.get("policies", ()):
        yield policy["periodSeconds"]
    yield rules.get("stabilizationWindowSeconds", 0)


def behaviors(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for step in scenario.steps:
        for subject in step.situation.subjects:
            if "behavior" in subject.spec:
                yield subject.spec["behavior"]


def test_there_are_enough_by_hand_and_their_names_are_their_own():
    names = [each.name for each in EVERY]
    assert len(set(names)) == len(names)
    assert len(by_hand()) >= 200


@pytest.mark.parametrize("scenario", EVERY, ids=lambda each: each.name)
def test_no_window_and_no_period_ends_while_a_scenario_looks(scenario):
    if scenario.name in ABOUT_DEFAULTS:
        assert sum(step.looks for step in scenario.steps) * SYNC_PERIOD_SECONDS < 15
        return
    for behavior in behaviors(scenario):
        for side in ("scaleUp", "scaleDown"):
            for seconds in seconds_of(behavior.get(side, {})):
                is_past = seconds < SYNC_PERIOD_SECONDS * 0.7
                assert is_past or seconds >= OUTLIVES_SECONDS, (side, seconds)


def test_a_seed_gives_the_same_scenarios_again_and_another_one_others():
    first, again = random_scenarios(count=20, seed=3), random_scenarios(count=20, seed=3)
    other = random_scenarios(count=20, seed=4)
    assert first == again
    assert [each.steps for each in first] != [each.steps for each in other]


def test_more_random_scenarios_begin_with_the_same_ones():
    assert random_scenarios(count=20, seed=3)[:5] == random_scenarios(count=5, seed=3)
