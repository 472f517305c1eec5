"""A recorded load by the minute."""

import pytest

from benchmarks.traces.trace import trace_of


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param([(60, 1), (120, 2), (180, 3)], (1, 2, 3), id="every minute"),
        pytest.param([(0, 0), (300, 10)], (0, 2, 4, 6, 8, 10), id="every five minutes"),
        pytest.param([(0, 5), (660, 6)], (5, *[None] * 10, 6), id="a gap of eleven minutes"),
        pytest.param([(45, 1), (75, 3), (135, 7)], (2, 6), id="between the minutes"),
        pytest.param([(60, 4)], (4,), id="one sample"),
    ],
)
def test_samples_become_one_value_per_minute(samples, expected):
    assert trace_of("load", samples).loads == pytest.approx(expected)


def test_a_value_is_that_of_the_minute():
    found = trace_of("load", [(60, 1), (120, 2)])
    assert [found.at(each) for each in (59, 60, 119, 120, 180)] == [None, 1, 1, 2, None]


def test_a_percentile_is_a_recorded_load():
    assert trace_of("load", [(60 * n, n) for n in range(100)]).percentile(99) == 99


def test_a_trace_without_samples_is_refused_by_its_name():
    with pytest.raises(ValueError, match="checkout has no samples"):
        trace_of("checkout", [])
