"""Due times that have changed are not kept for long."""

from scaler.control.workqueue import OUTDATED_RATIO_MAX, WorkQueue

HOUR_SECONDS = 3600.0


def test_a_key_with_a_long_period_that_is_brought_forward_each_second_leaves_no_due_times_behind():
    queue = WorkQueue(15.0)
    queue.add("ns/a", "8f1d", 0.0, period_seconds=HOUR_SECONDS)
    queue.add("ns/b", "8f1d", 0.0, period_seconds=HOUR_SECONDS)
    now = queue.next_due_seconds
    for _ in range(1000):
        now += 2.0
        queue.bring_forward("ns/a", now)
        while (found := queue.get(now)) is not None:
            queue.done(found[0], now, requeue=True)
    assert len(queue._heap) <= OUTDATED_RATIO_MAX * len(queue)
    assert queue.next_due_seconds is not None
    assert {queue.get(now + HOUR_SECONDS)[0] for _ in range(2)} == {"ns/a", "ns/b"}
