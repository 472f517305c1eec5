"""How much a wide query is worth: how many different requests each of its evaluations would answer, and for how many rows.

Pure: time is an argument. What is counted is the same while narrow queries answer and while the wide one does, so that each
decision can be revised.
"""

from typing import Final

from adapter.model.freshness import ROW_SECONDS, Freshness

REQUESTS_MIN: Final = 2.0
"""Fewer different requests per evaluation save nothing: a lone autoscaler keeps its own query."""
ROWS_PER_REQUEST: Final = round(0.0025 / ROW_SECONDS)
"""Rows, beside those that the narrow query returns, that cost less than a query: 2.5 ms at most."""
ROWS_MAX: Final = 50_000
BURST_RATIO: Final = 0.5
"""The part of the requests of the current period that counts at once: the first requests after the start are many."""
FORGOTTEN_SECONDS: Final = 300.0
"""A namespace that was not requested for so long is dropped, and so is what was counted of a wide query."""

REFUSED_SECONDS: Final = 600.0
"""After an error that the same query will meet again (many-to-many matching, too many samples), and after too many rows."""
FAILED_SECONDS: Final = 30.0
"""After an error that may be over soon: a timeout, no connection."""


class Suspension:
    """The time for which a wide query is not sent, because it failed; then it is tried again."""

    def __init__(self) -> None:
        self._until = float("-inf")

    def is_active(self, now_seconds: float) -> bool:
        """Whether narrow queries answer."""
        return now_seconds < self._until

    def begin(self, now_seconds: float, seconds: float) -> None:
        """Answer with narrow queries for a while."""
        self._until = now_seconds + seconds


class Demand:
    """The demand for one wide query."""

    def __init__(self, freshness: Freshness) -> None:
        """`freshness`: how long an evaluation serves requests."""
        self.suspension = Suspension()
        self._freshness = freshness
        self._began_at = float("-inf")
        self._period: set[int] = set()
        """The requests of this period, as hashes of their narrow queries."""
        self._rows_allowed_now = 0
        self._requests = 0.0
        self._rows_allowed = 0.0
        self._rows = 0
        self._measured_at = float("-inf")

    @property
    def period_seconds(self) -> float:
        """How long an evaluation serves requests: longer if it is large."""
        return self._freshness.of(self._rows)

    def requested(self, query: str, row_count: int, now_seconds: float) -> None:
        """A request arrived whose narrow query is `query` and returns so many rows."""
        if now_seconds - self._began_at >= self.period_seconds:
            self._requests, self._rows_allowed = self._averages(now_seconds)
            self._began_at = now_seconds
            self._period.clear()
            self._rows_allowed_now = 0
        if hash(query) not in self._period:
            self._period.add(hash(query))
            self._rows_allowed_now += row_count + ROWS_PER_REQUEST

    def is_worthwhile(self, now_seconds: float) -> bool:
        """Whether the wide query should answer: it replaces enough queries for the rows that it returns."""
        if self.suspension.is_active(now_seconds):
            return False
        requests, rows_allowed = self._averages(now_seconds)
        if max(requests, len(self._period) * BURST_RATIO) < REQUESTS_MIN:
            return False
        if now_seconds - self._measured_at > REFUSED_SECONDS:
            return True
        return self._rows <= min(ROWS_MAX, max(rows_allowed, self._rows_allowed_now * BURST_RATIO))

    def evaluated(self, row_count: int, now_seconds: float) -> None:
        """The wide query returned so many rows."""
        self._rows = row_count
        self._measured_at = now_seconds

    def _averages(self, now_seconds: float) -> tuple[float, float]:
        """The requests of a period and the rows allowed for them, with the last period if it has ended."""
        since_seconds = now_seconds - self._began_at
        if since_seconds > FORGOTTEN_SECONDS:
            return 0.0, 0.0
        if since_seconds < self.period_seconds:
            return self._requests, self._rows_allowed
        weight = 0.5 if self._requests else 1.0
        return (
            self._requests + weight * (len(self._period) - self._requests),
            self._rows_allowed + weight * (self._rows_allowed_now - self._rows_allowed),
        )
