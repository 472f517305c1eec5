"""What a look adds to the memory."""

import pytest

from scaler.model.memory import Memory
from scaler.normalize.history import seeded, with_scale_event
from scaler.normalize.rules import Rules
from tests.unit.scaler.objects import NOW, at_most, events, recommended

MINUTE = Rules(
    window_seconds=0,
    select_policy="Max",
    policies=(at_most("Pods", 1, 15), at_most("Pods", 4, 60)),
)


def test_a_first_look_remembers_the_count_it_found():
    [first] = seeded(Memory(), replicas=7, now_unix_seconds=NOW).recommendations or ()
    assert (first.replicas, first.made_at_unix_seconds) == (7, NOW)


@pytest.mark.parametrize("memory", [recommended((3, 10)), Memory(recommendations=())])
def test_a_later_look_does_not(memory):
    assert seeded(memory, replicas=7, now_unix_seconds=NOW) == memory


def logged(ups, *, before=3, after=5):
    memory = Memory(scale_up_events=ups)
    return with_scale_event(memory, before=before, after=after, rules=MINUTE, now_unix_seconds=NOW)


@pytest.mark.parametrize(
    ("ups", "changes"),
    [
        pytest.param(events(), [2], id="first"),
        pytest.param(events((9, 10)), [9, 2], id="appended"),
        pytest.param(events((9, 60)), [9, 2], id="exactly the longest period is still used"),
        pytest.param(events((9, 61)), [2], id="an old slot is used again"),
        pytest.param(events((9, 70), (8, 61), (7, 10)), [9, 2, 7], id="the last of the old ones"),
    ],
)
def test_a_change_is_logged_by_its_size(ups, changes):
    assert [each.replica_change for each in logged(ups).scale_up_events] == changes


def test_an_old_event_that_keeps_its_slot_is_marked():
    marks = [each.outdated for each in logged(events((9, 70), (8, 61), (7, 10))).scale_up_events]
    assert marks == [True, False, False]


def test_a_smaller_count_is_logged_downwards():
    found = logged(events((9, 10)), before=5, after=3)
    assert [each.replica_change for each in found.scale_down_events] == [2]
    assert found.scale_up_events == events((9, 10))
