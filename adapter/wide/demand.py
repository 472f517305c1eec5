"""How much a wide query is worth: how many different requests each of its evaluations would answer, for how many rows, and at what cost.

Pure: time is an argument. What is counted is the same while narrow queries answer and while the wide one does, so that each
decision can be revised.
"""

from typing import Final

from adapter.model import Cost
from adapter.model.freshness import ROW_SECONDS, Freshness
from adapter.wide.costs import UNKNOWN, Costs

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
"""After an error that the same query will meet again (many-to-many matching, too many samples). The longest time after other errors."""
FAILED_SECONDS: Final = 30.0
"""After an error that may be over soon: a timeout, no connection. It doubles with each further one."""

TRIED_AGAIN_SECONDS_MIN: Final = 30.0
"""When a wide query that does not save anything is evaluated again. The time doubles each time that it cost more than what it replaces."""
TRIED_AGAIN_SECONDS_MAX: Final = 3_600.0


class Suspension:
    """The time for which a wide query is not sent, because it failed; then it is tried again."""

    __slots__ = ("_failures", "_until")

    def __init__(self) -> None:
        self._until = float("-inf")
        self._failures = 0

    def is_active(self, now_seconds: float) -> bool:
        """Whether narrow queries answer."""
        return now_seconds < self._until

    def begin(self, now_seconds: float, seconds: float) -> float:
        """Answer with narrow queries for a while, which is longer after each failure. Returns for how long."""
        grown_seconds = min(seconds * 2.0**self._failures, max(seconds, REFUSED_SECONDS))
        self._failures += 1
        self._until = now_seconds + grown_seconds
        return grown_seconds

    def succeeded(self) -> None:
        """The wide query has answered."""
        self._failures = 0


class Demand:
    """The demand for one wide query."""

    # There may be thousands, and few of them are in use.
    __slots__ = (
        "_began_at", "_cost_more", "_freshness", "_is_trusted", "_measured_at", "_period", "_requests", "_rows", "_rows_allowed", "_rows_allowed_now",
        "_tried_again_seconds", "_without_rows", "costs", "period_seconds", "suspension",
    )  # fmt: skip

    def __init__(self, freshness: Freshness) -> None:
        """`freshness`: how long an evaluation serves requests."""
        self.suspension = Suspension()
        self.costs = Costs()
        self._freshness = freshness
        self.period_seconds = freshness.of(0)
        """How long an evaluation serves requests: longer if it is large, or slow."""
        self._began_at = float("-inf")
        self._period: set[int] = set()
        """The requests of this period, as hashes of their narrow queries."""
        self._without_rows: dict[int, float] = {}
        """Those whose narrow queries returned nothing, in this period or the one before, and when. No wide query replaces them."""
        self._rows_allowed_now = 0
        self._requests = 0.0
        self._rows_allowed = 0.0
        self._rows = 0
        self._measured_at = float("-inf")
        self._cost_more = False
        self._is_trusted = False
        """Whether the wide query is known to have cost no more than what it replaced, when it was evaluated last."""
        self._tried_again_seconds = TRIED_AGAIN_SECONDS_MIN

    @property
    def kept_requests(self) -> int:
        """How many requests are kept to count each of them once."""
        return len(self._period) + len(self._without_rows)

    def requested(self, query: str, row_count: int, now_seconds: float) -> None:
        """A request arrived whose narrow query is `query` and returns so many rows."""
        if now_seconds - self._began_at >= self.period_seconds:
            self._requests, self._rows_allowed = self._averages(now_seconds)
            self._without_rows = {
                key: at for key, at in self._without_rows.items() if at >= self._began_at
            }
            self._began_at = now_seconds
            self._period.clear()
            self._rows_allowed_now = 0
        key = hash(query)
        if key in self._period or key in self._without_rows:
            return
        self._period.add(key)
        self._rows_allowed_now += row_count + ROWS_PER_REQUEST

    def not_replaced(self, query: str, now_seconds: float) -> None:
        """The narrow query of a request returned nothing."""
        self._period.discard(hash(query))
        self._without_rows[hash(query)] = now_seconds

    def is_worthwhile(self, now_seconds: float) -> bool:
        """Whether the wide query should answer: it replaces enough queries for what it costs."""
        if self.suspension.is_active(now_seconds):
            return False
        requests, rows_allowed = self._averages(now_seconds)
        replaced = self._with_burst(requests)
        if replaced < REQUESTS_MIN:
            return False
        return self._is_due(now_seconds) or self._saves(replaced, rows_allowed)

    @property
    def wait_seconds(self) -> float:
        """How long a request waits for the wide query before it sends its own."""
        return self.costs.wait_seconds(is_trusted=self._is_trusted)

    def measures_own(self, now_seconds: float) -> bool:
        """Whether a request should have its narrow query only to measure what that costs."""
        return self.costs.own_may_be_outdated(now_seconds) and self.costs.measures_own(
            self.replaced(now_seconds), now_seconds
        )

    def evaluated(self, row_count: int, now_seconds: float, cost: Cost = UNKNOWN) -> bool:
        """The wide query returned so many rows. Returns whether that has shown that it costs more than what it replaces."""
        was_due = self._is_due(now_seconds)
        self._measured_at = now_seconds
        if not was_due and (row_count, cost) == (self._rows, self.costs.wide):
            return False  # The same evaluation has answered another request.
        self._rows = row_count
        self.costs.wide_took(cost, now_seconds)
        self.period_seconds = self._freshness.of(row_count, cost.seconds)
        self.suspension.succeeded()
        requests, rows_allowed = self._averages(now_seconds)
        replaced = self._with_burst(requests)
        saves = self._saves(replaced, rows_allowed)
        self._is_trusted = self._saves(replaced, rows_allowed, in_doubt=False)
        cost_more, self._cost_more = self._cost_more, not saves
        if not self._cost_more:
            self._tried_again_seconds = TRIED_AGAIN_SECONDS_MIN
            return False
        if cost_more and not was_due:
            return False
        self._tried_again_seconds = min(2 * self._tried_again_seconds, TRIED_AGAIN_SECONDS_MAX)
        return True

    def replaced(self, now_seconds: float) -> float:
        """How many narrow queries an evaluation replaces."""
        return self._with_burst(self._averages(now_seconds)[0])

    def _with_burst(self, requests: float) -> float:
        return max(requests, len(self._period) * BURST_RATIO)

    def _is_due(self, now_seconds: float) -> bool:
        """Whether the wide query was never measured, or so long ago that it is measured again whatever it took."""
        return now_seconds - self._measured_at > self._tried_again_seconds

    def _saves(self, replaced: float, rows_allowed: float, *, in_doubt: bool = True) -> bool:
        """Whether what the wide query took when it was measured is less than what it replaces now; `in_doubt`, if that is not known."""
        if self._rows > min(ROWS_MAX, max(rows_allowed, self._rows_allowed_now * BURST_RATIO)):
            return False
        return self.costs.are_saved(replaced, in_doubt=in_doubt)

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
