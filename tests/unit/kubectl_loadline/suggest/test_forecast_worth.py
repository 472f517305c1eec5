"""A forecast is proposed only if no other target is as good for as much, on the time that chose nothing."""

import msgspec
import pytest

from kubectl_loadline.backtest.score import Point, score_of
from kubectl_loadline.suggest.forecast_worth import worth_of
from kubectl_loadline.suggest.proposal import Choices
from kubectl_loadline.suggest.search import Found, Step, Tried
from kubectl_loadline.suggest.suggestion import Suggestion
from kubectl_loadline.suggest.text import commented

MINUTES = 4 * 1440


def score(replicas, short_minutes, minutes=MINUTES):
    """Of four days with so many replicas, in so many minutes of which one more is needed."""
    short, enough = (
        Point(10, replicas + 1, replicas, replicas),
        Point(10, replicas, replicas, replicas),
    )
    return score_of([short] * short_minutes + [enough] * (minutes - short_minutes), 60, 10)


# 96 hours with 10, 12 and 16 replicas.
TARGETS = (score(10, 60), score(12, 30), score(16, 6))


def worth(found, *, is_better=True, targets=TARGETS):
    return worth_of(found, TARGETS[1], targets, is_better=is_better)


@pytest.mark.parametrize(
    ("found", "is_proposed"),
    [
        pytest.param(
            score(12, 10), True, id="a third of the time short of a target that costs as much"
        ),
        pytest.param(score(12, 30), False, id="as short as that target"),
        pytest.param(score(12, 28), False, id="less than a tenth better"),
        pytest.param(score(16, 2), False, id="by less than five minutes, which may be chance"),
        pytest.param(score(16, 0), True, id="by six minutes"),
        pytest.param(score(14, 25), False, id="worse than what lies between two targets"),
        pytest.param(score(14, 10), True, id="better than that"),
        pytest.param(score(9, 40), True, id="cheaper than each target"),
        pytest.param(score(20, 6), False, id="more replicas for nothing"),
    ],
)
def test_a_forecast_is_compared_with_targets_that_cost_as_much(found, is_proposed):
    assert worth(found).is_proposed is is_proposed


def test_what_the_other_choices_would_not_choose_is_not_proposed_either():
    assert not worth(score(12, 10), is_better=False).is_proposed


def test_a_target_that_is_never_short_cannot_be_improved():
    assert not worth(score(12, 0), targets=(score(12, 0), score(16, 0))).is_proposed


def test_the_other_target_is_that_of_the_same_cost():
    assert worth(score(14, 10)).short_percent_at_equal_cost == pytest.approx(100 * 18 / MINUTES)
    assert worth(score(9, 10)).short_percent_at_equal_cost is None


PLAIN = Choices(metric="requests", share=0.7, target=70, min_replicas=2, max_replicas=9)
AHEAD = msgspec.structs.replace(PLAIN, forecast=True)


def comment(*, forecast=None, tried=()):
    """The lines about the forecast."""
    lines = commented(suggestion_of(forecast=forecast, tried=tried), None)
    return [each for each in lines if "orecast" in each and ":" in each]


def suggestion_of(*, forecast=None, tried=()):
    steps = [Step(about="metric and target", tried=(Tried(choices=PLAIN, score=TARGETS[1]),))]
    if tried:
        steps.append(Step(about="forecast", tried=tried))
    found = Found(
        steps=tuple(steps),
        choices=PLAIN,
        score=TARGETS[1],
        runner_up=None,
        without_forecast=None,
        forecast=forecast,
    )
    return Suggestion(
        series=(),
        full={"requests": 100.0},
        short_percent_max=0.5,
        start_up_seconds=60,
        found=found,
        load_autoscaler={},
        rules={},
        sources={},
    )


def test_a_proposed_forecast_is_compared_with_none_and_with_another_target():
    (line,) = comment(forecast=worth(score(12, 10)))
    assert line == (
        "Without the forecast: short for 0.52% of the time, at most 30 min; 1152.0 replica-hours; another target with as "
        "many replica-hours as with the forecast: short for 0.52% of the time."
    )


def test_a_forecast_that_is_not_worth_it_is_not_proposed_and_the_numbers_say_why():
    (line,) = comment(forecast=worth(score(14, 25)))
    assert line == (
        "No forecast: on the last third it is not worth it. With it: short for 0.43% of the time, at most 25 min; 1344.0 "
        "replica-hours; without: short for 0.52% of the time, at most 30 min; 1152.0 replica-hours; another target with as "
        "many replica-hours as with the forecast: short for 0.31% of the time."
    )


def test_a_forecast_that_the_first_two_thirds_did_not_choose_has_its_numbers():
    tried = (Tried(choices=PLAIN, score=TARGETS[1]), Tried(choices=AHEAD, score=score(13, 30)))
    assert comment(tried=tried)[0] == (
        "No forecast: on the first two thirds it is not cheaper within the goal. With it: short for 0.52% of the time, at most "
        "30 min; 1248.0 replica-hours; without: short for 0.52% of the time, at most 30 min; 1152.0 replica-hours."
    )


def test_a_short_history_says_how_long_it_must_be():
    assert comment() == ["No forecast: it learns for 3 days, so it needs a history of 9 days."]


def test_a_choice_beyond_the_goal_is_marked():
    """With a goal of 0.5%."""
    within = Tried(choices=AHEAD, score=score(13, 5))
    steps = [
        line for line in commented(suggestion_of(tried=(within,)), None) if line.startswith("  ")
    ]
    assert steps[0].endswith("short   0.52%    1152.0 replica-hours  (beyond the goal)")
    assert steps[1].endswith("short   0.09%    1248.0 replica-hours")
