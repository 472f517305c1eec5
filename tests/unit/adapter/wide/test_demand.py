"""When a wide query is worth its cost."""

import pytest

from adapter.model import Freshness
from adapter.wide.demand import (
    FAILED_SECONDS,
    FORGOTTEN_SECONDS,
    REFUSED_SECONDS,
    Demand,
    Suspension,
)


def demand(*periods, rows_each=1, start=0.0):
    """After periods of one second with so many different requests each."""
    found = Demand(Freshness())
    for second, requests in enumerate(periods):
        for number in range(requests):
            found.requested(f"q{number}", rows_each, start + second)
    return found


@pytest.mark.parametrize(
    ("periods", "worthwhile"),
    [
        pytest.param((1, 1, 1, 1), False, id="a lone autoscaler"),
        pytest.param((2, 2, 2, 1), True, id="two per period"),
        pytest.param((1, 1, 2, 1), False, id="two, once"),
        pytest.param((3,), False, id="three in the first period"),
        pytest.param((4,), True, id="a burst in the first period"),
        pytest.param((100, 1, 1, 1, 1, 1, 1, 1, 1), False, id="many, but no longer"),
    ],
)
def test_several_different_requests_per_evaluation_are_needed(periods, worthwhile):
    assert demand(*periods).is_worthwhile(len(periods) - 1.0) is worthwhile


def test_the_same_request_again_is_not_another_one():
    found = Demand(Freshness())
    for tenth in range(50):
        found.requested("q", 1, tenth / 10)
    assert not found.is_worthwhile(5.0)


@pytest.mark.parametrize(
    ("rows_each", "rows", "worthwhile"),
    [
        pytest.param(1, 2_500, True, id="250 rows for each request"),
        pytest.param(1, 2_600, False, id="more"),
        pytest.param(400, 5_000, True, id="requests of many pods return many rows themselves"),
        pytest.param(10_000, 60_000, False, id="more than is good for any result"),
    ],
)
def test_the_rows_must_be_in_proportion_to_the_requests(rows_each, rows, worthwhile):
    found = demand(10, 10, 10, 10, rows_each=rows_each)
    found.evaluated(rows, 3.0)
    assert found.is_worthwhile(3.0) is worthwhile


def test_too_many_rows_are_measured_again_after_a_while():
    found = demand(10, 10, 10, 10)
    found.evaluated(100_000, 3.0)
    assert not found.is_worthwhile(3.0)
    assert found.is_worthwhile(4.0 + REFUSED_SECONDS)


def test_a_pause_forgets_the_demand():
    found = demand(10, 10, 10)
    found.requested("q", 1, 3.0 + FORGOTTEN_SECONDS)
    assert not found.is_worthwhile(3.0 + FORGOTTEN_SECONDS)


def test_a_large_result_serves_the_requests_of_a_longer_period():
    found = Demand(Freshness())
    found.evaluated(3_000, 0.0)
    for second in range(12):
        found.requested(f"q{second % 3}", 1_000, float(second))
    assert found.is_worthwhile(11.0), "three requests per evaluation, although one per second"


def test_whether_it_is_worthwhile_does_not_wait_for_the_next_request():
    found = demand(2, 2, 2, 1)
    assert found.is_worthwhile(3.9)
    assert not found.is_worthwhile(4.0)


def test_each_failure_suspends_for_twice_as_long_until_the_wide_query_has_answered():
    suspension = Suspension()
    assert [suspension.begin(0.0, FAILED_SECONDS) for _ in range(7)] == [
        30.0, 60.0, 120.0, 240.0, 480.0, REFUSED_SECONDS, REFUSED_SECONDS
    ]  # fmt: skip
    suspension.succeeded()
    assert suspension.begin(0.0, FAILED_SECONDS) == FAILED_SECONDS


def test_a_suspension_ends_when_its_time_has_passed():
    suspension = Suspension()
    assert not suspension.is_active(0.0)
    suspension.begin(100.0, FAILED_SECONDS)
    assert suspension.is_active(100.0 + FAILED_SECONDS - 0.001)
    assert not suspension.is_active(100.0 + FAILED_SECONDS)
