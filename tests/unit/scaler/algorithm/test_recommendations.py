"""What a reconcile adds to the memory."""

import msgspec
import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Rules
from scaler.algorithm.recommendations import held, seeded, with_recommendation, with_scale_event
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from tests.unit.scaler.objects import NOW, at_most, effective, events, recommended, spec, step

MINUTE = Rules(
    window_seconds=0,
    select_policy="Max",
    policies=(at_most("Pods", 1, 15), at_most("Pods", 4, 60)),
)


def test_the_first_reconcile_remembers_the_current_count():
    [first] = seeded(Memory(), replicas=7, now_unix_seconds=NOW).recommendations or ()
    assert (first.replicas, first.until_unix_seconds) == (7, NOW)


@pytest.mark.parametrize("memory", [recommended((3, 10)), Memory(recommendations=())])
def test_a_later_reconcile_does_not(memory):
    assert seeded(memory, replicas=7, now_unix_seconds=NOW) == memory


def remembered(memory, replicas, *, window_seconds=300):
    found = with_recommendation(
        memory,
        replicas=replicas,
        before_unix_seconds=NOW - window_seconds,
        now_unix_seconds=NOW,
    )
    return found.recommendations


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], [(3, 0, 0)], id="the first"),
        pytest.param([(3, 15, 60)], [(3, 0, 75)], id="the same count extends its step"),
        pytest.param([(8, 15, 60)], [(8, 15, 60), (3, 0, 0)], id="another count begins a step"),
        pytest.param([(8, 300, 0)], [(8, 300, 0), (3, 0, 0)], id="exactly the window still counts"),
        pytest.param([(8, 301, 0)], [(3, 0, 0)], id="older than the window is forgotten"),
        pytest.param([(8, 400, 0), (3, 15, 0)], [(3, 0, 15)], id="also while the last step is extended"),
        pytest.param([(8, 60, 0), (9, 30, 0)], [(9, 30, 0), (3, 0, 0)], id="outdone by a later and higher one"),
        pytest.param([(1, 60, 0), (2, 30, 0), (9, 15, 0)], [(1, 60, 0), (2, 30, 0), (9, 15, 0), (3, 0, 0)], id="rising, each is the lowest of some window"),
    ],
)  # fmt: skip
def test_only_steps_that_can_still_decide_are_remembered(before, after):
    def steps(entries):
        return tuple(step(count, ago, lasted_seconds=lasted) for count, ago, lasted in entries)

    assert remembered(Memory(recommendations=steps(before)), 3) == steps(after)


def test_a_steady_hour_is_one_step():
    memory = Memory()
    for tick in range(240):
        now = NOW + 15 * tick
        memory = with_recommendation(
            memory, replicas=3, before_unix_seconds=now - 300, now_unix_seconds=now
        )
    [only] = memory.recommendations or ()
    assert (only.since_unix_seconds, only.until_unix_seconds) == (NOW, NOW + 239 * 15)


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


@pytest.mark.parametrize("replicas", [(3,), (3, 2), (4, 3, 2)])
def test_while_nothing_is_recommended_the_last_step_alone_lasts_longer(replicas):
    memory = recommended(*((each, 60 - i) for i, each in enumerate(replicas)))
    found = held(memory, effective(spec(), Settings(kind=LOAD_AUTOSCALERS)), NOW).recommendations
    assert found[:-1] == memory.recommendations[:-1]
    assert found[-1] == msgspec.structs.replace(memory.recommendations[-1], until_unix_seconds=NOW)
