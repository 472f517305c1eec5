"""What several attempts at one scenario say together."""

import msgspec
import pytest

from testbed.differential.scaler.observed_state import Difference
from testbed.differential.scaler.scenario_runner import (
    UNCONFIRMED_MAX,
    Result,
    confirmed,
    unexplained_once,
)
from testbed.differential.scaler.scenarios.parts import scenario, spec, state

SCENARIO = scenario("s", "s", state(spec()))
DISTURBED = Result(scenario=SCENARIO, disturbances=("too slow",), error="too slow")
EQUAL = Result(scenario=SCENARIO)
DIFFERENT = Result(
    scenario=SCENARIO,
    differences=(Difference(scenario="s", step="1", what="web: events", upstream=1, loadline=2),),
)


def test_a_difference_is_looked_for_a_second_time():
    found = confirmed(DISTURBED, DIFFERENT)
    assert found.is_preliminary
    assert found.unconfirmed == DIFFERENT.differences
    assert found.disturbances == ("too slow",)


def test_a_difference_that_is_found_twice_is_final():
    found = confirmed(confirmed(EQUAL, DIFFERENT), DIFFERENT)
    assert not found.is_preliminary
    assert found.differences == DIFFERENT.differences
    assert found.unconfirmed == ()


def test_a_difference_that_is_not_found_again_is_reported_as_such():
    found = confirmed(confirmed(EQUAL, DIFFERENT), EQUAL)
    assert not found.is_preliminary
    assert found.differences == ()
    assert found.unconfirmed == DIFFERENT.differences


def test_a_scenario_that_was_disturbed_ends_with_its_next_attempt():
    disturbed = msgspec.structs.replace(DISTURBED, is_preliminary=True)
    found = confirmed(disturbed, EQUAL)
    assert (found.is_preliminary, found.error, found.disturbances) == (False, "", ("too slow",))


def once(what: str) -> Result:
    """The final result of a scenario with a difference that was not found again."""
    difference = Difference(scenario="s", step="1", what=what, upstream=1, loadline=2)
    return Result(scenario=SCENARIO, unconfirmed=(difference,))


@pytest.mark.parametrize(
    "what", ["web: replicas", "web: writes of the scale", "web: desiredReplicas"]
)
def test_after_a_difference_of_replicas_all_other_attempts_are_made(what):
    difference = Difference(scenario="s", step="1", what=what, upstream=1, loadline=2)
    different = Result(scenario=SCENARIO, differences=(difference,))
    found = confirmed(confirmed(confirmed(EQUAL, different), EQUAL), EQUAL)
    assert (found.is_preliminary, found.unconfirmed) == (True, (difference,))
    found = confirmed(found, different)
    assert (found.is_preliminary, found.differences) == (False, (difference,))


def test_a_few_differences_may_be_found_only_once():
    results = [once("web: events")] * UNCONFIRMED_MAX
    assert unexplained_once([EQUAL, *results]) == []


def test_many_differences_that_are_found_only_once_are_reported():
    results = [once("web: events")] * (UNCONFIRMED_MAX + 1)
    assert len(unexplained_once([EQUAL, *results])) == UNCONFIRMED_MAX + 1


def test_a_difference_that_is_found_twice_is_not_reported_as_found_once():
    assert unexplained_once([DIFFERENT]) == []
