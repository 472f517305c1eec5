"""The load by the minute: gaps, and what is read from it."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.levels import KEPT_MINUTES, appended
from scaler.extensions.forecast.load_levels import MISSING, NO_LEVELS, Levels


def levels(*values, end=100):
    return Levels(values=array("f", values), end_minute=end)


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        pytest.param(101, [2, 8], id="the next minute"),
        pytest.param(103, [2, 4, 6, 8], id="a short gap is filled linearly"),
        pytest.param(105, [2, 3.2, 4.4, 5.6, 6.8, 8], id="five minutes are filled"),
        pytest.param(
            130, [2 + each / 5 for each in range(31)], id="a load with a value in half an hour"
        ),
        pytest.param(132, [2, *[MISSING] * 31, 8], id="more is missing"),
        pytest.param(100, [2], id="a known minute changes nothing"),
        pytest.param(99, [2], id="neither does an earlier one, after the clock was set back"),
        pytest.param(100 + KEPT_MINUTES + 1, [8], id="nothing is kept after a gap of eight days"),
    ],
)
def test_a_value_is_appended_with_the_gap_before_it(minute, expected):
    found = appended(levels(2), minute, 8)
    assert list(found.values) == pytest.approx(expected)
    assert found.end_minute == max(100, minute)


def test_eight_days_are_kept():
    found = NO_LEVELS
    for minute in range(KEPT_MINUTES + 3):
        found = appended(found, minute + 1, minute)
    assert (len(found), found.values[0]) == (KEPT_MINUTES, 3)


def test_levels_are_not_changed_by_appending():
    before = levels(1, 2, 3)
    appended(before, 101, 4)
    assert list(before.values) == [1, 2, 3]


def test_the_peak_after_a_minute_does_not_contain_that_minute():
    assert levels(9, 2, 3, 4, end=103).peak_after(100, 3) == 4


@pytest.mark.parametrize(
    ("values", "minutes"),
    [
        pytest.param((9, 2, MISSING, 4), 3, id="a value is missing"),
        pytest.param((9, 2, 3, 4), 4, id="the last minute is not over"),
    ],
)
def test_a_peak_of_unknown_minutes_is_unknown(values, minutes):
    assert levels(*values, end=103).peak_after(100, minutes) is None


def test_a_mean_is_that_of_the_known_minutes():
    assert levels(1, MISSING, 3, 4, 4).mean_until(100) == 3
    assert levels(MISSING, MISSING).mean_until(100) is None


@given(
    st.lists(st.one_of(st.just(MISSING), st.integers(0, 1_000).map(float)), max_size=80),
    st.lists(st.integers(1, 100), min_size=1, max_size=5).map(sorted),
    st.integers(-5, 5),
)
def test_the_windows_until_a_minute_are_those_of_their_minutes(values, sizes, ahead):
    """Each is computed from the one before."""
    seen = levels(*values)
    found = list(seen.windows_until(100 + ahead, sizes))
    for size, window in zip(sizes, found, strict=True):
        known = [seen.at(100 + ahead - age) for age in range(size)]
        expected = [each for each in known if each is not None]
        assert seen.lowest_until(100 + ahead, size) == min(expected, default=None)
        if not expected:
            assert window is None
            continue
        assert window.highest == max(expected)
        assert window.mean == pytest.approx(sum(expected) / len(expected))


def test_two_values_whose_bytes_contain_those_of_a_missing_one_are_known():
    values = array("f")
    values.frombytes(b"\x01\x00\x00\x00" + b"\x80\xbf\x00\x00")
    assert array("f", [MISSING]).tobytes() in values.tobytes()
    assert levels(2, *values).lowest_until(100, 3) == values[0] > 0


def test_only_minutes_with_a_value_are_known():
    assert levels(1, MISSING, 3).known_minutes == 2
