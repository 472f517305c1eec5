"""Evaluations shared by requests: equal plans in flight wait for one answer, and a fresh answer serves the next request.

A hundred autoscalers on one metric request it within a second; Prometheus should evaluate it once. A plan that is needed on a period
is evaluated just before. It is an `Evaluator` around an `Evaluator`, so a test or a benchmark can leave it out.
"""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from cachetools import LRUCache

from adapter import telemetry
from adapter.fetch.needs import Needs
from adapter.model import Evaluation, Freshness, Plan
from adapter.ports import Evaluator
from wire.process.single_flight import SingleFlight

PLANS_MAX: Final = 20_000
"""How many answers are held: more than are requested within a second."""
ROWS_MAX: Final = 200_000
"""How many rows all of them have: about 100 MB."""
NEEDS_MAX: Final = 20_000
"""How many plans are followed, to refresh those that are needed on a period: about 8 MB. Their texts are not kept: with pods that come
and go, most of these plans will never be needed again.
"""

_SENT = telemetry.EVALUATIONS.labels("sent")
_SHARED = telemetry.EVALUATIONS.labels("shared")
_FRESH = telemetry.EVALUATIONS.labels("fresh")
_AHEAD = telemetry.EVALUATIONS.labels("ahead")

IS_AHEAD_USEFUL: Final = ContextVar("IS_AHEAD_USEFUL", default=True)
"""Whether the plans of the current task may be evaluated before they are needed. A round can wait for its results, and should have the newest ones."""

CallAt = Callable[[float, Callable[[], None]], object]
"""Calls a function at a time of `monotonic`."""


def _call_at(at_seconds: float, call: Callable[[], None]) -> object:
    delay_seconds = at_seconds - time.monotonic()
    return asyncio.get_running_loop().call_later(max(0.0, delay_seconds), call)


class SharedEvaluations:
    """An `Evaluator` that sends only what is neither in flight nor fresh."""

    def __init__(
        self,
        behind: Evaluator,
        *,
        freshness: Freshness,
        monotonic: Callable[[], float] = time.monotonic,
        call_at: CallAt = _call_at,
    ) -> None:
        """`freshness`: the greatest age of an answer that is served again."""
        self._behind = behind
        self._freshness = freshness
        self._monotonic = monotonic
        self._call_at = call_at
        self._flights: SingleFlight[Plan, Evaluation] = SingleFlight()
        self._fresh: dict[Plan, tuple[float, Evaluation]] = {}
        self._rows = 0
        self._needs: LRUCache[int, Needs] = LRUCache(NEEDS_MAX)

    async def evaluate(self, plan: Plan) -> Evaluation:
        """The newest evaluation if it is fresh enough, else a new one. A failure is shared but not kept."""
        now_seconds = self._monotonic()
        held = self._fresh.get(plan)
        is_fresh = held is not None and now_seconds - held[0] < self._bound_seconds(held[1])
        self._follow(plan, now_seconds, sent_at=held[0] if held and is_fresh else now_seconds)
        if held and is_fresh:
            _FRESH.inc()
            return held[1]
        (_SHARED if plan in self._flights else _SENT).inc()
        return await self._flights.do(plan, lambda: self._send(plan))

    async def _send(self, plan: Plan) -> Evaluation:
        sent_at = self._monotonic()
        evaluation = await self._behind.evaluate(plan)
        self._drop(plan)  # So that the dict is in the order of sending.
        self._fresh[plan] = (sent_at, evaluation)
        self._rows += len(evaluation.samples)
        self._forget()
        needs = self._needs.get(hash(plan))
        if needs:
            needs.duration_seconds = self._monotonic() - sent_at
            needs.freshness_seconds = self._bound_seconds(evaluation)
        return evaluation

    def _bound_seconds(self, evaluation: Evaluation) -> float:
        return self._freshness.of(len(evaluation.samples))

    def _follow(self, plan: Plan, now_seconds: float, *, sent_at: float) -> None:
        """Refresh it shortly before its next expected request. Each request causes one refresh at most, so a plan that is no longer
        requested is refreshed once.
        """
        if not self._freshness.seconds or not IS_AHEAD_USEFUL.get():
            return
        needs = self._needs.get(hash(plan))
        if needs is None:
            needs = Needs(freshness_seconds=self._freshness.seconds)
            self._needs[hash(plan)] = needs
        if needs.requested(now_seconds) and (at_seconds := needs.refresh_at(sent_at=sent_at)):
            self._call_at(at_seconds, lambda: self._refresh(plan, sent_at))

    def _refresh(self, plan: Plan, sent_at: float) -> None:
        """Evaluate it, unless a request has done so since. A failure is left to the next request."""
        held = self._fresh.get(plan)
        is_newer = held is not None and held[0] - sent_at > self._freshness.seconds / 4
        if plan not in self._flights and not is_newer:
            _AHEAD.inc()
            self._flights.start(plan, lambda: self._send(plan))

    def _forget(self) -> None:
        """Drop outdated results, oldest first, and results beyond the limits."""
        now_seconds = self._monotonic()
        while self._fresh:
            oldest = next(iter(self._fresh))
            sent_at, evaluation = self._fresh[oldest]
            is_fresh = now_seconds - sent_at < self._bound_seconds(evaluation)
            if is_fresh and len(self._fresh) <= PLANS_MAX and self._rows <= ROWS_MAX:
                return
            self._drop(oldest)

    def _drop(self, plan: Plan) -> None:
        held = self._fresh.pop(plan, None)
        if held:
            self._rows -= len(held[1].samples)
