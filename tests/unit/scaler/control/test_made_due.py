"""Keys that are due at once, in addition to the end of each period."""

from tests.unit.scaler.control.test_workqueue import UID, workqueue


def test_a_key_that_is_made_due_keeps_its_moment_and_needs_no_pause_since_the_last_reconcile():
    queue = workqueue()
    queue.add("ns/a", UID, 0.5)
    assert queue.get(15.0) == ("ns/a", 15.0)
    queue.done("ns/a", 15.1, requeue=True)
    for now in (15.2, 15.3, 22.0):
        queue.make_due("ns/a", now)
        assert queue.get(now) == ("ns/a", now)
        queue.done("ns/a", now, requeue=True)
    assert queue.next_due_seconds == 30.0


def test_a_key_that_is_made_due_while_it_is_processed_is_due_once_more_when_that_has_ended():
    queue = workqueue()
    queue.add("ns/a", UID, 0.5)
    queue.get(15.0)
    queue.make_due("ns/a", 16.0)
    queue.make_due("ns/a", 16.5)
    assert queue.get(17.0) is None
    queue.done("ns/a", 17.0, requeue=True)
    assert queue.get(17.0) == ("ns/a", 17.0)
    queue.done("ns/a", 18.0, requeue=True)
    assert queue.next_due_seconds == 30.0


def test_a_key_that_was_removed_or_is_unknown_is_not_made_due():
    queue = workqueue()
    queue.make_due("ns/b", 1.0)
    queue.add("ns/a", UID, 0.5)
    queue.get(15.0)
    queue.remove(lambda _: True)
    queue.make_due("ns/a", 16.0)
    queue.done("ns/a", 17.0, requeue=True)
    assert queue.next_due_seconds is None
