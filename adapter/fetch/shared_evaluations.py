"""Evaluations shared by requests: equal plans in flight wait for one answer, and a fresh answer serves the next request.

A hundred autoscalers on one metric request it within a second; Prometheus should evaluate it once. It is an `Evaluator`
around an `Evaluator`, so a test or a benchmark can leave it out.
"""

import time
from collections.abc import Callable

from adapter import telemetry
from adapter.model import Evaluation, Plan
from adapter.ports import Evaluator
from wire.single_flight import SingleFlight

FRESHNESS_SECONDS = 1.0
"""Well under every sync period and scrape interval, so that a shared answer is as good as one of its own."""

PLANS_MAX = 20_000
"""How many answers are held: more than are requested within a second."""

_SENT = telemetry.EVALUATIONS.labels("sent")
_SHARED = telemetry.EVALUATIONS.labels("shared")
_FRESH = telemetry.EVALUATIONS.labels("fresh")


class SharedEvaluations:
    """An `Evaluator` that sends only what is neither in flight nor fresh."""

    def __init__(
        self,
        behind: Evaluator,
        *,
        freshness_seconds: float = FRESHNESS_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`freshness_seconds`: the greatest age of an answer that is served again, counted from when it was sent for;
        0 shares only what is in flight.
        """
        self._behind = behind
        self._freshness_seconds = freshness_seconds
        self._monotonic = monotonic
        self._flights: SingleFlight[Plan, Evaluation] = SingleFlight()
        self._fresh: dict[Plan, tuple[float, Evaluation]] = {}

    async def evaluate(self, plan: Plan) -> Evaluation:
        """The newest evaluation if it is fresh enough, else a new one. A failure is shared but not kept."""
        held = self._fresh.get(plan)
        if held and self._monotonic() - held[0] < self._freshness_seconds:
            _FRESH.inc()
            return held[1]
        (_SHARED if plan in self._flights else _SENT).inc()
        return await self._flights.do(plan, lambda: self._send(plan))

    async def _send(self, plan: Plan) -> Evaluation:
        sent_at = self._monotonic()
        evaluation = await self._behind.evaluate(plan)
        self._fresh.pop(plan, None)  # So that the dict is in the order of sending.
        self._fresh[plan] = (sent_at, evaluation)
        self._forget()
        return evaluation

    def _forget(self) -> None:
        """Drop what is no longer fresh, oldest first."""
        outdated_before = self._monotonic() - self._freshness_seconds
        while self._fresh:
            oldest = next(iter(self._fresh))
            if self._fresh[oldest][0] > outdated_before and len(self._fresh) <= PLANS_MAX:
                return
            del self._fresh[oldest]
