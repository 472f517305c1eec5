"""A process continues with the memory that another one stored."""

import pytest

from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.memory import StoredMemory
from scaler.algorithm.restart import TAKE_OVER_SECONDS, restored
from scaler.api.autoscaler import Behavior, ScaleDownRules
from scaler.api.history import History, Recommendation
from tests.unit.scaler.objects import FLAGS, NOW, spec

WINDOW = FLAGS.downscale_stabilization_seconds
PERIOD = FLAGS.sync_period_seconds


def remembered(replicas, *, known, stored_seconds_ago, recommended=2, **extra):
    """The recommendations after a restart, oldest first."""
    until = NOW - stored_seconds_ago
    step = Recommendation(
        replicas=recommended, since_unix_seconds=until - 30, until_unix_seconds=until
    )
    stored = StoredMemory(history=History(recommendations=(step,)), known_replicas=known)
    found = restored(
        stored, policy_of(spec(**extra), FLAGS), replicas=replicas, now_unix_seconds=NOW
    ).recommendations
    return [each.replicas for each in found or ()]


@pytest.mark.deviation("restart-memory")
@pytest.mark.parametrize("known", [(2,), (2, 1)])
def test_a_count_that_has_grown_since_the_memory_was_stored_is_remembered(known):
    """The writes of the memory failed: only the count shows what was recommended since."""
    assert remembered(3, known=known, stored_seconds_ago=WINDOW / 2) == [2, 3]


@pytest.mark.parametrize("known", [(), (3,), (3, 1), (5,)])
def test_a_count_that_is_stored_or_smaller_is_not_a_recommendation(known):
    assert remembered(3, known=known, stored_seconds_ago=WINDOW / 2) == [2]


def test_a_higher_recommendation_is_enough():
    found = remembered(3, known=(2,), stored_seconds_ago=WINDOW / 2, recommended=4)
    assert found == [4]


@pytest.mark.deviation("restart-memory")
def test_a_memory_that_would_have_been_stored_again_is_incomplete():
    """While a window holds replicas, the memory is stored again after half of it; so its writes have failed since."""
    latest = WINDOW / 2 + TAKE_OVER_SECONDS + 2 * PERIOD
    assert remembered(3, known=(3,), stored_seconds_ago=latest) == [2]
    assert remembered(3, known=(3,), stored_seconds_ago=latest + 1) == [2, 3]


@pytest.mark.deviation("restart-memory")
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param((15,), [13], id="the process went on to another count"),
        pytest.param((15, 13), [15], id="the process was scaling to its last recommendation"),
        pytest.param((), [15], id="no count is known"),
    ],
)
def test_an_old_recommendation_does_not_last_if_the_count_shows_that_the_process_went_on(
    known, expected
):
    """Its statuses could not be written for longer than the window, so only the count is known, and it is not scaled up again."""
    within = NOW - WINDOW
    stored = StoredMemory(
        history=History(
            recommendations=(
                Recommendation(
                    replicas=15, since_unix_seconds=NOW - 900, until_unix_seconds=NOW - 800
                ),
            )
        ),
        known_replicas=known,
    )
    found = restored(stored, policy_of(spec(), FLAGS), replicas=13, now_unix_seconds=NOW)
    steps = found.recommendations or ()
    assert [each.replicas for each in steps if each.until_unix_seconds > within] == expected


@pytest.mark.parametrize("window_seconds", [0, 20])
def test_a_memory_that_is_older_than_a_short_window_does_not_show_whether_the_process_ran(
    window_seconds,
):
    behavior = Behavior(scale_down=ScaleDownRules(stabilization_window_seconds=window_seconds))
    ago = window_seconds + PERIOD + 1
    assert remembered(3, known=(3,), stored_seconds_ago=ago, behavior=behavior) == [2, 3]


@pytest.mark.parametrize(
    ("stored_seconds_ago", "lasted_until_seconds_ago"),
    [
        pytest.param(PERIOD + 20, PERIOD, id="until the reconcile that it would have made last"),
        pytest.param(PERIOD - 5, PERIOD - 5, id="it has made that one"),
        pytest.param(-20, 0, id="its clock was ahead"),
    ],
)
def test_the_last_step_lasts_until_the_last_reconcile_of_the_other_process(
    stored_seconds_ago, lasted_until_seconds_ago
):
    until = NOW - stored_seconds_ago
    step = Recommendation(replicas=3, since_unix_seconds=NOW - 99, until_unix_seconds=until)
    stored = StoredMemory(history=History(recommendations=(step,)), known_replicas=(3,))
    found = restored(stored, policy_of(spec(), FLAGS), replicas=3, now_unix_seconds=NOW)
    [step] = found.recommendations
    assert step.until_unix_seconds == NOW - lasted_until_seconds_ago


@pytest.mark.parametrize(
    ("known", "change"),
    [
        pytest.param((), None, id="no count is known"),
        pytest.param((5,), None, id="as it was"),
        pytest.param((2, 5), None, id="as one of two counts"),
        pytest.param((2,), 3, id="changed since"),
        pytest.param((1, 4), 1, id="changed from the nearest"),
    ],
)
def test_policies_count_a_change_since_the_last_known_counts(known, change):
    behavior = Behavior(scale_down=ScaleDownRules(stabilization_window_seconds=60))
    found = restored(
        StoredMemory(history=History(), known_replicas=known),
        policy_of(spec(behavior=behavior), FLAGS),
        replicas=5,
        now_unix_seconds=NOW,
    )
    assert [each.replica_change for each in found.scale_up_events] == ([change] if change else [])
