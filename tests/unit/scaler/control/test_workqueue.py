"""When an autoscaler is due for its next reconcile."""

import itertools
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.control.workqueue import WorkQueue

PERIOD_SECONDS = 15.0


# Its moment is the start of each period: 0 s, 15 s, 30 s ...
UID = ""


def workqueue() -> WorkQueue:
    return WorkQueue(PERIOD_SECONDS)


def test_the_first_reconcile_is_within_one_period_after_an_autoscaler_appears():
    queue = workqueue()
    queue.add("ns/a", UID, 100.0)
    assert queue.get(104.9) is None
    assert queue.get(105.0) == ("ns/a", 105.0)


def test_an_autoscaler_that_appears_at_its_own_moment_is_due_one_period_later():
    queue = workqueue()
    queue.add("ns/a", UID, 30.0)
    assert queue.next_due_seconds == 45.0


@pytest.mark.deviation("steady-period")
@pytest.mark.parametrize("created_at_seconds", [0.0, 1234.5])
def test_a_thousand_autoscalers_created_together_are_spread_over_the_period(created_at_seconds):
    queue = workqueue()
    generator = random.Random(7)
    for number in range(1000):
        uid = str(uuid.UUID(int=generator.getrandbits(128)))
        queue.add(f"ns/{number}", uid, created_at_seconds)
    per_second = [0] * 15
    for second in range(15):
        while queue.get(created_at_seconds + second + 1) is not None:
            per_second[second] += 1
    assert sum(per_second) == 1000
    assert 40 <= min(per_second) <= max(per_second) <= 100


def test_autoscalers_that_are_taken_over_are_reconciled_sooner_once_and_then_at_their_moments():
    usual, sooner = workqueue(), workqueue()
    generator = random.Random(7)
    for number in range(300):
        uid = str(uuid.UUID(int=generator.getrandbits(128)))
        usual.add(f"ns/{number}", uid, 100.0)
        sooner.add(f"ns/{number}", uid, 100.0, within_seconds=3.0)
    moments = taken(usual, 100.0 + PERIOD_SECONDS)
    first = taken(sooner, 103.0)
    assert len(first) == 300
    per_second = [sum(int(due - 100.0) == second for due in first.values()) for second in range(3)]
    assert 70 <= min(per_second) <= max(per_second) <= 130
    for key, due_seconds in taken(sooner, 103.0 + PERIOD_SECONDS).items():
        late_periods = (due_seconds - moments[key]) / PERIOD_SECONDS
        assert late_periods == pytest.approx(round(late_periods))


def taken(queue: WorkQueue, until_seconds: float) -> dict[str, float]:
    """The keys that are due until then, each once, with their due times."""
    found = {}
    while (item := queue.get(until_seconds)) is not None:
        key, due_seconds = item
        assert key not in found
        found[key] = due_seconds
    for key, due_seconds in found.items():
        queue.done(key, due_seconds + 0.01, requeue=True)
    return found


def test_an_autoscaler_keeps_its_moment_when_it_is_added_again():
    """As after a change of the leader."""
    first, second = workqueue(), workqueue()
    uid = "0f8e3c1a-5a53-4b8e-9f4e-2f1f4d1b7c55"
    first.add("ns/a", uid, 3.0)
    second.add("ns/a", uid, 100.0)
    assert first.next_due_seconds is not None
    assert second.next_due_seconds is not None
    periods = (second.next_due_seconds - first.next_due_seconds) / PERIOD_SECONDS
    assert periods == pytest.approx(round(periods))


def test_a_change_of_the_object_leaves_the_due_time_alone():
    queue = workqueue()
    queue.add("ns/a", UID, 100.0)
    queue.add("ns/a", UID, 104.0)
    assert queue.next_due_seconds == 105.0
    queue.get(105.0)
    assert queue.get(1_000.0) is None


def test_a_key_in_process_is_not_handed_out_again():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.get(15.0)
    queue.add("ns/a", UID, 15.0)
    assert queue.get(1_000.0) is None


@pytest.mark.deviation("steady-period")
def test_due_times_stay_a_period_apart_however_long_reconciles_take():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    due = []
    for end_seconds in (16.0, 44.0, 46.0):
        item = queue.get(end_seconds)
        assert item is not None
        due.append(item[1])
        queue.done("ns/a", end_seconds, requeue=True)
    assert due == [15.0, 30.0, 45.0]


def test_due_times_that_have_passed_are_skipped():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.get(15.0)
    queue.done("ns/a", 100.0, requeue=True)
    assert queue.next_due_seconds == 105.0


def test_a_due_time_right_after_a_reconcile_is_skipped():
    """That reconcile would read the autoscaler from before the status that this one wrote."""
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.get(15.0)
    queue.done("ns/a", 29.9, requeue=True)
    assert queue.next_due_seconds == 45.0


def test_a_deleted_autoscaler_leaves_the_queue():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.get(15.0)
    queue.done("ns/a", 15.1, requeue=False)
    assert (queue.next_due_seconds, len(queue)) == (None, 0)


def test_the_key_that_has_been_due_for_longest_comes_first():
    queue = workqueue()
    for name, added_at_seconds in (("b", 20.0), ("c", 35.0), ("a", 5.0)):
        queue.add(name, UID, added_at_seconds)
    assert [queue.get(100.0), queue.get(100.0)] == [("a", 15.0), ("b", 30.0)]


def test_only_the_removed_keys_leave_the_queue():
    queue = workqueue()
    for key in ("shop/a", "bank/a"):
        queue.add(key, UID, 0.0)
    queue.remove(lambda key: key.startswith("shop/"))
    assert queue.get(1_000.0) == ("bank/a", 15.0)
    assert queue.get(1_000.0) is None


def test_a_key_that_is_removed_while_it_is_processed_is_not_due_again():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.get(15.0)
    queue.remove(lambda _: True)
    queue.done("ns/a", 16.0, requeue=True)
    assert (queue.next_due_seconds, len(queue)) == (None, 0)
    queue.add("ns/a", UID, 17.0)
    queue.get(30.0)
    queue.done("ns/a", 31.0, requeue=True)
    assert queue.next_due_seconds == 45.0


def test_a_removed_key_can_be_added_again():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0)
    queue.remove(lambda _: True)
    assert queue.get(1_000.0) is None
    queue.add("ns/a", UID, 1_000.0)
    assert queue.get(1_005.0) == ("ns/a", 1_005.0)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 40), st.floats(0, 40)),
        min_size=1,
        max_size=60,
    )
)
def test_due_times_are_whole_periods_apart(steps):
    """Whatever is added when, and however long a reconcile takes; and no key is processed twice at once."""
    queue = workqueue()
    now_seconds = 0.0
    last_due: dict[str, float] = {}
    for key, wait_seconds, work_seconds in steps:
        queue.add(key, key, now_seconds)
        now_seconds += wait_seconds
        # At most three keys are due before the next step.
        for item in filter(None, (queue.get(now_seconds) for _ in "abc")):
            name, due_seconds = item
            assert due_seconds <= now_seconds
            if name in last_due:
                periods = (due_seconds - last_due[name]) / PERIOD_SECONDS
                assert round(periods) >= 1
                assert abs(periods - round(periods)) < 1e-6
            last_due[name] = due_seconds
            now_seconds += work_seconds
            queue.done(name, now_seconds, requeue=True)


@given(st.uuids(), st.floats(0, 1e6))
def test_an_autoscaler_with_a_long_period_is_first_due_within_that_of_the_queue(uid, now):
    queue = WorkQueue(15.0)
    queue.add("ns/a", str(uid), now, period_seconds=3600)
    first = queue.next_due_seconds
    assert now < first <= now + 15
    queue.get(first)
    queue.done("ns/a", first + 1, requeue=True)
    assert queue.next_due_seconds == first + 3600


def test_an_autoscaler_with_its_own_period_is_due_once_per_period_of_its_own():
    queue = workqueue()
    queue.add("ns/a", UID, 100.0, period_seconds=4)
    queue.add("ns/b", UID, 100.0)
    assert queue.get(104.0) == ("ns/a", 104.0)
    queue.done("ns/a", 104.1, requeue=True)
    assert queue.get(105.0) == ("ns/b", 105.0)
    assert queue.get(108.0) == ("ns/a", 108.0)


def test_a_deleted_autoscaler_leaves_no_period_behind():
    queue = workqueue()
    queue.add("ns/a", UID, 100.0, period_seconds=4)
    queue.get(104.0)
    queue.done("ns/a", 104.1, requeue=False)
    queue.add("ns/a", UID, 106.0)
    assert queue.next_due_seconds == 120.0


def in_phase(at_seconds: float) -> WorkQueue:
    """One key, which was reconciled at 15 s, and is due at 30 s, 45 s ..."""
    queue = workqueue()
    queue.add("ns/a", UID, 0.5)
    queue.get(15.0)
    queue.done("ns/a", 15.1, requeue=True)
    assert queue.next_due_seconds == 30.0
    assert at_seconds >= 15.1
    return queue


@pytest.mark.parametrize(
    ("changed_at_seconds", "due_seconds"),
    [
        pytest.param(15.2, 16.0, id="at the earliest a second after the last one began"),
        pytest.param(20.0, 20.0, id="at once"),
        pytest.param(29.9, 29.9, id="just before its time"),
        pytest.param(30.0, 30.0, id="when it is due anyway"),
    ],
)
def test_a_reconcile_that_is_brought_forward_leaves_the_later_ones_at_their_times(
    changed_at_seconds, due_seconds
):
    queue = in_phase(changed_at_seconds)
    brought_forward = queue.bring_forward("ns/a", changed_at_seconds)
    assert brought_forward == (changed_at_seconds < 30.0)
    assert queue.get(due_seconds) == ("ns/a", due_seconds)
    queue.done("ns/a", due_seconds + 0.01, requeue=True)
    following = 30.0 if due_seconds < 29.0 else 45.0
    assert queue.next_due_seconds == following, "but not just after it"
    assert queue.get(following) == ("ns/a", following)


def test_many_changes_cause_one_reconcile_a_second():
    queue = in_phase(20.0)
    began = []
    for tenth in range(200, 240):
        now = tenth / 10
        queue.bring_forward("ns/a", now)
        while queue.get(now):
            began.append(now)
            queue.done("ns/a", now, requeue=True)
    assert began == [20.0, 21.0, 22.0, 23.0]


def test_a_change_during_a_reconcile_causes_another_one_after_it():
    queue = in_phase(20.0)
    queue.bring_forward("ns/a", 20.0)
    queue.get(20.0)
    assert queue.bring_forward("ns/a", 20.1)
    assert queue.get(20.2) is None, "it is never reconciled twice at once"
    queue.done("ns/a", 20.2, requeue=True)
    assert queue.next_due_seconds == 21.0
    queue.get(21.0)
    queue.done("ns/a", 21.1, requeue=True)
    assert queue.next_due_seconds == 30.0


def test_a_change_during_a_reconcile_that_counts_later_causes_another_one_then():
    queue = in_phase(20.0)
    queue.bring_forward("ns/a", 20.0)
    queue.get(20.0)
    for to_seconds in (28.0, 25.0, 27.0):
        assert queue.bring_forward("ns/a", to_seconds)
    queue.done("ns/a", 20.2, requeue=True)
    assert queue.next_due_seconds == 25.0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_key_that_does_not_exist_is_not_brought_forward(when):
    queue = in_phase(20.0)
    if when == "after":
        queue.get(30.0)
        queue.done("ns/a", 30.1, requeue=False)
    key = "ns/b" if when == "before" else "ns/a"
    assert not queue.bring_forward(key, 30.2)
    assert len(queue) == (1 if when == "before" else 0)


@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.sampled_from(["change", "run"])), max_size=60),
    st.sampled_from([1.0, 5.0, 15.0]),
)
def test_whatever_changes_no_regular_reconcile_is_left_out(steps, period_seconds):
    """Between two reconciles there is at most a period, and the pause after one that was brought forward."""
    queue = WorkQueue(period_seconds)
    queue.add("ns/a", UID, 0.0)
    now, began, forward = 0.0, [], False
    for seconds, what in steps:
        end = now + seconds
        while (due := queue.next_due_seconds) is not None and due <= end:
            now = max(now, due)
            assert queue.get(now) is not None
            began.append(now)
            queue.done("ns/a", now, requeue=True)
        now = end
        if what == "change":
            forward = queue.bring_forward("ns/a", now) or forward
    gaps = [later - earlier for earlier, later in itertools.pairwise(began)]
    assert all(gap <= period_seconds * 1.05 + 1e-6 for gap in gaps)
    assert not began or began[0] <= period_seconds
    assert forward or all(gap == pytest.approx(period_seconds) for gap in gaps)
    assert all(gap >= min(1.0, 0.05 * period_seconds) - 1e-6 for gap in gaps)


HOUR_SECONDS = 3600.0


def test_an_error_under_a_long_period_is_tried_again_after_the_usual_one():
    queue = workqueue()
    queue.add("ns/a", UID, 0.0, period_seconds=HOUR_SECONDS)
    now = PERIOD_SECONDS
    assert queue.get(now) is not None
    for _ in range(3):
        queue.done("ns/a", now, requeue=True, is_retried=True)
        now += PERIOD_SECONDS
        assert queue.next_due_seconds == now
        assert queue.get(now) is not None
    queue.done("ns/a", now, requeue=True)
    assert queue.next_due_seconds == PERIOD_SECONDS + HOUR_SECONDS, "its usual moment"


def test_an_error_under_the_usual_or_a_shorter_period_waits_for_it():
    for period_seconds in (None, 5.0):
        queue = workqueue()
        queue.add("ns/a", UID, 0.0, period_seconds=period_seconds)
        first = queue.next_due_seconds
        queue.get(first)
        queue.done("ns/a", first + 1, requeue=True, is_retried=True)
        assert queue.next_due_seconds == first + (period_seconds or PERIOD_SECONDS)
