"""When an autoscaler is due whose `syncPeriodSeconds` has changed."""

import pytest

from tests.unit.scaler.control.test_workqueue import UID, workqueue


@pytest.mark.parametrize(
    ("before", "after", "due_seconds"),
    [
        pytest.param(3600, 5, 105.0, id="a shorter period does not wait for the longer one"),
        pytest.param(None, 30, 105.0, id="a longer one begins with the next reconcile"),
        pytest.param(40, None, 105.0, id="back to the flag's"),
        pytest.param(40, 40, 105.0, id="the same"),
    ],
)
def test_a_changed_period_counts_at_once(before, after, due_seconds):
    queue = workqueue()
    queue.add("ns/a", UID, 100.0, period_seconds=before)
    queue.add("ns/a", UID, 102.0, period_seconds=after)
    assert queue.next_due_seconds == due_seconds


def test_a_period_that_changes_during_a_reconcile_counts_afterwards():
    queue = workqueue()
    queue.add("ns/a", UID, 100.0)
    assert queue.get(105.0) == ("ns/a", 105.0)
    queue.add("ns/a", UID, 105.5, period_seconds=4)
    assert queue.get(110.0) is None, "it is still being reconciled"
    queue.done("ns/a", 106.0, requeue=True)
    assert queue.next_due_seconds == 109.0


@pytest.mark.parametrize("is_due_again", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "due_seconds"),
    [
        pytest.param(3600, None, 115.0, id="the flag's"),
        pytest.param(3600, 40, 140.0, id="a shorter one"),
        pytest.param(40, 60, 55.0, id="a longer one begins with the next regular reconcile"),
        pytest.param(200, 150, 215.0, id="one that would end later"),
    ],
)
def test_a_period_that_changes_during_an_additional_reconcile_counts_from_its_beginning(
    before, after, due_seconds, is_due_again
):
    """Not from the end of the old period, which may be an hour later."""
    queue = workqueue()
    queue.add("ns/a", UID, 0.0, period_seconds=before)
    queue.get(15.0)
    queue.done("ns/a", 15.1, requeue=True)
    began_seconds = 100.0 if before > 50 else 20.0
    queue.bring_forward("ns/a", began_seconds)
    queue.get(began_seconds)
    queue.add("ns/a", UID, began_seconds + 0.5, period_seconds=after)
    if is_due_again:
        queue.make_due("ns/a", began_seconds + 0.5)
    queue.done("ns/a", began_seconds + 1, requeue=True)
    if is_due_again:
        assert queue.get(began_seconds + 1) == ("ns/a", began_seconds + 1)
        queue.done("ns/a", began_seconds + 1.1, requeue=True)
    assert queue.next_due_seconds == due_seconds
