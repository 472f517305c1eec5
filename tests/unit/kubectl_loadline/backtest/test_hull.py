"""The frontier of a set of points, and the area below it."""

import random

import pytest

from kubectl_loadline.backtest.hull import area, lower_hull, short_at

CONVEX = ((10.0, 8.0), (20.0, 3.0), (40.0, 1.0))


def test_a_point_above_the_line_between_two_others_is_left_out():
    assert lower_hull([*CONVEX, (30.0, 2.5), (15.0, 6.0)]) == CONVEX


def test_points_that_cost_more_for_the_same_or_more_time_short_are_left_out():
    assert lower_hull([*CONVEX, (50.0, 1.0), (45.0, 4.0), (10.0, 9.0)]) == CONVEX


def test_points_on_one_line_have_a_frontier_of_its_ends():
    assert lower_hull([(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]) == ((1.0, 3.0), (3.0, 1.0))


def test_nothing_has_no_frontier():
    assert lower_hull([]) == ()
    assert short_at((), 1.0) is None


@pytest.mark.parametrize(
    ("cost", "short"),
    [
        pytest.param(9.9, None, id="less than the cheapest point"),
        pytest.param(10.0, 8.0, id="the cheapest point"),
        pytest.param(15.0, 5.5, id="between two points"),
        pytest.param(40.0, 1.0, id="the most expensive point"),
        pytest.param(90.0, 1.0, id="more than that changes nothing"),
    ],
)
def test_the_time_short_at_a_cost(cost, short):
    assert short_at(CONVEX, cost) == short


def test_the_area_is_that_of_the_trapezoids():
    assert area(CONVEX, 10.0, 40.0) == pytest.approx(55.0 + 40.0)
    assert area(CONVEX, 15.0, 30.0) == pytest.approx((5.5 + 3.0) / 2 * 5 + (3.0 + 2.0) / 2 * 10)
    assert area(CONVEX, 40.0, 50.0) == pytest.approx(10.0)


def test_there_is_no_area_below_the_cheapest_point():
    with pytest.raises(ValueError, match=r"begins at 10\.0, not at 5"):
        area(CONVEX, 5.0, 20.0)


@pytest.mark.parametrize("seed", range(20))
def test_no_point_lies_below_its_frontier_and_each_corner_is_a_point(seed):
    chosen = random.Random(seed)
    points = [(chosen.uniform(1.0, 9.0), chosen.uniform(0.0, 5.0)) for _ in range(40)]
    hull = lower_hull(points)
    assert set(hull) <= set(points)
    assert all((short_at(hull, cost) or 0.0) <= short + 1e-9 for cost, short in points)
