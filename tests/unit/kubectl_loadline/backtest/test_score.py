"""The elasticity metrics on minutes that can be counted by hand."""

import pytest

from kubectl_loadline.backtest.score import Point, demand, score_of


def scored(*minutes):
    """(load, ready) or (load, ready, requested); a replica serves 10."""
    points = [
        Point(load, demand(load, 10), ready, more[0] if more else ready)
        for load, ready, *more in minutes
    ]
    return score_of(points, 60, 10)


@pytest.mark.parametrize(
    ("load", "expected"), [(0, 0), (1, 1), (10, 1), (10.1, 2), (30.000000001, 3)]
)
def test_the_demand_is_the_least_count_that_serves_the_load(load, expected):
    assert demand(load, 10) == expected


def test_under_and_over_provisioning_are_shares_of_time_and_of_the_demand():
    found = scored((40, 3), (40, 4), (40, 6), (40, 4))
    assert (found.under_timeshare, found.under_accuracy) == (25, 6.25)
    assert (found.over_timeshare, found.over_accuracy) == (25, 12.5)


def test_replica_hours_are_those_that_were_requested():
    assert scored(*[(10, 1, 3)] * 60).replica_hours == 3


def test_the_load_that_was_not_served_and_the_longest_time_of_it():
    found = scored((40, 4), (40, 2), (40, 3), (40, 4), (40, 3))
    assert found.unserved == pytest.approx(100 * (20 + 10 + 10) / 200)
    assert found.longest_under_minutes == 2


def test_a_negative_load_hides_nothing_that_was_not_served():
    found = scored((-40, 1), (40, 2))
    assert found.unserved == pytest.approx(100 * 20 / 40)
    assert (demand(-40, 10), found.under_timeshare) == (0, 50)


def test_instability_is_where_supply_does_not_follow_demand():
    found = scored((10, 1), (20, 1), (20, 2), (30, 3))
    assert found.instability == 50
    assert found.changes_per_day == pytest.approx(2 * 24 * 60 / 4)


def test_no_minutes_score_nothing():
    assert scored().under_timeshare == 0
