"""What fails the same way at each reconcile is reported once."""

from scaler.cluster.repetition import REPEAT_SECONDS, Repetition

KEY = "shop/web"


def reported(repetition: Repetition, *reports: str, now_seconds: float = 0.0) -> list[str]:
    """What one reconcile lets through."""
    found = [each for each in reports if repetition.is_news(KEY, each, now_seconds)]
    repetition.finish(KEY)
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


def test_a_failure_that_lasts_is_repeated_every_half_hour():
    repetition = Repetition()
    times = [period * 15.0 for period in range(4 * 60 + 1)]
    seen = [now for now in times if reported(repetition, "down", now_seconds=now)]
    assert seen == [0.0, REPEAT_SECONDS, 2 * REPEAT_SECONDS]


def test_autoscalers_are_distinguished_and_forgotten():
    repetition = Repetition()
    reported(repetition, "down")
    assert repetition.is_news("shop/other", "down", 0.0)
    repetition.finish("shop/other")
    for key in (KEY, "shop/other"):
        repetition.forget(key)
    assert repetition._last == {}
    assert reported(repetition, "down") == ["down"]


def test_the_end_of_all_failures_is_known():
    repetition = Repetition()
    repetition.is_news(KEY, "down", 0.0)
    assert not repetition.finish(KEY)
    assert repetition.finish(KEY)
    assert not repetition.finish(KEY)
