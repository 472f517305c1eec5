"""Answers shared: identical questions in flight wait for one answer, and a fresh answer serves the next question.

A hundred autoscalers on one metric ask the same thing within a second; Prometheus should hear it once. Both are a
`Prometheus` around a `Prometheus`, so either can be left out in a test or a benchmark.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, Generic, TypeVar

from adapter import telemetry
from adapter.model import Evaluation, Plan, Series
from adapter.ports import Prometheus

Answer = TypeVar("Answer")
Question = TypeVar("Question", bound=Hashable)

FRESHNESS_SECONDS = 1.0
"""Well under every sync period and scrape interval, so that nobody can tell a shared answer from one of their own."""

PLANS_MAX = 20_000
"""How many answers are held: more than anybody asks for within a second."""

_ASKED = telemetry.EVALUATIONS.labels("asked")
_SHARED = telemetry.EVALUATIONS.labels("shared")
_FRESH = telemetry.EVALUATIONS.labels("fresh")


class SingleFlight(Generic[Question, Answer]):
    """While a question is in flight, later callers share its answer, or its failure."""

    def __init__(self) -> None:
        self._in_flight: dict[Question, asyncio.Task[Answer]] = {}

    def __contains__(self, question: Question) -> bool:
        return question in self._in_flight

    async def do(
        self, question: Question, ask: Callable[[], Coroutine[Any, Any, Answer]]
    ) -> Answer:
        """The answer to `question`, asked for at most once at a time."""
        if question not in self._in_flight:
            task = self._in_flight[question] = asyncio.create_task(ask())
            task.add_done_callback(lambda done: self._landed(question, done))
        # shield: one caller's cancellation must not fail the others.
        return await asyncio.shield(self._in_flight[question])

    def _landed(self, question: Question, done: asyncio.Task[Answer]) -> None:
        del self._in_flight[question]
        if not done.cancelled():
            done.exception()  # Seen, even when every caller has gone in the meantime.


class SharedAnswers:
    """A `Prometheus` that asks the one behind it only what it does not know already."""

    def __init__(
        self,
        behind: Prometheus,
        *,
        freshness_seconds: float = FRESHNESS_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`freshness_seconds`: the greatest age of an answer that is served again, counted from when it was asked
        for; 0 shares only what is in flight.
        """
        self._behind = behind
        self._freshness_seconds = freshness_seconds
        self._monotonic = monotonic
        self._flights: SingleFlight[Plan, Evaluation] = SingleFlight()
        self._fresh: dict[Plan, tuple[float, Evaluation]] = {}

    async def evaluate(self, plan: Plan) -> Evaluation:
        """The newest evaluation that is fresh enough, or a new one. A failure is shared but not kept."""
        held = self._fresh.get(plan)
        if held and self._monotonic() - held[0] < self._freshness_seconds:
            _FRESH.inc()
            return held[1]
        (_SHARED if plan in self._flights else _ASKED).inc()
        return await self._flights.do(plan, lambda: self._ask(plan))

    async def series(self, *, match: str, backend: str, max_age_seconds: float) -> Sequence[Series]:
        """Passed on: the catalog asks each selector once as it is."""
        return await self._behind.series(
            match=match, backend=backend, max_age_seconds=max_age_seconds
        )

    async def label_names(
        self, *, match: str, backend: str, max_age_seconds: float
    ) -> Sequence[str]:
        """Passed on."""
        return await self._behind.label_names(
            match=match, backend=backend, max_age_seconds=max_age_seconds
        )

    async def label_values(
        self, label: str, *, match: str, backend: str, max_age_seconds: float
    ) -> Sequence[str]:
        """Passed on."""
        return await self._behind.label_values(
            label, match=match, backend=backend, max_age_seconds=max_age_seconds
        )

    async def _ask(self, plan: Plan) -> Evaluation:
        asked_at = self._monotonic()
        evaluation = await self._behind.evaluate(plan)
        self._fresh.pop(plan, None)  # So that the order of the dict is that of asking.
        self._fresh[plan] = (asked_at, evaluation)
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
