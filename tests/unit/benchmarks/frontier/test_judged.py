"""What is said about a load follows from its points, day by day."""

import msgspec
import pytest

from benchmarks.frontier.judged import figures, frontiers, intervals, winner
from benchmarks.frontier.measured import Day, Measured, Point, append, cost_point, days_of, read
from benchmarks.frontier.plain_replay import Counts
from benchmarks.frontier.replays import DEFAULT, FORECAST, HPA, RIVALS
from benchmarks.frontier.shapes import Shape

AREA, POINTS, CHANGE = "area_percent", "area_points", f"change_percent {FORECAST}"
SHAPE = Shape(days=8.0, daily=0.9, weekly=0.5, zero_share=0.0)


def point(policy, target, hours, *short_minutes, knob=""):
    """Days of 1,000 minutes, each with an equal part of the cost."""
    minutes = round(hours * 60 / len(short_minutes))
    return Point(
        policy=policy,
        target=target,
        knob=knob,
        days=tuple(Day(1000, short, minutes) for short in short_minutes),
    )


HPA_POINTS = (
    point(HPA, 0.5, 140, 10, 10),
    point(HPA, 0.7, 100, 80, 80),
    point(HPA, 0.9, 80, 200, 200),
)
RIVAL = point(RIVALS[0], 0.7, 110, 40, 40, knob="x 1")


def forecast(hours, *short, target=0.7, knob=DEFAULT):
    return point(FORECAST, target, hours, *short, knob=knob)


def measured(*points, load="one", start_up_minutes=2):
    return Measured(load=load, shape=SHAPE, start_up_minutes=start_up_minutes, points=points)


def figures_of(*points):
    return figures(frontiers(points))


def test_days_count_the_minutes_with_a_load_after_the_learning_time():
    counts = Counts(requested=[9, 1, 2, 3, 4], ready=[0, 1, 1, 3, 3])
    assert days_of(counts, [5, 1, 2, None, 4], scored_from=1) == (Day(3, 2, 7),)


def test_a_day_that_counts_twice_weighs_twice():
    days = (Day(1000, 10, 600), Day(1000, 40, 1200))
    assert cost_point(days) == (30.0, pytest.approx(2.5))
    assert cost_point(days, [2, 1]) == (40.0, pytest.approx(2.0))


def test_a_forecast_with_the_points_of_the_others_gains_nothing():
    same = [msgspec.structs.replace(each, policy=FORECAST, knob=DEFAULT) for each in HPA_POINTS]
    found = figures_of(*HPA_POINTS, *same)
    assert found[AREA] == pytest.approx(0.0)
    assert found[POINTS] == pytest.approx(0.0)
    assert found[CHANGE] == pytest.approx(0.0)
    assert found["covered_percent"] == pytest.approx(100.0)


def test_a_forecast_that_is_short_for_half_the_time_at_each_cost_has_half_the_area():
    half = [
        point(FORECAST, 0.7, hours, *(each.short_minutes // 2 for each in one.days), knob=DEFAULT)
        for one, hours in zip(HPA_POINTS, (140, 100, 80), strict=True)
    ]
    assert figures_of(*HPA_POINTS, *half)[AREA] == pytest.approx(-50.0)


def test_costs_that_the_forecast_does_not_reach_are_not_compared_and_are_said():
    found = figures_of(*HPA_POINTS, forecast(110, 40, 40))
    assert found["covered_percent"] == pytest.approx(50.0)
    # The forecast stays at 4%, and the HPA falls from 6.25% at 110 to 1% at 140.
    assert found[POINTS] == pytest.approx(4.0 - (6.25 + 1.0) / 2)


def test_a_forecast_that_costs_more_than_every_target_of_the_hpa_covers_nothing():
    found = figures_of(*HPA_POINTS, forecast(150, 0, 0))
    assert found["covered_percent"] == 0.0
    assert AREA not in found


def test_a_rival_is_part_of_what_the_forecast_is_compared_with():
    without, beside = (
        figures_of(*HPA_POINTS, *rivals, forecast(100, 60, 60))[POINTS] for rivals in ((), (RIVAL,))
    )
    assert beside > without


def test_the_time_short_is_given_at_more_cost_than_the_hpa_at_seventy_percent():
    found = figures_of(*HPA_POINTS, RIVAL, forecast(104, 20, 20))
    assert found[f"short_percent +0 {HPA}"] == pytest.approx(8.0)
    assert f"short_percent +0 {FORECAST}" not in found
    assert found[f"short_percent +5 {FORECAST}"] == pytest.approx(2.0)
    assert found[f"short_percent +10 {RIVALS[0]}"] == pytest.approx(4.0)
    assert [winner(found, extra) for extra in (0, 5)] == [HPA, FORECAST]


def test_the_change_is_that_at_equal_replica_hours_with_the_default_at_seventy_percent():
    points = (
        *HPA_POINTS,
        forecast(140, 5, 5),
        forecast(140, 0, 0, knob="budget 20%"),
        forecast(80, 0, 0, target=0.9),
    )
    found = figures_of(*points)
    assert found[CHANGE] == pytest.approx(-50.0)
    assert found["change_percent budget 20%"] == pytest.approx(-99.0)
    assert found[f"more_hours_percent {FORECAST}"] == pytest.approx(40.0)


def test_an_interval_is_the_same_in_each_run_and_contains_its_figure():
    days = [index * 7 % 50 for index in range(20)]
    points = (
        point(HPA, 0.5, 140, *[1 + each // 9 for each in days]),
        point(HPA, 0.7, 100, *[20 + each for each in days]),
        point(HPA, 0.9, 80, *[200 + each for each in days]),
        forecast(101, *[each // 2 for each in days]),
    )
    one, other = (intervals(measured(*points), lambda name: name == CHANGE) for _ in range(2))
    assert one == other
    assert list(one) == [CHANGE]
    assert one[CHANGE].low < one[CHANGE].value < one[CHANGE].high


def test_days_that_are_alike_leave_no_interval():
    points = (*HPA_POINTS, forecast(101, 20, 20))
    found = intervals(measured(*points), lambda name: name == CHANGE)[CHANGE]
    assert found.low == pytest.approx(found.value)
    assert found.high == pytest.approx(found.value)


def test_files_of_several_runs_are_joined_and_a_newer_line_replaces_an_older_one(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    old, new = measured(forecast(1, 1)), measured(forecast(2, 2))
    other = measured(forecast(3, 3), start_up_minutes=5)
    append(first, old)
    append(first, other)
    append(second, new)
    assert read([first, second]) == [new, other]
