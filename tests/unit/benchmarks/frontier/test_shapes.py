"""The shape of a load follows from its autocorrelation."""

import math
import random

import pytest

from benchmarks.frontier.shapes import (
    APERIODIC,
    DAILY,
    SPARSE,
    WEAK_DAILY,
    WEEKLY,
    autocorrelation,
    shape_of,
)
from benchmarks.traces.trace import Trace

DAY = 1440
CHOSEN = random.Random(7)
NOISE = [CHOSEN.gauss(0.0, 1.0) for _ in range(21 * 144)]


def day(minute):
    return 2 + math.sin(2 * math.pi * minute / DAY)


def noise(minute):
    return NOISE[minute // 10]


@pytest.mark.parametrize(
    ("load", "shape"),
    [
        pytest.param(day, DAILY, id="each day the same"),
        pytest.param(lambda m: day(m) * (m // DAY % 7 < 5), WEEKLY, id="nothing at weekends"),
        pytest.param(lambda m: day(m) + noise(m), WEAK_DAILY, id="a day below noise"),
        pytest.param(noise, APERIODIC, id="noise"),
        pytest.param(lambda _: 5.0, APERIODIC, id="without any variation"),
        pytest.param(lambda m: float(m % DAY < 60), SPARSE, id="an hour of each day"),
    ],
)
def test_a_load_has_the_shape_of_the_rule(load, shape):
    loads = tuple(load(minute) for minute in range(21 * DAY))
    assert shape_of(Trace(name="one", start_unix_seconds=0, loads=loads)).name == shape


def test_unknown_values_are_left_out_of_an_autocorrelation():
    values = [1.0, 2.0, 3.0, None, 5.0, 6.0]
    assert autocorrelation(values, 1) == pytest.approx(1.0)
    assert autocorrelation([1.0, None], 1) == 0.0
