"""How much a wide query is worth: how many different requests each of its evaluations would answer, and for how many rows.

Pure: time is an argument. What is counted is the same while narrow queries answer and while the wide one does, so that each
decision can be revised.
"""

from typing import Final

REQUESTS_MIN: Final = 2.0
"""Fewer different requests per evaluation save nothing: a lone autoscaler keeps its own query."""
ROWS_PER_REQUEST: Final = 250
"""Rows, beside those that the narrow query returns, that cost less than a query: a row takes Prometheus and the adapter 2 to 5 µs each,
and a query 2 ms."""
ROWS_MAX: Final = 50_000
BURST_RATIO: Final = 0.5
"""The part of the requests of the current period that counts at once: the first requests after the start are many."""
FORGOTTEN_SECONDS: Final = 300.0
"""A namespace or wide query that was not requested for so long is dropped."""

REFUSED_SECONDS: Final = 600.0
"""After an error that the same query will meet again (many-to-many matching, too many samples), and after too many rows."""
FAILED_SECONDS: Final = 30.0
"""After an error that may be over soon: a timeout, no connection."""


class Demand:
    """The demand for one wide query."""

    def __init__(self, *, freshness_seconds: float) -> None:
        """`freshness_seconds`: how long an evaluation serves requests."""
        self._freshness_seconds = freshness_seconds
        self._began_at = float("-inf")
        self._period: set[int] = set()
        """The requests of this period, as hashes of their narrow queries."""
        self._rows_allowed_now = 0
        self._requests = 0.0
        self._rows_allowed = 0.0
        self._rows = 0
        self._measured_at = float("-inf")
        self._suspended_until = float("-inf")

    def requested(self, query: str, rows: int, now_seconds: float) -> None:
        """A request arrived whose narrow query is `query` and returns so many rows."""
        since_seconds = now_seconds - self._began_at
        if since_seconds >= self._freshness_seconds:
            if since_seconds > FORGOTTEN_SECONDS:
                self._period.clear()
                self._rows_allowed_now = 0
                self._requests = self._rows_allowed = 0.0
            weight = 0.5 if self._requests else 1.0
            self._requests += weight * (len(self._period) - self._requests)
            self._rows_allowed += weight * (self._rows_allowed_now - self._rows_allowed)
            self._began_at = now_seconds
            self._period.clear()
            self._rows_allowed_now = 0
        if hash(query) not in self._period:
            self._period.add(hash(query))
            self._rows_allowed_now += rows + ROWS_PER_REQUEST

    def is_worthwhile(self, now_seconds: float) -> bool:
        """Whether the wide query should answer: it replaces enough queries for the rows that it returns."""
        if now_seconds < self._suspended_until:
            return False
        if max(self._requests, len(self._period) * BURST_RATIO) < REQUESTS_MIN:
            return False
        if now_seconds - self._measured_at > REFUSED_SECONDS:
            return True
        allowed = max(self._rows_allowed, self._rows_allowed_now * BURST_RATIO)
        return self._rows <= min(ROWS_MAX, allowed)

    def evaluated(self, rows: int, now_seconds: float) -> None:
        """The wide query returned so many rows."""
        self._rows = rows
        self._measured_at = now_seconds

    def suspend(self, now_seconds: float, seconds: float) -> None:
        """Answer with narrow queries for a while, and then try the wide one again."""
        self._suspended_until = now_seconds + seconds
