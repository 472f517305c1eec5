"""The elasticity metrics on minutes that can be counted by hand."""

import pytest

from kubectl_loadline.backtest.replay import Step
from kubectl_loadline.backtest.score import demand, score
from scaler.algorithm.derivation import Derivation

MADE = Derivation(autoscaler="shop/web", made_at_unix_seconds=0.0, branch="Metrics")


def steps(*minutes):
    """(load, ready) or (load, ready, requested)."""
    return [
        Step(
            unix_seconds=60 * index,
            load=load,
            ready=ready,
            requested=more[0] if more else ready,
            derivation=MADE,
        )
        for index, (load, ready, *more) in enumerate(minutes)
    ]


@pytest.mark.parametrize(
    ("load", "expected"), [(0, 0), (1, 1), (10, 1), (10.1, 2), (30.000000001, 3)]
)
def test_the_demand_is_the_least_count_that_serves_the_load(load, expected):
    assert demand(load, 10) == expected


def test_under_and_over_provisioning_are_shares_of_time_and_of_the_demand():
    found = score(steps((40, 3), (40, 4), (40, 6), (40, 4)), 10)
    assert (found.under_timeshare, found.under_accuracy) == (25, 6.25)
    assert (found.over_timeshare, found.over_accuracy) == (25, 12.5)


def test_minutes_without_a_load_do_not_count():
    found = score(steps((40, 3), (None, 1), (40, 4)), 10)
    assert found.under_timeshare == 50
    assert found.scored_hours == pytest.approx(2 / 60)


def test_replica_hours_are_those_that_were_requested():
    assert score(steps(*[(10, 1, 3)] * 60), 10).replica_hours == 3


def test_the_load_that_was_not_served_and_the_longest_time_of_it():
    found = score(steps((40, 4), (40, 2), (40, 3), (40, 4), (40, 3)), 10)
    assert found.unserved == pytest.approx(100 * (20 + 10 + 10) / 200)
    assert found.longest_under_minutes == 2


def test_instability_is_where_supply_does_not_follow_demand():
    found = score(steps((10, 1), (20, 1), (20, 2), (30, 3)), 10)
    assert found.instability == 50
    assert found.changes_per_day == pytest.approx(2 * 24 * 60 / 4)


def test_no_minutes_score_nothing():
    assert score([], 10).under_timeshare == 0
