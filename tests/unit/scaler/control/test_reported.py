"""What fails the same way at each reconcile is reported once."""

import pytest

from scaler.control.reported import REPEAT_SECONDS, Reported


def news(reported: Reported, *reports: str, now_seconds: float = 0.0) -> list[str]:
    """What one reconcile reports."""
    found = [each for each in reports if reported.note(each, now_seconds)]
    reported.finish()
    return found


def test_an_unchanged_failure_is_reported_once():
    reported = Reported()
    assert news(reported, "down", "no metric") == ["down", "no metric"]
    assert news(reported, "down", "no metric") == []


def test_another_failure_is_reported():
    reported = Reported()
    news(reported, "down")
    assert news(reported, "down", "forbidden") == ["forbidden"]
    assert news(reported, "forbidden") == []


def test_a_failure_that_returns_after_a_reconcile_without_it_is_reported_again():
    reported = Reported()
    news(reported, "down")
    news(reported)
    assert news(reported, "down") == ["down"]


@pytest.mark.deviation("lasting-failures")
def test_a_failure_that_lasts_is_repeated_every_half_hour():
    reported = Reported()
    times = [period * 15.0 for period in range(4 * 60 + 1)]
    seen = [now for now in times if news(reported, "down", now_seconds=now)]
    assert seen == [0.0, REPEAT_SECONDS, 2 * REPEAT_SECONDS]


def test_the_end_of_all_failures_is_known():
    reported = Reported()
    reported.note("down", 0.0)
    assert not reported.finish()
    assert reported.finish()
    assert not reported.finish()
