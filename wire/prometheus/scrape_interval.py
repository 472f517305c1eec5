"""The scrape interval, from the times of the samples: every server of the Prometheus API can say it, and for every series.

The API of the targets (`/api/v1/targets`) is that of Prometheus alone, and does not say which series a target has.
"""

from typing import Final

from wire.api.duration import format_duration

SEARCHED: Final = "10m"
FITTING_INTERVALS: Final = 4
"""A range of four intervals has two samples even if a scrape fails, as Prometheus' documentation recommends."""
INTERVALS_MIN: Final = 2


def scrape_interval_query(selector: str, step_milliseconds: int) -> str:
    """PromQL for the median time between two samples of the series of the last minutes; no row if none has two samples.

    Intervals shorter than the step appear as long as the step.
    """
    times = f"timestamp({selector})[{SEARCHED}:{step_milliseconds}ms]"
    return (
        f"quantile(0.5, (max_over_time({times}) - min_over_time({times})) / (changes({times}) > 0))"
    )


def fitting_range(interval_seconds: float) -> str:
    """The shortest range for rate() that fits a scrape interval: whole minutes from one minute on, as `4m`."""
    seconds = FITTING_INTERVALS * round(interval_seconds, 1)
    if seconds < 60:
        return short_duration(-(-seconds // 1))
    return short_duration(-(-seconds // 60) * 60)


def short_duration(seconds: float) -> str:
    """As people write it: `1m`, not `1m0s`."""
    text = format_duration(seconds)
    if text.endswith("m0s"):
        text = text.removesuffix("0s")
    return text.removesuffix("0m") if text.endswith("h0m") else text
