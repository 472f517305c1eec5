"""Evaluations shared by requests: equal plans in flight wait for one answer, and a fresh answer serves the next request.

A hundred autoscalers on one metric request it within a second. An answer is fresh for 1 s, or up to 3 s if it is large, and longer
if Prometheus is slow (`adapter.model.freshness`); where scrapes are known, until the next one (`adapter.model.scrapes`). It is an `Evaluator` around an `Evaluator`, so a test or a benchmark can leave it out.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from adapter import telemetry
from adapter.caches import EVALUATIONS_BYTES
from adapter.fetch.known_scrapes import TAKEN_SECONDS_MAX, KnownScrapes
from adapter.model import FOR_AUTOSCALER, Evaluation, Freshness, Plan, Sending
from adapter.ports import Evaluator
from wire.process.single_flight import SingleFlight
from wire.process.text_bytes import text_bytes

_EVALUATION_BYTES: Final = 1_000
"""What an evaluation takes beside its query and rows, roughly."""
_SENT = telemetry.EVALUATIONS.labels("sent")
_SHARED = telemetry.EVALUATIONS.labels("shared")
_FRESH = telemetry.EVALUATIONS.labels("fresh")


class _Kept(msgspec.Struct, frozen=True):
    """An answer, when its query was sent, until when it is fresh, and what it takes."""

    sent_at: float
    fresh_until: float
    evaluation: Evaluation
    size_bytes: int


class SharedEvaluations:
    """An `Evaluator` that sends only what is neither in flight nor fresh."""

    def __init__(
        self,
        behind: Evaluator,
        *,
        freshness: Freshness,
        scrapes: KnownScrapes | None = None,
        bytes_max: int = EVALUATIONS_BYTES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`freshness`: the greatest age of an answer that is served again. `scrapes`: when it is evaluated earlier, or later, within that."""
        self._behind = behind
        self._freshness = freshness
        self._scrapes = scrapes
        self._monotonic = monotonic
        # By lane: an autoscaler must not wait for a query that lets others go first.
        self._flights: SingleFlight[tuple[Plan, Sending], Evaluation] = SingleFlight()
        self._fresh: OrderedDict[Plan, _Kept] = OrderedDict()
        self._bytes_max = bytes_max
        self.size_bytes = 0
        """What the kept evaluations take, by the estimates."""

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        """The newest evaluation if it is fresh enough, else a new one. A failure is shared but not kept."""
        fresh = self.fresh((plan,))
        if fresh is not None:
            return fresh[0]
        flight = (plan, sending)
        (_SHARED if flight in self._flights else _SENT).inc()
        return await self._flights.do(flight, lambda: self._send(plan, sending))

    def fresh(self, plans: Sequence[Plan]) -> list[Evaluation] | None:
        """The newest evaluations, to be served; None if one of them is not fresh enough."""
        now_seconds = self._monotonic()
        held = [self._fresh.get(plan) for plan in plans]
        found = [each.evaluation for each in held if each and now_seconds < each.fresh_until]
        if len(found) < len(plans):
            return None
        _FRESH.inc(len(found))
        return found

    async def _send(self, plan: Plan, sending: Sending) -> Evaluation:
        sent_at = self._monotonic()
        evaluation = await self._behind.evaluate(plan, sending)
        held = self._fresh.get(plan)
        if held is not None and held.sent_at > sent_at:
            return evaluation  # Another lane was faster.
        self._drop(plan)  # So that the dict is in the order of arrival.
        taken_seconds = self._monotonic() - sent_at
        fresh_until = self._fresh_until(plan, evaluation, sent_at, taken_seconds)
        size_bytes = _size_bytes(plan, evaluation)
        self._fresh[plan] = _Kept(sent_at, fresh_until, evaluation, size_bytes)
        self.size_bytes += size_bytes
        self._forget()
        return evaluation

    def _fresh_until(
        self, plan: Plan, evaluation: Evaluation, sent_at: float, taken_seconds: float
    ) -> float:
        bound_seconds = self._freshness.of(len(evaluation.samples), taken_seconds)
        if self._scrapes is None or taken_seconds > TAKEN_SECONDS_MAX:
            return sent_at + bound_seconds
        self._scrapes.evaluated(plan, evaluation, sent_at)
        scrapes = self._scrapes.of(plan)
        if scrapes is None:
            return sent_at + bound_seconds
        return scrapes.reused_until(
            sent_at,
            fresh_seconds=bound_seconds,
            longest_seconds=self._freshness.longest_seconds,
        )

    def _forget(self) -> None:
        """Drop outdated results, oldest first, and results beyond the limit."""
        now_seconds = self._monotonic()
        while self._fresh:
            oldest = next(iter(self._fresh))
            is_fresh = now_seconds < self._fresh[oldest].fresh_until
            if is_fresh and self.size_bytes <= self._bytes_max:
                return
            self._drop(oldest)

    def _drop(self, plan: Plan) -> None:
        held = self._fresh.pop(plan, None)
        if held:
            self.size_bytes -= held.size_bytes


def _size_bytes(plan: Plan, evaluation: Evaluation) -> int:
    return _EVALUATION_BYTES + text_bytes(plan.query) + evaluation.size_bytes
