"""The tables name each load, with its figures, and how often which policy wins."""

import msgspec
import pytest

from benchmarks.frontier.pictures import draw_frontiers, draw_winners
from benchmarks.frontier.replays import FORECAST, PERFECT, RIVALS
from benchmarks.frontier.tables import judged, tables
from tests.unit.benchmarks.frontier.points import DAILY, STEADY, measured


@pytest.fixture(scope="module")
def found():
    return [
        judged(measured("mornings", DAILY, 8)),
        judged(measured("bursts", STEADY, 80)),
        judged(measured("mornings", DAILY, 16, start_up_minutes=5)),
    ]


@pytest.fixture(scope="module")
def lines(found):
    return list(tables(found))


def test_each_load_is_in_the_table_of_each_of_its_start_up_times(lines):
    rows = [each for each in lines if each.startswith(("| mornings | daily", "| bursts | aper"))]
    assert [each.split(" | ")[3:5] for each in rows] == [
        ["-90% (-90 to -90)", "-95%"],
        ["+0% (+0 to +0)", "-95%"],
        ["-80% (-80 to -80)", "-95%"],
    ]
    assert rows[0].endswith("| 97% | 3.2% |")


def test_loads_stand_by_shape_and_then_the_worst_first(found):
    worse = judged(measured("worse mornings", DAILY, 40))
    ordered = sorted([*found, worse], key=lambda each: each.order)
    assert [each.measured.load for each in ordered] == [
        "worse mornings",
        "mornings",
        "mornings",
        "bursts",
    ]


def test_a_cost_that_a_policy_does_not_reach_has_no_number(lines):
    row = next(each for each in lines if each.startswith("| mornings | 0.80, 8.00, -"))
    assert row == "| mornings | 0.80, 8.00, - | 0.80, 7.12, - | 0.80, 6.25, - | 0.80, 4.50, - |"


def test_the_winner_is_counted_by_shape(lines):
    assert f"| daily | 1 | {FORECAST} 1 |" in lines


def test_the_summary_has_each_rival_and_the_forecast_for_all_loads_and_for_those_with_a_shape(
    lines,
):
    assert f"| {FORECAST} | all (2) | -45% | -90% | +0% | 0 | +0.0% |" in lines
    assert f"| {FORECAST} | daily or weekly (1) | -90% | -90% | -90% | 0 | +0.0% |" in lines
    assert all(any(each.startswith(f"| {rival} | all (2)") for each in lines) for rival in RIVALS)


def test_the_knob_of_each_load_is_chosen_on_the_others(lines):
    assert "| mornings | default | -90%, -80% |" in lines


def test_perfect_knowledge_may_be_missing_in_a_file():
    with_it = measured("mornings", DAILY, 8)
    points = [each for each in with_it.points if each.policy != PERFECT]
    without = msgspec.structs.replace(with_it, points=tuple(points))
    rows = [list(tables([judged(each)])) for each in (with_it, without)]
    assert [any(each.startswith(f"| {PERFECT} |") for each in row) for row in rows] == [True, False]
    shown = [next(each for each in row if each.startswith("| mornings | daily")) for row in rows]
    assert shown[1] == shown[0].replace(" | -95% | ", " | - | ")


def test_a_load_without_the_usual_target_of_the_forecast_is_refused():
    other = measured("mornings", DAILY, 8)
    points = [each for each in other.points if each.policy != FORECAST]
    with pytest.raises(
        ValueError, match=r"mornings .* no point of the forecast with the target 0\.7"
    ):
        judged(msgspec.structs.replace(other, points=tuple(points)))


def test_both_pictures_are_written(found, tmp_path):
    draw_frontiers([each.measured for each in found[:2]], tmp_path / "frontier.png")
    draw_winners(found, tmp_path / "winners.png")
    assert {each.name for each in tmp_path.iterdir()} == {"frontier.png", "winners.png"}
    assert all(each.stat().st_size > 5000 for each in tmp_path.iterdir())
