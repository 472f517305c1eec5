"""The ridge regression: it finds the weights of a linear response, and forgets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.regression import HALF_LIFE_MINUTES, learned, predicted, weights
from scaler.extensions.forecast.state import FEATURES, Moments
from tests.unit.scaler.extensions.forecast.loads import noise
from tests.unit.scaler.objects import few_examples


def example(number):
    return (1.0, *(noise(number * FEATURES + each) for each in range(1, FEATURES)))


@few_examples
@given(true=st.lists(st.floats(-2, 2), min_size=FEATURES, max_size=FEATURES))
def test_the_weights_of_a_linear_response_are_found(true):
    moments = Moments()
    for number in range(500):
        moments = learned(moments, example(number), predicted(tuple(true), example(number)))
    assert weights(moments) == pytest.approx(true, abs=0.05)


def test_without_an_example_everything_is_zero():
    assert weights(Moments()) == (0.0,) * FEATURES


def test_features_that_are_always_zero_or_equal_have_finite_weights():
    moments = Moments()
    same = (1.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0)
    for number in range(100):
        moments = learned(moments, same, 0.3 + 0.01 * noise(number))
    assert predicted(weights(moments), same) == pytest.approx(0.3, abs=0.02)


def test_an_example_of_a_week_ago_counts_half():
    one = learned(Moments(), (1.0,) + (0.0,) * (FEATURES - 1), 1.0)
    later = one
    for _ in range(HALF_LIFE_MINUTES):
        later = learned(later, (0.0,) * FEATURES, 0.0)
    assert later.products[0] == pytest.approx(one.products[0] / 2)
