"""What is expected at most is exceeded as often as it says, whatever the load does."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.bound import CLAIM, next_margin, with_margin
from scaler.extensions.forecast.features import LIMIT
from tests.unit.scaler.extensions.forecast.loads import DAY, noise, states

MINUTES = 20_000


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(lambda _: 0.0, id="a quantile that is right"),
        pytest.param(lambda _: 0.3, id="one that is too low"),
        pytest.param(lambda _: -0.5, id="one that is too high"),
        pytest.param(lambda minute: minute / MINUTES, id="a load that grows"),
        pytest.param(lambda minute: 0.3 * (minute // 2_000 % 2), id="a level that changes"),
    ],
)
def test_the_bound_is_exceeded_as_often_as_it_says(level):
    chance = random.Random(1)
    margin, exceeded = 0.0, 0
    for minute in range(MINUTES):
        is_exceeded = level(minute) + chance.gauss(-0.2, 0.1) > margin
        exceeded += is_exceeded
        margin = next_margin(margin, is_exceeded=is_exceeded)
    assert exceeded / MINUTES == pytest.approx(1.0 - CLAIM, abs=0.01)


@given(st.floats(0.0, 1e300), st.floats(-LIMIT, LIMIT), st.floats(1e-9, 1e9))
def test_a_bound_is_a_load(load, margin, offset):
    assert 0.0 <= with_margin(load, margin, offset) < math.inf
    assert with_margin(load, 0.0, offset) == pytest.approx(load, rel=1e-6, abs=1e-6 * offset)


@given(st.floats(-LIMIT, LIMIT), st.booleans())
def test_a_margin_stays_within_its_limits(margin, is_exceeded):
    assert -LIMIT <= next_margin(margin, is_exceeded=is_exceeded) <= LIMIT


def test_the_bound_of_a_forecast_is_exceeded_as_often_as_it_says_when_its_noise_doubles():
    """After three days of learning."""
    lead = 3
    loads = [100.0 * (1.0 + 0.2 * 2 ** (minute // (3 * DAY)) * noise(minute)) for minute in range(5 * DAY)]  # fmt: skip
    bounds = [each.bound for each in states(lambda minute: loads[minute], range(len(loads)), lead=lead)]  # fmt: skip
    judged = range(3 * DAY, len(loads) - lead)
    exceeded = sum(max(loads[each + 1 : each + 1 + lead]) > bounds[each] for each in judged)
    assert exceeded / len(judged) == pytest.approx(1.0 - CLAIM, abs=0.005)
