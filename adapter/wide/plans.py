"""Wide queries in use: which namespaces they are for, and when they are better than the narrow queries of the requests.

A wide query must not hurt. It is used while it replaces several queries and costs less than they do, is restricted to the namespaces that
were requested recently, and where it fails, is slow or returns too much, the narrow queries answer. Its text and its errors name other
namespaces and objects, so they are never shown to a client: every message is about the narrow query.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from adapter import telemetry
from adapter.caches import WIDE_QUERIES_BYTES, SizedCache
from adapter.model import (
    Evaluation,
    Freshness,
    Lane,
    Plan,
    ResultKind,
    Sending,
    Wide,
    WideQuery,
)
from adapter.ports import Evaluator, QueryFailed
from adapter.promql.ages import dated
from adapter.promql.row_selection import has_one_row_per_object, selected, without_labels
from adapter.wide.chunks import NAMESPACES_PER_PLAN, Chunk, Chunks, plan_of
from adapter.wide.concurrently import together
from adapter.wide.demand import (
    FAILED_SECONDS,
    REFUSED_SECONDS,
    Suspension,
)
from adapter.wide.text import PROOFS_BYTES
from wire.process.single_flight import SingleFlight

WAIT_SECONDS: Final = 5.0
"""How long a wide query may take, which is at most a sixth of what requests may wait for their own. Most requests wait less
(`Demand.wait_seconds`).
"""
QUERIES_BYTES: Final = WIDE_QUERIES_BYTES - PROOFS_BYTES
"""What the wide queries and their namespaces take together; the least recently used queries are dropped first. Their requests have
narrow queries for one period: a client that invents namespaces or selectors cannot fill the memory.
"""

log = logging.getLogger(__name__)

# A wide query may be longer than some proxies accept in a URL; then narrow ones answer.
_FOR_REQUESTS: Final = Sending(may_post=True, counts_samples=True, seconds_max=WAIT_SECONDS)
_FOR_LISTS: Final = Sending(lane=Lane.LIST, may_post=True, seconds_max=WAIT_SECONDS)
_FOR_EXPLANATIONS: Final = Sending(lane=Lane.COMMAND, may_post=True, seconds_max=WAIT_SECONDS)


class WidePlans:
    """The wide queries in use. `evaluator` shares evaluations as long as `freshness` says."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        freshness: Freshness,
        fresh: Callable[[Sequence[Plan]], list[Evaluation] | None] = lambda _: None,
        wait_seconds: float = WAIT_SECONDS,
        bytes_max: int = QUERIES_BYTES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fresh`: the results that `evaluator` would return at once. Awaiting what is there costs 5% of the CPU time of a request."""
        self._evaluator = evaluator
        self._fresh = fresh
        self._wait_seconds = wait_seconds
        self._freshness = freshness
        self._monotonic = monotonic
        self._queries: SizedCache[WideQuery, Chunks] = SizedCache(
            bytes_max, lambda _, chunks: chunks.size_bytes
        )
        self._landings: SingleFlight[Chunk, None] = SingleFlight()
        """Wide queries that no request waits for any more, but whose results count."""

    async def evaluation_for(
        self,
        wide: Wide | None,
        narrow: str,
        names: Sequence[str],
        *,
        several: bool = False,
        explains: bool = False,
    ) -> Evaluation | None:
        """What the narrow query of a request, whose text is `narrow`, would return; None when it must be sent.

        `several`: an object has many rows. `explains`: for an explanation, which does not count as demand and whose failure suspends nothing.
        """
        if wide is None or not self._freshness.seconds:
            return None
        now_seconds = self._monotonic()
        chunk = self._chunk(wide, now_seconds, is_known=explains)
        if chunk is None:
            return None
        if not explains:
            chunk.demand.requested(narrow, len(names), now_seconds)
        plans = chunk.plans(wide.namespace, now_seconds)
        if not plans:
            return None
        if explains:
            found = await self._in_time(plans, _FOR_EXPLANATIONS, None)
        elif chunk.demand.measures_own(now_seconds):
            return None
        else:
            found = self._served_again(plans) or await self._awaited(chunk, plans, now_seconds)
            if found is not None:
                self._measure(chunk, found[0])
        if found is None:
            return None
        evaluation, *ages = found
        rows = selected(evaluation, plans[0], wide.rows, names)
        if not rows.samples:
            # That something is missing is an error for most autoscalers: it is never concluded from a query for many.
            return None
        if not several and wide.rows.object_label and not has_one_row_per_object(rows, wide.rows):
            suspension = None if explains else chunk.demand.suspension
            self._suspend(suspension, "several rows for one object", retryable=False)
            return None
        if ages:
            rows = dated(rows, ages[0], plans[1].key_labels)
        return without_labels(rows, wide.rows.dropped)

    def own_query_answered(self, wide: Wide | None, narrow: str, evaluation: Evaluation) -> None:
        """A request had its own query, whose text is `narrow`, and this is what it returned and cost."""
        if wide is None or not self._freshness.seconds:
            return
        now_seconds = self._monotonic()
        chunk = self._chunk(wide, now_seconds, is_known=True)
        if chunk is None:
            return
        chunk.demand.costs.own_took(evaluation.cost, now_seconds)
        if not evaluation.samples:
            chunk.demand.not_replaced(narrow, now_seconds)

    async def of_namespaces(
        self,
        queries: Sequence[WideQuery],
        namespaces: Sequence[str],
        *,
        explains: bool = False,
    ) -> list[list[tuple[Plan, Evaluation]]] | None:
        """The wide queries for these namespaces, each in as many plans as they need; None when one fails or is suspended.

        `explains`: for an explanation, whose failure suspends nothing.
        """
        if any(self._chunks(each).of_lists.is_active(self._monotonic()) for each in queries):
            return None
        namespaces = sorted(namespaces)
        sending = _FOR_EXPLANATIONS if explains else _FOR_LISTS

        async def evaluated(query: WideQuery) -> list[tuple[Plan, Evaluation]]:
            plans = [
                plan_of(query, query.parts, namespaces[first : first + NAMESPACES_PER_PLAN])
                for first in range(0, len(namespaces), NAMESPACES_PER_PLAN)
            ]
            suspension = None if explains else self._chunks(query).of_lists
            found = await self._in_time(plans, sending, suspension)
            return list(zip(plans, found, strict=True)) if found else []

        found = await together([evaluated(query) for query in queries])
        return found if all(found) else None

    def _chunk(self, wide: Wide, now_seconds: float, *, is_known: bool) -> Chunk | None:
        """The chunk of a request; only one that requests have already, if `is_known`."""
        chunks = self._chunks(wide.query)
        before = len(chunks)
        find = chunks.known if is_known else chunks.of
        found = find(wide.namespace, now_seconds)
        has_counted = found is not None and chunks.count_requests(found)
        if has_counted or len(chunks) != before:
            self._queries.keep(wide.query, chunks)
        return found

    def _chunks(self, query: WideQuery) -> Chunks:
        chunks = self._queries.get(query)
        if chunks is None:
            chunks = Chunks(query, self._freshness)
            self._queries.keep(query, chunks)
        return chunks

    async def _awaited(
        self, chunk: Chunk, plans: Sequence[Plan], now_seconds: float
    ) -> list[Evaluation] | None:
        """The results for requests. None if they are late: then no request waits for them until they have arrived."""
        if chunk.awaited_since is None:
            chunk.awaited_since = now_seconds
        wait_seconds = min(chunk.demand.wait_seconds, self._wait_seconds)
        left_seconds = chunk.awaited_since + wait_seconds - now_seconds
        if left_seconds <= 0:
            return None
        try:
            async with asyncio.timeout(left_seconds):
                found = await self._evaluated(plans, _FOR_REQUESTS, chunk.demand.suspension)
        except TimeoutError:
            self._landings.start(chunk, lambda: self._land(chunk, plans))
            return None
        finally:
            if chunk not in self._landings:
                chunk.awaited_since = None
        return found

    def _served_again(self, plans: Sequence[Plan]) -> list[Evaluation] | None:
        """The complete results that no request has to wait for."""
        found = self._fresh(plans)
        return None if found is None or any(map(_is_incomplete, found)) else found

    async def _land(self, chunk: Chunk, plans: Sequence[Plan]) -> None:
        """Wait for results that are late, so that what they cost is known."""
        suspension = chunk.demand.suspension
        try:
            async with asyncio.timeout(self._wait_seconds):
                found = await self._evaluated(plans, _FOR_REQUESTS, suspension)
        except TimeoutError:
            self._suspend(suspension, _late(self._wait_seconds), retryable=True)
        else:
            if found is not None:
                self._measure(chunk, found[0])
        finally:
            chunk.awaited_since = None

    def _measure(self, chunk: Chunk, evaluation: Evaluation) -> None:
        """Compare what an evaluation cost with what it replaces."""
        now_seconds = self._monotonic()
        row_count = len(evaluation.samples)
        if chunk.demand.evaluated(row_count, now_seconds, evaluation.cost):
            telemetry.WIDE_SUSPENSIONS.labels("costly").inc()
            replaced = chunk.demand.replaced(now_seconds)
            log.info(
                "using one query per request: a single query for all of them returns %d rows and is more expensive: %s",
                row_count,
                chunk.demand.costs.sentence(replaced),
            )

    async def _evaluated(
        self, plans: Sequence[Plan], sending: Sending, suspension: Suspension | None
    ) -> list[Evaluation] | None:
        """The complete results; None, after a suspension has begun, if one of them is not. Raises `TimeoutError` of the caller."""
        try:
            found = await together([self._evaluator.evaluate(plan, sending) for plan in plans])
        except QueryFailed as error:
            self._suspend(suspension, error.cause, retryable=error.retryable)
            return None
        if any(map(_is_incomplete, found)):
            self._suspend(suspension, "the result is not complete", retryable=True)
            return None
        return found

    async def _in_time(
        self, plans: Sequence[Plan], sending: Sending, suspension: Suspension | None
    ) -> list[Evaluation] | None:
        """The same for requests that need no short response; None, after a suspension has begun, if it takes too long."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await self._evaluated(plans, sending, suspension)
        except TimeoutError:
            self._suspend(suspension, _late(self._wait_seconds), retryable=True)
            return None

    def _suspend(self, suspension: Suspension | None, cause: str, *, retryable: bool) -> None:
        if suspension is None:
            return
        now_seconds = self._monotonic()
        # Many requests may have waited for the query; the first one reports it.
        if suspension.is_active(now_seconds):
            return
        seconds = suspension.begin(now_seconds, FAILED_SECONDS if retryable else REFUSED_SECONDS)
        telemetry.WIDE_SUSPENSIONS.labels("failed" if retryable else "refused").inc()
        log.info(
            "using one query per request for the next %g s, instead of one for all of them: %s",
            seconds,
            cause,
        )


def _late(wait_seconds: float) -> str:
    return f"no response within {wait_seconds:g} s"


def _is_incomplete(evaluation: Evaluation) -> bool:
    return evaluation.partial or evaluation.kind is not ResultKind.VECTOR
