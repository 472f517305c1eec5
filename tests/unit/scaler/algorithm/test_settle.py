"""What the target has after a reconcile, and what belongs to a zero of the controller."""

import pytest

from scaler.algorithm.decision import (
    ErrorClass,
    Event,
    EventType,
    NotNeeded,
    Rescaled,
    RescaleFailed,
    warning,
)
from scaler.algorithm.draft import Ask, Draft
from scaler.algorithm.guard import undecided
from scaler.algorithm.memory import Memory
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import replicas_after, settle
from tests.unit.scaler.objects import FLAGS, NOW, decided, observed, spec


@pytest.mark.parametrize(
    ("value_milli", "actuation", "replicas"),
    [
        pytest.param(50_000, Rescaled(), 5, id="scaled"),
        pytest.param(30_000, NotNeeded(), 3, id="kept"),
        pytest.param(50_000, RescaleFailed("forbidden"), 3, id="refused"),
        pytest.param(50_000, RescaleFailed("lost", may_be_applied=True), 3, id="no response"),
    ],
)
def test_the_count_after_a_reconcile_is_what_was_certainly_written(
    value_milli, actuation, replicas
):
    decision = decided(
        observed(spec(), replicas=3), [ExternalValues((value_milli,))], memory=Memory()
    )
    assert replicas_after(settle(decision, actuation, NOW)) == replicas


@pytest.mark.deviation("users-zero")
@pytest.mark.parametrize(
    ("replicas", "is_own"),
    [
        pytest.param(0, True, id="still zero"),
        pytest.param(1, False, id="one by now"),
        pytest.param(3, False, id="several by now"),
    ],
)
def test_a_zero_that_a_user_has_ended_is_not_the_controllers_any_more(replicas, is_own):
    """A later zero is the user's."""
    settings = Settings(scale_to_zero=True)
    of = spec(min_replicas=0)
    planned = plan(observed(of, replicas=replicas), Memory(scaled_to_zero=True), settings, NOW)
    assert isinstance(planned, Ask)
    assert planned.turn.memory.scaled_to_zero is is_own


def test_the_events_of_failures_come_before_those_of_extensions():
    planned = plan(observed(spec(), replicas=3), Memory(), FLAGS, NOW)
    draft = Draft(planned.turn)
    of_extensions = [
        Event(type=EventType.NORMAL, reason=reason, message="") for reason in ("First", "Second")
    ]
    draft.events.extend(of_extensions)
    failure = warning("FailedGetExternalMetric", "down")
    decision = undecided(
        draft, error="down", error_class=ErrorClass.INTERNAL, problem=None, events=(failure,)
    )
    assert decision.events == (failure, *of_extensions)
