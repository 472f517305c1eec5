"""A range that fits a scrape interval."""

import pytest

from wire.prometheus.scrape_interval import fitting_range


@pytest.mark.parametrize(
    ("interval_seconds", "range_"),
    [(1, "4s"), (5, "20s"), (15, "1m"), (14.98, "1m"), (16, "2m"), (30, "2m"), (60, "4m"), (900, "1h")],
)  # fmt: skip
def test_a_range_has_at_least_four_intervals_in_whole_minutes(interval_seconds, range_):
    assert fitting_range(interval_seconds) == range_
