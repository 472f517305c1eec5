"""What fails the same way at each reconcile is reported once."""

import pytest

from scaler.control.repetition import REPEAT_SECONDS, Repetition


def reported(repetition: Repetition, *reports: str, now_seconds: float = 0.0) -> list[str]:
    """What one reconcile lets through."""
    found = [each for each in reports if repetition.note(each, now_seconds)]
    repetition.finish()
    return found


def test_an_unchanged_failure_is_reported_once():
    repetition = Repetition()
    assert reported(repetition, "down", "no metric") == ["down", "no metric"]
    assert reported(repetition, "down", "no metric") == []


def test_another_failure_is_reported():
    repetition = Repetition()
    reported(repetition, "down")
    assert reported(repetition, "down", "forbidden") == ["forbidden"]
    assert reported(repetition, "forbidden") == []


def test_a_failure_that_returns_after_a_reconcile_without_it_is_reported_again():
    repetition = Repetition()
    reported(repetition, "down")
    reported(repetition)
    assert reported(repetition, "down") == ["down"]


@pytest.mark.deviation("lasting-failures")
def test_a_failure_that_lasts_is_repeated_every_half_hour():
    repetition = Repetition()
    times = [period * 15.0 for period in range(4 * 60 + 1)]
    seen = [now for now in times if reported(repetition, "down", now_seconds=now)]
    assert seen == [0.0, REPEAT_SECONDS, 2 * REPEAT_SECONDS]


def test_the_end_of_all_failures_is_known():
    repetition = Repetition()
    repetition.note("down", 0.0)
    assert not repetition.finish()
    assert repetition.finish()
    assert not repetition.finish()
