"""Scrapes are known from two observations that agree, and say until when a result may be used again."""

import pytest

from adapter.model.scrapes import Scrapes


def observed(newest_seconds, *, count=8, oldest_seconds=None, evaluated_seconds=None):
    return Scrapes.observed(
        newest_seconds=newest_seconds,
        oldest_seconds=newest_seconds if oldest_seconds is None else oldest_seconds,
        count=count,
        counted_seconds=120,
        evaluated_seconds=newest_seconds if evaluated_seconds is None else evaluated_seconds,
    )


@pytest.mark.parametrize(
    ("oldest_seconds", "count", "interval_seconds"),
    [
        pytest.param(100.0, 8, 15.0, id="one target"),
        pytest.param(99.6, 8, 15.0, id="targets that are scraped nearly together"),
        pytest.param(99.0, 8, None, id="targets that are not"),
        pytest.param(100.0, 120, 1.0, id="every second"),
        pytest.param(100.0, 1, None, id="one sample says nothing about the interval"),
        pytest.param(100.0, float("nan"), None, id="not a number"),
        pytest.param(float("-inf"), 8, None, id="infinite"),
    ],
)
def test_samples_of_one_scrape_say_how_often_it_is_made(oldest_seconds, count, interval_seconds):
    found = observed(100.0, count=count, oldest_seconds=oldest_seconds)
    assert (found and found.interval_seconds) == interval_seconds


@pytest.mark.parametrize(
    ("newest_seconds", "count", "is_plausible"),
    [
        pytest.param(100.0, 8, True, id="a scrape of just now"),
        pytest.param(-15.0, 8, True, id="nearly two minutes ago"),
        pytest.param(-21.0, 8, False, id="before everything that was counted"),
        pytest.param(100.4, 8, True, id="rounded up"),
        pytest.param(101.0, 8, False, id="in the future"),
        pytest.param(-1.7e308, 8, False, id="longer ago than time is old"),
        pytest.param(1.7e308, 8, False, id="never"),
        pytest.param(float("inf"), 8, False, id="an infinite time"),
        pytest.param(float("nan"), 8, False, id="no time"),
        pytest.param(100.0, 120_000, True, id="the shortest interval of Prometheus"),
        pytest.param(100.0, 120_001, False, id="shorter than a millisecond"),
        pytest.param(100.0, 1.7e308, False, id="no interval at all"),
        pytest.param(100.0, float("inf"), False, id="infinitely many samples"),
        pytest.param(100.0, -8, False, id="fewer than no samples"),
    ],
)
def test_scrapes_that_prometheus_cannot_have_made_are_not_known(
    newest_seconds, count, is_plausible
):
    found = observed(newest_seconds, count=count, evaluated_seconds=100.0)
    assert (found is not None) == is_plausible


@pytest.mark.parametrize(
    ("earlier", "later", "interval_seconds"),
    [
        pytest.param(observed(100.0), observed(160.0), 15.0, id="four scrapes later"),
        pytest.param(observed(100.0), observed(160.02), 15.0, id="a little late"),
        pytest.param(observed(100.0), observed(100.0), None, id="no scrape since"),
        pytest.param(observed(100.0), observed(165.0), None, id="at another time"),
        pytest.param(observed(100.0, count=7), observed(160.0), 15.0, id="the newest sample was not stored at first"),
        pytest.param(observed(100.0), observed(160.0, count=7), 15.0, id="the newest sample is not stored now"),
        pytest.param(observed(100.0, count=4), observed(160.0), None, id="half as often at first: the target was new"),
        pytest.param(observed(100.0, count=120), observed(160.4, count=120), None, id="another part of a short interval"),
        pytest.param(observed(100.0, count=17), observed(163.0, count=17), None, id="an interval that does not divide two minutes"),
    ],
)  # fmt: skip
def test_a_second_observation_confirms_the_interval(earlier, later, interval_seconds):
    found = later.confirms(earlier)
    assert (found and found.interval_seconds) == interval_seconds


@pytest.mark.parametrize(
    ("evaluated_seconds", "until_seconds"),
    [
        pytest.param(100.05, 100.1, id="the samples are not stored yet"),
        pytest.param(100.2, 101.2, id="just after the scrape, which may take longer"),
        pytest.param(101.2, 104.2, id="between two scrapes nothing changes"),
        pytest.param(113.0, 115.1, id="until the next samples are stored"),
        pytest.param(1_015.2, 1_016.2, id="many scrapes later"),
        pytest.param(85.2, 86.2, id="before the scrape that is known"),
    ],
)
def test_a_result_serves_until_new_samples_are_stored(evaluated_seconds, until_seconds):
    scrapes = Scrapes(newest_seconds=100.0, interval_seconds=15.0)
    until = scrapes.reused_until(evaluated_seconds, fresh_seconds=1.0, longest_seconds=3.0)
    assert until == pytest.approx(until_seconds)


@pytest.mark.parametrize(
    ("interval_seconds", "fresh_seconds", "is_evaluated_early"),
    [
        pytest.param(15.0, 1.0, True, id="a small result"),
        pytest.param(2.0, 1.0, True, id="a short interval"),
        pytest.param(0.5, 1.0, False, id="an interval that is shorter than results are reused"),
        pytest.param(1.5, 1.0, False, id="two evaluations in one and a half seconds"),
        pytest.param(15.0, 3.0, True, id="a large result five times, as without scrapes"),
        pytest.param(10.0, 3.0, False, id="a large result four times instead of three and a third"),
    ],
)
def test_a_scrape_ends_the_use_of_a_result_only_where_that_costs_no_more_evaluations(
    interval_seconds, fresh_seconds, is_evaluated_early
):
    scrapes = Scrapes(newest_seconds=0.0, interval_seconds=interval_seconds)
    just_before = 100 * interval_seconds + 0.05
    until = scrapes.reused_until(just_before, fresh_seconds=fresh_seconds, longest_seconds=3.0)
    assert (until < just_before + 0.1) == is_evaluated_early


def test_a_result_is_never_reused_for_longer_than_the_longest_time():
    scrapes = Scrapes(newest_seconds=0.0, interval_seconds=60.0)
    for tenths in range(1_200):
        evaluated_seconds = tenths / 10
        until = scrapes.reused_until(evaluated_seconds, fresh_seconds=1.0, longest_seconds=3.0)
        assert evaluated_seconds < until <= evaluated_seconds + 3.0
