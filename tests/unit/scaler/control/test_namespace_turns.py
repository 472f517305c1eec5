"""While the event loop has more to do than time, the namespaces take turns: one with long reconciles delays its own autoscalers."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.control.workqueue import WorkQueue

PERIOD_SECONDS = 15.0

Began = tuple[str, float, float]
"""A key, when it was due, and when its reconcile began."""


def filled(counts: dict[str, int]) -> WorkQueue:
    """So many autoscalers of each namespace, with moments that are spread over the period."""
    queue = WorkQueue(PERIOD_SECONDS)
    for namespace, count in counts.items():
        for number in range(count):
            queue.add(f"{namespace}/{number}", f"{namespace}-{number}", 0.0)
    return queue


def run(
    queue: WorkQueue,
    work_seconds: Callable[[str], float],
    *,
    from_seconds: float = 0.0,
    to_seconds: float,
) -> list[Began]:
    """One reconcile after the other."""
    began, now = list[Began](), from_seconds
    while now < to_seconds:
        found = queue.get(now)
        if found is None:
            due_seconds = queue.next_due_seconds
            now = to_seconds if due_seconds is None else due_seconds
            continue
        key, due_seconds = found
        began.append((key, due_seconds, now))
        work = work_seconds(key.partition("/")[0])
        now += work
        queue.done(key, now, requeue=True, work_seconds=work)
    return began


def of(namespace: str, began: list[Began]) -> list[Began]:
    return [each for each in began if each[0].startswith(f"{namespace}/")]


def time_of(namespace: str, began: list[Began], work_seconds: float) -> float:
    return len(of(namespace, began)) * work_seconds


@pytest.mark.deviation("work-share")
def test_a_namespace_that_takes_all_the_time_delays_others_by_a_reconcile():
    queue = filled({"large": 400, "small": 20})
    works = {"large": 0.072, "small": 0.001}
    began = run(queue, works.__getitem__, to_seconds=300.0)
    delays = [at - due for _, due, at in of("small", began)]
    assert max(delays) <= 0.072 + 0.005
    assert len(delays) == 20 * 20
    rounds = Counter(key for key, _, _ in of("large", began))
    assert len(rounds) == 400, "each of them has its turn"
    assert min(rounds.values()) >= 8


def test_two_namespaces_that_would_take_all_the_time_have_half_each():
    queue = filled({"a": 400, "b": 4_000})
    works = {"a": 0.1, "b": 0.01}
    began = run(queue, works.__getitem__, to_seconds=200.0)
    later = [each for each in began if each[2] > 20]
    assert time_of("a", later, 0.1) == pytest.approx(90, rel=0.05)
    assert time_of("b", later, 0.01) == pytest.approx(90, rel=0.05)


@pytest.mark.parametrize("first", ["a", "b"])
def test_what_a_namespace_had_while_no_other_waited_does_not_count(first):
    """Neither does what it left to others."""
    second = "b" if first == "a" else "a"
    queue = filled({first: 300})
    run(queue, lambda _: 0.1, to_seconds=3_600.0)
    for number in range(300):
        queue.add(f"{second}/{number}", f"{number}", 3_600.0)
    began = run(queue, lambda _: 0.1, from_seconds=3_600.0, to_seconds=3_720.0)
    later = [each for each in began if each[2] > 3_620.0]
    assert time_of(first, later, 0.1) == pytest.approx(50, rel=0.05)


def test_an_autoscaler_that_is_created_again_and_again_takes_time_of_its_namespace():
    queue = filled({"small": 20})
    delays, now = list[float](), 0.0
    for number in range(1_000):
        for copy in range(4):
            queue.add(f"large/{number}-{copy}", "", now, within_seconds=0.0)
        while (found := queue.get(now)) is not None:
            key, due_seconds = found
            is_large = key.startswith("large")
            now += 0.2 if is_large else 0.001
            if not is_large:
                delays.append(now - due_seconds)
            queue.done(key, now, requeue=not is_large, work_seconds=0.2 if is_large else 0.001)
    assert max(delays) <= 0.2 + 0.01


@given(
    st.lists(st.floats(0, 0.2), min_size=1, max_size=30),
    st.integers(1, 60),
)
def test_within_a_namespace_the_one_that_has_been_due_for_longest_is_next(works, count):
    queue = filled({"only": count})
    left = iter(works * 10)
    began = run(queue, lambda _: next(left, 0.01), to_seconds=60.0)
    due = [each[1] for each in began]
    assert due == sorted(due)
    assert len({key for key, _, _ in began}) == count


def test_nothing_is_kept_of_namespaces_without_anything_due():
    queue = filled({f"ns{number}": 2 for number in range(100)})
    assert len(run(queue, lambda _: 0.01, to_seconds=90.0)) == 1_200
    assert len(queue._turns) <= 2
    assert queue.get(120.0) is not None
    assert len(queue._turns) == 100
    queue.remove(lambda _: True)
    assert queue.next_due_seconds is None
    assert queue.get(120.0) is None
    assert len(queue._turns) == 0


def test_what_is_due_stays_due_while_another_namespace_has_its_turn():
    queue = filled({"a": 3, "b": 3})
    found = [queue.get(30.0) for _ in range(7)]
    assert {each[0] for each in found if each} == {f"{name}/{n}" for name in "ab" for n in range(3)}
    assert found[-1] is None


def test_one_long_reconcile_delays_its_namespace_by_no_more_than_a_period_however_many_wait():
    queue = filled({f"ns{number}": 10 for number in range(300)} | {"slow": 1})
    works = iter([0.001, 0.001, 2.0])
    began = run(
        queue,
        lambda namespace: next(works, 0.001) if namespace == "slow" else 0.01,
        to_seconds=600.0,
    )
    times = [at for _, _, at in of("slow", began)]
    assert max(later - at for at, later in pairwise(times)) <= 2 * PERIOD_SECONDS + 2.0
