"""What several attempts at one scenario say together."""

import msgspec
import pytest

from testbed.differential.scaler.lockstep import Disturbed
from testbed.differential.scaler.observed_state import Difference
from testbed.differential.scaler.scenario_runner import (
    Result,
    check_answered,
    confirmed,
    disturbed,
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


def test_a_difference_is_looked_for_again():
    found = confirmed(DISTURBED, DIFFERENT)
    assert found.is_preliminary
    assert found.unconfirmed == DIFFERENT.differences
    assert found.disturbances == ("too slow",)


def test_a_difference_that_is_found_twice_is_final():
    found = confirmed(confirmed(EQUAL, DIFFERENT), DIFFERENT)
    assert not found.is_preliminary
    assert found.differences == DIFFERENT.differences
    assert found.unconfirmed == ()


def test_after_a_difference_all_other_attempts_are_made():
    found = confirmed(confirmed(confirmed(EQUAL, DIFFERENT), EQUAL), EQUAL)
    assert (found.is_preliminary, found.differences) == (True, ())
    assert found.unconfirmed == DIFFERENT.differences
    found = confirmed(found, DIFFERENT)
    assert (found.is_preliminary, found.differences) == (False, DIFFERENT.differences)


def test_a_scenario_that_was_disturbed_ends_with_its_next_attempt():
    disturbed = msgspec.structs.replace(DISTURBED, is_preliminary=True)
    found = confirmed(disturbed, EQUAL)
    assert (found.is_preliminary, found.error, found.disturbances) == (False, "", ("too slow",))


def test_an_attempt_that_is_disturbed_after_one_without_differences_is_not_an_error():
    found = disturbed(confirmed(confirmed(EQUAL, DIFFERENT), EQUAL), "too slow")
    assert (found.is_preliminary, found.error, found.differences) == (True, "", ())
    assert found.disturbances == ("too slow",)


def test_a_difference_that_no_other_attempt_could_look_for_is_final():
    found = disturbed(confirmed(EQUAL, DIFFERENT), "too slow")
    assert (found.error, found.differences) == ("too slow", DIFFERENT.differences)


ONCE = Result(scenario=SCENARIO, unconfirmed=DIFFERENT.differences)


@pytest.mark.parametrize(("count", "accidents"), [(3, 2), (100, 5)])
def test_a_few_differences_may_be_found_only_once(count, accidents):
    results = [ONCE] * accidents + [EQUAL] * (count - accidents)
    assert unexplained_once(results) == []
    results[-1] = ONCE
    assert len(unexplained_once(results)) == accidents + 1


def test_a_difference_that_is_found_twice_is_not_reported_as_found_once():
    assert unexplained_once([DIFFERENT]) == []


LATE = "unable to fetch metrics from external metrics API: no answer within 5s"


def of_condition(upstream, loadline):
    return Difference(
        scenario="s", step="1.1", what="web: condition ScalingActive", upstream=upstream, loadline=loadline
    )  # fmt: skip


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(of_condition(("True", "ok"), ("False", LATE)), id="of Loadline"),
        pytest.param(of_condition([("Warning", LATE)], []), id="upstream's, in an event"),
    ],
)
def test_a_difference_whose_cause_is_a_slow_testbed_is_not_counted(found):
    with pytest.raises(Disturbed, match="no answer within"):
        check_answered([of_condition("a", "b"), found])


def test_a_failure_that_both_sides_report_is_compared():
    check_answered([of_condition("a", "b"), of_condition(("False", LATE), ("True", LATE))])
