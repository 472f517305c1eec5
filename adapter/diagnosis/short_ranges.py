"""Ranges that are too short for the scrape interval of their series: rate() needs two samples."""

from collections.abc import Collection
from typing import Final

from adapter.diagnosis.explanation import Finding
from adapter.model import BackendRef, Plan
from adapter.ports import Prometheus, QueryFailed
from adapter.promql.ranges import ranges_of
from wire.prometheus.scrape_interval import (
    INTERVALS_MIN,
    fitting_range,
    scrape_interval_query,
    short_duration,
)

STEPS_OF_RANGE: Final = 4
"""Times are read so often in a range that an interval of half of it is seen as it is."""
STEP_MILLISECONDS: Final = (1_000, 30_000)


async def short_ranges(
    prometheus: Prometheus, backend: BackendRef, queries: Collection[str]
) -> list[Finding]:
    """One for each selector whose range is shorter than two scrape intervals. One query for each selector with a range.

    Without a finding where Prometheus cannot say the interval: that is not the fault of the rule.
    """
    ranges = {key: each for query in queries for key, each in ranges_of(query).items()}
    found: list[Finding] = []
    for selector, milliseconds in ranges.items():
        try:
            interval_seconds = await _interval_seconds(prometheus, backend, selector, milliseconds)
        except QueryFailed:
            continue
        if interval_seconds is not None and milliseconds < INTERVALS_MIN * 1000 * interval_seconds:
            found.append(_short(selector, milliseconds / 1000, interval_seconds))
    return found


async def _interval_seconds(
    prometheus: Prometheus, backend: BackendRef, selector: str, range_milliseconds: int
) -> float | None:
    lowest, highest = STEP_MILLISECONDS
    step = min(max(range_milliseconds // STEPS_OF_RANGE, lowest), highest)
    plan = Plan(scrape_interval_query(selector, step), backend)
    rows = (await prometheus.evaluate(plan)).samples
    return rows[0].value if rows else None


def _short(selector: str, range_seconds: float, interval_seconds: float) -> Finding:
    return Finding(
        step="query",
        reason="ShortRange",
        message=f"the range [{short_duration(range_seconds)}] of {selector} is shorter than two scrape intervals "
        f"(one sample every {short_duration(round(interval_seconds, 1))}), so rate() often has no value",
        fix=f"Use [{fitting_range(interval_seconds)}], four scrape intervals, or scrape more often.",
    )
