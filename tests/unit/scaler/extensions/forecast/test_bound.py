"""The addend of a prediction: as often as wanted the load is above the bound, whatever the load does."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scaler.extensions.forecast.bound import (
    ALPHA_MAX,
    ALPHA_MIN,
    GAMMA,
    KEPT_ERRORS,
    NEEDED_ERRORS,
    addend,
    are_enough,
    judged,
)
from scaler.extensions.forecast.state import ALPHA, Errors
from tests.unit.scaler.extensions.forecast.loads import noise


def coverage(errors_in_order):
    """The share of errors above the bound that was used for each."""
    errors, above, bounded = Errors(), 0, 0
    for error in errors_in_order:
        used = addend(errors) if are_enough(errors) else None
        if used is not None:
            above, bounded = above + (error > used), bounded + 1
        errors = judged(errors, error, used)
    return above / bounded, errors


@settings(max_examples=10, deadline=None)
@example(growth=1.0, jump=-2.0, at=2276, scale=1.0)
@example(growth=1.0, jump=-3.0, at=2400, scale=1.0)
@given(
    growth=st.floats(0.2, 5),
    jump=st.floats(-3, 3),
    at=st.integers(200, 2800),
    scale=st.floats(0.01, 9),
)
def test_half_of_the_loads_are_above_the_bound_whatever_the_errors_do(growth, jump, at, scale):
    """The guarantee of adaptive conformal inference for a series of this length, and what its limits cost at most.

    After all errors have become smaller, the bound follows only once a tenth of those that are kept are new (`ALPHA_MAX`). A
    shift of any size at 2,400 of 3,000 costs most: 0.033.
    """
    errors = [jump + growth * scale * noise(n) if n > at else scale * noise(n) for n in range(3000)]
    found, _ = coverage(errors)
    assert abs(found - ALPHA) <= (1 - ALPHA + GAMMA) / (GAMMA * 2900) + 0.035


def test_the_errors_by_size_are_those_by_age():
    _, errors = coverage([noise(n) for n in range(KEPT_ERRORS + 500)])
    assert len(errors.by_age) == KEPT_ERRORS
    assert list(errors.by_size) == sorted(errors.by_age)


def test_the_errors_before_are_not_changed():
    before = judged(Errors(), 1.0, None)
    judged(before, 0.5, None)
    assert list(before.by_size) == [1.0]


def test_without_a_bound_the_share_is_not_adapted():
    errors = Errors()
    for n in range(NEEDED_ERRORS - 1):
        errors = judged(errors, noise(n), None)
    assert not are_enough(errors)
    assert errors.alpha == ALPHA


@pytest.mark.parametrize(
    ("error", "limit"),
    [pytest.param(9.0, ALPHA_MIN, id="above"), pytest.param(-9.0, ALPHA_MAX, id="below")],
)
def test_the_share_stops_at_its_limits(error, limit):
    errors = Errors()
    for _ in range(400):
        errors = judged(errors, error, 0.0)
    assert errors.alpha == limit
