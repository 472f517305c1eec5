"""Each quantile is not exceeded as often as it says, and depends on what the load depends on."""

import random
from array import array

import pytest

from scaler.extensions.forecast.features import FEATURES
from scaler.extensions.forecast.quantiles import (
    QUANTILES,
    START,
    STEADY_START,
    WEIGHTS,
    Model,
    learned,
    predicted,
)

CONSTANT, FIRST = 0.5, 1


def features(first=0.0):
    return array("f", [CONSTANT, first, *[0.0] * (FEATURES - 2)])


def after(examples):
    model = START
    for example in examples:
        model = learned(model, *example)
    return model


def test_each_quantile_of_noise_is_exceeded_as_often_as_it_says():
    chance = random.Random(1)
    model = after((features(), chance.gauss(0.0, 0.3)) for _ in range(20_000))
    found = predicted(model, features())
    seen = [chance.gauss(0.0, 0.3) for _ in range(20_000)]
    for quantile, level in zip(QUANTILES, found, strict=True):
        share = sum(each <= level for each in seen) / len(seen)
        assert share == pytest.approx(quantile, abs=0.02), quantile


def test_the_spread_follows_a_feature():
    """A load that is noisy at some times needs a margin at these times only."""
    chance = random.Random(2)
    examples = []
    for number in range(20_000):
        noisy = number % 2
        spread = 0.5 if noisy else 0.05
        examples.append((features(float(noisy)), spread * chance.random()))
    model = after(examples)
    assert predicted(model, features(1.0))[-2] == pytest.approx(0.49, abs=0.05)
    assert predicted(model, features(0.0))[-2] == pytest.approx(0.049, abs=0.02)


def test_a_higher_quantile_is_never_below_a_lower_one():
    falling = [-1.0 * (place // FEATURES) for place in range(WEIGHTS)]
    model = Model(weights=array("f", falling), squares=START.squares)
    found = predicted(model, features(1.0))
    assert list(found) == sorted(found)


def test_at_first_what_most_days_had_is_expected():
    expected = array("f", [0.0] * FEATURES)
    expected[-4:] = array("f", [3.0, 2.0, 1.0, 0.5])
    assert predicted(START, expected) == pytest.approx([1.0] * len(QUANTILES))


def test_one_jump_hardly_changes_what_a_steady_start_expects():
    """So that a forecast that acts from the first minute on does not begin with what happens then."""
    jump = (features(1.0), 2.0)
    fresh, steady = (
        predicted(learned(each, *jump), features(1.0))[0] for each in (START, STEADY_START)
    )
    assert fresh > 0.05
    assert 0.0 < steady < 0.01


def test_a_change_is_still_learned_after_years():
    """The sums of squares forget, so that the steps do not become ever shorter: if they did not, it would be 0.42 after 15 days."""
    model = Model(weights=START.weights, squares=array("f", [1e5] * WEIGHTS))
    for _ in range(15 * 1440):
        model = learned(model, features(), 1.0)
    assert predicted(model, features())[0] > 0.7
