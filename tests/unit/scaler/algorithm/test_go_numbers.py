"""Go's conversions, as compiled for amd64; the conformance vectors meet them in whole decisions."""

import math

import pytest

from scaler.algorithm.go_numbers import (
    INT32_MIN,
    INT64_MIN,
    ceil,
    divide,
    float_to_int32,
    float_to_int64,
    int32,
    int64,
    quotient,
)


@pytest.mark.deviation("amd64-numbers")
@pytest.mark.parametrize(
    ("number", "converted"),
    [
        pytest.param(2.9, 2, id="towards zero"),
        pytest.param(-2.9, -2, id="towards zero from below"),
        pytest.param(2_147_483_647.0, 2_147_483_647, id="the largest that fits"),
        pytest.param(2_147_483_648.0, INT32_MIN, id="one too many"),
        pytest.param(-2_147_483_649.0, INT32_MIN, id="one too few"),
        pytest.param(math.inf, INT32_MIN, id="infinity"),
        pytest.param(math.nan, INT32_MIN, id="not a number"),
    ],
)
def test_a_float_that_does_not_fit_becomes_the_smallest_int32(number, converted):
    assert float_to_int32(number) == converted


@pytest.mark.deviation("amd64-numbers")
@pytest.mark.parametrize("number", [2.0**63, -(2.0**64), math.inf, -math.inf, math.nan])
def test_a_float_that_does_not_fit_becomes_the_smallest_int64(number):
    assert float_to_int64(number) == INT64_MIN


def test_integers_wrap_around():
    assert int32(2**31) == INT32_MIN
    assert int64(2**63) == INT64_MIN
    assert int64(-(2**63) - 1) == 2**63 - 1


@pytest.mark.parametrize(
    ("dividend", "divisor", "result"),
    [
        pytest.param(7, 2, 3, id="positive"),
        pytest.param(-7, 2, -3, id="negative goes up, towards zero"),
        pytest.param(7, -2, -3, id="negative divisor"),
        pytest.param(-7, -2, 3, id="both negative"),
        pytest.param(INT64_MIN, -1, INT64_MIN, id="the one quotient that does not fit"),
    ],
)
def test_integer_division_goes_towards_zero(dividend, divisor, result):
    assert quotient(dividend, divisor) == result


@pytest.mark.parametrize(
    ("dividend", "divisor", "result"),
    [(1.0, 0.0, math.inf), (-1.0, 0.0, -math.inf), (1.0, -0.0, -math.inf), (6.0, 4.0, 1.5)],
)
def test_division_by_zero_gives_an_infinity(dividend, divisor, result):
    assert divide(dividend, divisor) == result


def test_nothing_over_nothing_is_not_a_number():
    assert math.isnan(divide(0.0, 0.0))


def test_ceil_lets_infinities_pass():
    assert ceil(1.1) == 2.0
    assert ceil(math.inf) == math.inf
