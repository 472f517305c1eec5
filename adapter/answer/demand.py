"""How much a wide query is worth: how many different requests each of its evaluations would answer, and for how many rows.

Pure: time is an argument. What is counted is the same while narrow queries answer and while the wide one does, so that each
decision can be revised.
"""

from typing import Final

REQUESTS_MIN: Final = 2.0
"""Fewer different requests per evaluation save nothing: a lone autoscaler keeps its own query."""
ROWS_PER_REQUEST: Final = 100
"""Rows that cost about as much as a query of its own: Prometheus encodes a row, and the adapter decodes it, in 5 to 10 µs."""
ROWS_MAX: Final = 50_000
BURST_RATIO: Final = 0.5
"""The part of the requests of the current period that counts at once: the first requests after the start are many."""
FORGOTTEN_SECONDS: Final = 300.0
"""A namespace or wide query that was not requested for so long is dropped."""

REFUSED_SECONDS: Final = 600.0
"""After an error that the same query will meet again: many-to-many matching, too many samples, too many rows."""
FAILED_SECONDS: Final = 30.0
"""After an error that may be over soon: a timeout, no connection."""


class Demand:
    """The demand for one wide query."""

    def __init__(self, *, freshness_seconds: float) -> None:
        """`freshness_seconds`: how long an evaluation serves requests."""
        self._freshness_seconds = freshness_seconds
        self._began_at = float("-inf")
        self._queries: set[str] = set()
        self._average = 0.0
        self._rows = 0
        self._suspended_until = float("-inf")

    def requested(self, query: str, now_seconds: float) -> None:
        """A request arrived whose narrow query is `query`."""
        since_seconds = now_seconds - self._began_at
        if since_seconds >= self._freshness_seconds:
            self._average = (
                (self._average + len(self._queries)) / 2
                if self._average
                else float(len(self._queries))
            )
            if since_seconds > FORGOTTEN_SECONDS:
                self._average = 0.0
            self._began_at = now_seconds
            self._queries.clear()
        self._queries.add(query)

    def is_worthwhile(self, now_seconds: float) -> bool:
        """Whether the wide query should answer: it replaces enough queries for the rows that it returns."""
        if now_seconds < self._suspended_until:
            return False
        per_evaluation = max(self._average, len(self._queries) * BURST_RATIO)
        return per_evaluation >= REQUESTS_MIN and self._rows <= min(
            ROWS_MAX, ROWS_PER_REQUEST * per_evaluation
        )

    def evaluated(self, rows: int) -> None:
        """The wide query returned so many rows."""
        self._rows = rows

    def suspend(self, now_seconds: float, seconds: float) -> None:
        """Answer with narrow queries for a while, and then try the wide one again, whatever it returned before."""
        self._suspended_until = now_seconds + seconds
        self._rows = 0
