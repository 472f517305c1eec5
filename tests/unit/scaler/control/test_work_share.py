"""An autoscaler whose reconciles take much of the time of the event loop has fewer of them, so that it does not delay the others."""

import asyncio
import itertools
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.workqueue import WORK_SHARE_MAX, WorkQueue
from tests.fakes import virtual_time

# Its moment is the start of each period.
UID = ""
KEY = "ns/a"


def began_with(work_seconds: float, *, period_seconds: float, until_seconds: float) -> list[float]:
    """When its reconciles begin if each takes this much."""
    queue, began = WorkQueue(15.0), []
    queue.add(KEY, UID, 0.0, period_seconds=period_seconds)
    while (due_seconds := queue.next_due_seconds) is not None and due_seconds <= until_seconds:
        queue.get(due_seconds)
        began.append(due_seconds)
        queue.done(KEY, due_seconds + work_seconds, requeue=True, work_seconds=work_seconds)
    return began


@pytest.mark.deviation("work-share")
@pytest.mark.parametrize("period_seconds", [1.0, 15.0])
@pytest.mark.parametrize("work_seconds", [0.2, 2.0])
def test_the_work_for_one_autoscaler_takes_at_most_a_twentieth_of_the_time(
    work_seconds, period_seconds
):
    began = began_with(work_seconds, period_seconds=period_seconds, until_seconds=4_000.0)
    # The first ones may take more: one of them may have been slow by chance.
    share = len(began[5:]) * work_seconds / (4_000.0 - began[5])
    assert share <= WORK_SHARE_MAX * 1.05
    assert all(each % period_seconds == pytest.approx(0) for each in began)


@pytest.mark.parametrize(("work_seconds", "period_seconds"), [(0.045, 1.0), (0.7, 15.0)])
def test_every_period_has_its_reconcile_while_the_work_is_less(work_seconds, period_seconds):
    began = began_with(work_seconds, period_seconds=period_seconds, until_seconds=100.0)
    gaps = [later - earlier for earlier, later in itertools.pairwise(began)]
    assert gaps == pytest.approx([period_seconds] * len(gaps))


def rested() -> WorkQueue:
    """Ended at 2 s, after work of 2 s; the average is 1 s, so it rests for 19 s."""
    queue = WorkQueue(15.0)
    queue.add(KEY, UID, 0.0, period_seconds=1.0)
    queue.get(1.0)
    queue.done(KEY, 2.0, requeue=True, work_seconds=2.0)
    return queue


def test_a_changed_metric_spec_or_period_does_not_end_the_rest():
    queue = rested()
    queue.bring_forward(KEY, 3.0)
    queue.make_due(KEY, 4.0)
    assert queue.next_due_seconds == 21.0
    for period_seconds in (2.0, 1.0, 15.0):
        queue.add(KEY, UID, 5.0, period_seconds=period_seconds)
        assert queue.next_due_seconds is not None
        assert queue.next_due_seconds >= 21.0


def test_a_failure_is_not_retried_before_the_end_of_the_rest():
    queue = WorkQueue(1.0)
    queue.add(KEY, UID, 0.0, period_seconds=3_600.0)
    queue.get(1.0)
    queue.done(KEY, 2.0, requeue=True, is_retried=True, work_seconds=2.0)
    assert queue.next_due_seconds == 21.0


def test_after_one_slow_reconcile_the_rest_becomes_short_again():
    queue = rested()
    for _ in range(10):
        now = queue.next_due_seconds
        queue.get(now)
        queue.done(KEY, now, requeue=True)
    assert queue.next_due_seconds == now + 1.0


@given(st.lists(st.floats(0, 3), min_size=30, max_size=60))
def test_work_that_varies_takes_no_larger_share(works):
    queue = WorkQueue(15.0)
    queue.add(KEY, UID, 0.0, period_seconds=1.0)
    now = 0.0
    for work_seconds in works:
        now = queue.next_due_seconds
        queue.get(now)
        now += work_seconds
        queue.done(KEY, now, requeue=True, work_seconds=work_seconds)
    # A reconcile counts half in the first average that follows it, and a quarter in the next one.
    assert sum(works[:-10]) * (1 - 2**-10) <= WORK_SHARE_MAX * (now + 20)


@pytest.mark.parametrize("is_repeated", [False, True])
def test_the_work_of_a_reconcile_is_that_of_its_task(is_repeated, caplog):
    caplog.set_level(logging.INFO)
    worked_seconds = 0.0

    def monotonic() -> float:
        return asyncio.get_running_loop().time() + worked_seconds

    async def scenario() -> list[tuple[str, float]]:
        began: list[tuple[str, float]] = []

        def work(key: str) -> None:
            nonlocal worked_seconds
            began.append((key, monotonic()))
            worked_seconds += 0.2 if key == KEY else 0.0

        def repeat(key: str) -> bool:
            if is_repeated:
                work(key)
            return is_repeated

        async def reconcile(key: str) -> bool:
            await virtual_time.passes(0.01)
            work(key)
            return True

        running = Controller(
            WorkQueue(1.0),
            reconcile,
            Telemetry(),
            repeat=repeat,
            concurrent=5,
            monotonic=monotonic,
        )
        running.enqueue(KEY, UID)
        running.enqueue("ns/b", UID)
        try:
            async with asyncio.timeout(60):
                await running.run()
        except TimeoutError:
            return began
        raise AssertionError("it ended")

    began = virtual_time.run(scenario())
    of_both = [[round(seconds) for key, seconds in began if key == of] for of in (KEY, "ns/b")]
    assert of_both[0][:4] == [1, 4, 8, 12]
    assert of_both[1] == list(range(1, 1 + len(of_both[1])))
    message = "ns/a: its reconcile has occupied the event loop for 0.20 s"
    assert {each.split(", so")[0] for each in caplog.messages} == {message}
