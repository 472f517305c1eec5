"""Waiting ends when the answer is true, or in time."""

import pytest

from testbed.waiting import NotInTime, until


def test_the_first_true_answer_is_returned():
    answers = iter([None, 0, "", "there"])
    assert until(lambda: next(answers), what="it", every_seconds=0) == "there"


def test_a_failed_assertion_means_not_yet():
    seen: list[int] = []

    def three_times() -> bool:
        seen.append(1)
        assert len(seen) == 3
        return True

    assert until(three_times, what="three", every_seconds=0)


def test_it_gives_up_in_time_and_shows_the_last_answer():
    def never() -> bool:
        raise AssertionError("2 of 4 pods")

    with pytest.raises(NotInTime, match=r"waited 0 s for all pods; at last: 2 of 4 pods"):
        until(never, what="all pods", deadline_seconds=0)


def test_a_condition_is_asked_at_least_once():
    assert until(lambda: True, what="it", deadline_seconds=0)


def test_any_other_error_ends_the_waiting():
    def broken() -> bool:
        raise KeyError("status")

    with pytest.raises(KeyError):
        until(broken, what="it")
