"""The steps of a candidate, and what stops it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.candidate.progress import blended, progressed
from scaler.extensions.candidate.rules import AbortRule, CandidateRules
from scaler.extensions.candidate.state import CandidateState
from tests.unit.scaler.objects import NOW, effective, few_examples, spec

ERRORS = AbortRule(name="error_ratio", above_milli=10, below_milli=None, for_seconds=120.0)
UPTIME = AbortRule(name="uptime", above_milli=None, below_milli=999, for_seconds=0.0)
RULES = CandidateRules(
    hash="a",
    policy=effective(spec()),
    metrics=(),
    abort_metrics=(),
    is_shadow=False,
    steps=((10, 1800.0), (100, 3600.0)),
    abort_when=(ERRORS,),
)
NEW = CandidateState(hash="a")


def run(*reconciles, rules=RULES, memory=NEW, period=15.0):
    """(seconds, value of the error ratio or None) one after the other; the last progress."""
    found = None
    for seconds, *values in reconciles:
        found = progressed(
            rules,
            memory,
            values,
            period_seconds=period,
            failure="",
            was_applied=True,
            now_unix_seconds=NOW + seconds,
        )
        memory = found.memory
    return found


def every_15_seconds(until, value=0):
    return [(seconds, value) for seconds in range(0, until + 1, 15)]


@pytest.mark.parametrize(
    ("seconds", "weight", "reason"),
    [
        pytest.param(0, 10, "Progressing", id="at once"),
        pytest.param(1785, 10, "Progressing", id="the first step is held"),
        pytest.param(1800, 100, "Progressing", id="the second step"),
        pytest.param(5385, 100, "Progressing", id="is held"),
        pytest.param(5400, 100, "Completed", id="after the last step it keeps its share"),
        pytest.param(90_000, 100, "Completed", id="indefinitely"),
    ],
)
def test_the_share_grows_by_steps(seconds, weight, reason):
    found = run(*every_15_seconds(seconds))
    assert (found.weight_percent, found.reason) == (weight, reason)


@pytest.mark.parametrize(
    ("values", "aborted"),
    [
        pytest.param([11] * 9, True, id="above the limit for two minutes"),
        pytest.param([11] * 8, False, id="not yet"),
        pytest.param([11] * 4 + [10] + [11] * 8, False, id="at the limit in between"),
        pytest.param([11] * 4 + [None] + [11] * 4, True, id="unknown in between"),
        pytest.param([11] * 4 + [None] * 9, False, id="unknown at the end"),
    ],
)
def test_a_metric_above_its_limit_for_some_time_aborts(values, aborted):
    found = run(*((15 * index, value) for index, value in enumerate(values)))
    assert (found.reason == "Aborted") is aborted
    if aborted:
        assert found.weight_percent == 0
        assert "error_ratio is 11m, and has been above 10m for 120 s" in found.message


def test_a_metric_below_its_limit_aborts():
    rules = msgspec.structs.replace(RULES, abort_when=(UPTIME,))
    found = run((0, 998), rules=rules)
    assert "uptime is 998m, and has been below 999m for 0 s" in found.message


def test_an_aborted_candidate_never_decides_again():
    aborted = run(*every_15_seconds(120, value=11)).memory
    later = run(*every_15_seconds(86_400), memory=aborted)
    assert (later.weight_percent, later.reason) == (0, "Aborted")


@pytest.mark.parametrize("value", [None])
def test_while_a_condition_is_unknown_the_spec_decides_and_the_step_waits(value):
    found = run(*every_15_seconds(1785), *((1785 + s, value) for s in range(15, 601, 15)))
    assert (found.weight_percent, found.reason) == (0, "AbortMetricFailed")
    assert "while error_ratio of abortWhen has no value" in found.message
    again = run((2400, 0), memory=found.memory)
    assert (again.weight_percent, again.memory.step) == (100, 1)
    assert again.memory.held_seconds == 0


def test_while_the_candidate_cannot_decide_the_spec_does():
    found = progressed(
        RULES,
        NEW,
        [0],
        period_seconds=15.0,
        failure="no value",
        was_applied=True,
        now_unix_seconds=NOW,
    )
    assert (found.weight_percent, found.reason) == (0, "CandidateFailed")


def test_a_time_without_reconciles_is_not_held():
    """The scaler was restarted an hour later: nothing watched the candidate meanwhile."""
    found = run((0, 0), (3600, 0))
    assert found.memory.held_seconds == 45


def test_a_shadow_never_gets_a_share_and_never_a_step():
    rules = msgspec.structs.replace(RULES, is_shadow=True)
    found = run(*every_15_seconds(7200), rules=rules)
    assert (found.weight_percent, found.reason, found.memory.step) == (0, "DryRun", 0)


@few_examples
@given(of_spec=st.integers(0, 500), of_candidate=st.integers(0, 500), weight=st.integers(0, 100))
def test_the_blend_lies_between_both_decisions(of_spec, of_candidate, weight):
    found = blended(of_spec, of_candidate, weight)
    assert min(of_spec, of_candidate) <= found <= max(of_spec, of_candidate)
    assert blended(of_spec, of_candidate, 0) == of_spec
    assert blended(of_spec, of_candidate, 100) == of_candidate


@pytest.mark.parametrize(
    ("of_spec", "of_candidate", "weight", "expected"),
    [
        (10, 20, 10, 11),
        (10, 13, 10, 11),
        (20, 10, 10, 19),
        (13, 10, 10, 13),
        (4, 5, 50, 5),
        (5, 4, 50, 5),
    ],
)
def test_a_part_of_a_replica_is_a_replica(of_spec, of_candidate, weight, expected):
    assert blended(of_spec, of_candidate, weight) == expected
