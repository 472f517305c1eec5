"""Go's arithmetic, where Python's is another."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.api.int64 import fits_int64, float_ten_to, wrap
from wire.api.quoting import go_quote


@settings(max_examples=100, deadline=None)
@given(st.integers(-(2**80), 2**80))
def test_wrapping_keeps_the_low_bits_and_nothing_that_fits_changes(number):
    wrapped = wrap(number, bits=64)
    assert fits_int64(wrapped)
    assert (wrapped - number) % 2**64 == 0
    assert (wrapped == number) == fits_int64(number)


@pytest.mark.parametrize("exponent", [-400, -323, -31, -9, -3, 0, 3, 22, 31, 308, 309])
def test_a_power_of_ten_is_within_one_step_of_the_nearest_float(exponent):
    nearest = float(f"1e{exponent}")
    assert abs(float_ten_to(exponent) - nearest) <= math.ulp(nearest) or nearest == math.inf


def test_quoting_escapes_unprintable_characters():
    assert go_quote('a"b\\c\n\x01é\u200b') == '"a\\"b\\\\c\\n\\x01é\\u200b"'
