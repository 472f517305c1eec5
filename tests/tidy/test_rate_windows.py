"""The README recommends a scrape interval and a `rate()` that fit each other."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
# A range has at least two samples even if a scrape fails, and if the range begins between two scrapes.
INTERVALS_MIN = 4
SECONDS = {"s": 1, "m": 60}


def seconds(duration: str) -> int:
    return int(duration[:-1]) * SECONDS[duration[-1]]


def test_the_window_of_each_rate_has_four_scrape_intervals():
    """With a window of one interval, the range has one sample, and `rate()` returns nothing."""
    [interval] = re.findall(r"scrape_interval=(\w+)", README)
    windows = re.findall(r"rate\(\w+\[(\w+)\]\)", README)
    assert windows
    for window in windows:
        assert seconds(window) >= INTERVALS_MIN * seconds(interval)
