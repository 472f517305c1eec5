"""Waiting ends when the condition is true or at the deadline."""

import pytest

from testbed.waiting import DeadlineExceeded, holds, pause_seconds, until


def test_the_first_true_result_is_returned():
    results = iter([None, 0, "", "there"])
    assert until(lambda: next(results), what="it", every_seconds=0) == "there"


def test_a_failed_assertion_means_not_yet():
    seen: list[int] = []

    def three_times() -> bool:
        seen.append(1)
        assert len(seen) == 3
        return True

    assert until(three_times, what="three", every_seconds=0)


def test_it_fails_at_the_deadline_and_shows_the_last_result():
    def never() -> bool:
        raise AssertionError("2 of 4 pods")

    with pytest.raises(DeadlineExceeded, match=r"waited 0 s for all pods; at last: 2 of 4 pods"):
        until(never, what="all pods", deadline_seconds=0)


def test_the_condition_is_evaluated_at_least_once():
    assert until(lambda: True, what="it", deadline_seconds=0)


def test_any_other_exception_is_raised_at_once():
    def broken() -> bool:
        raise KeyError("status")

    with pytest.raises(KeyError):
        until(broken, what="it")


def test_a_condition_that_stays_true_holds():
    holds(lambda: True, seconds=0.02, every_seconds=0.001)


def test_a_condition_that_becomes_false_does_not_hold():
    results = iter([True, True, False])
    with pytest.raises(AssertionError, match="does not hold any more"):
        holds(lambda: next(results), seconds=5, every_seconds=0)


@pytest.mark.parametrize(
    ("waited_seconds", "expected"),
    [(0.0, 0.05), (1.0, 0.05), (4.0, 0.2), (10.0, 0.5), (300.0, 0.5)],
)
def test_a_condition_that_takes_long_is_tried_less_often(waited_seconds, expected):
    assert pause_seconds(waited_seconds) == pytest.approx(expected)
