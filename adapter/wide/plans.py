"""Wide queries in use: which namespaces they are for, and when they are better than the narrow queries of the requests.

A wide query must not hurt. It is used while it replaces several queries, is restricted to the namespaces that were requested
recently, and where it fails, is slow or returns too much, the narrow queries answer. Its text and its errors name other
namespaces and objects, so they are never shown to a client: every message is about the narrow query.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from cachetools import LRUCache

from adapter import telemetry
from adapter.model import Evaluation, Lane, MetricQuery, Plan, ResultKind, Sending, Wide, WideQuery
from adapter.ports import Evaluator, QueryFailed
from adapter.promql.ages import dated
from adapter.promql.row_selection import has_one_row_per_object, selected, without_labels
from adapter.wide.concurrently import together
from adapter.wide.demand import FAILED_SECONDS, FORGOTTEN_SECONDS, REFUSED_SECONDS, Demand
from adapter.wide.text import text_for

NAMESPACES_PER_PLAN: Final = 400
"""Namespaces in one query; at most 25 kB of text."""
WAIT_SECONDS: Final = 5.0
"""How long requests wait for a wide query, which is at most a sixth of what they may wait for their own."""
QUERIES_MAX: Final = 4_096
"""Wide queries that are known; the least recently used are dropped first."""
NAMESPACES_MAX: Final = 100_000
"""Namespaces of all wide queries together, counted when they are added. Then all are forgotten, and requests have narrow queries
for one period: a client that invents namespaces cannot fill the memory.
"""

log = logging.getLogger(__name__)

# A wide query may be longer than some proxies accept in a URL; then narrow ones answer.
_FOR_REQUESTS: Final = Sending(may_post=True)
_FOR_LISTS: Final = Sending(lane=Lane.LIST, may_post=True)


class WidePlans:
    """The wide queries in use. `evaluator` shares evaluations for `freshness_seconds`."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        freshness_seconds: float,
        wait_seconds: float = WAIT_SECONDS,
        namespaces_max: int = NAMESPACES_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._evaluator = evaluator
        self._wait_seconds = wait_seconds
        self._freshness_seconds = freshness_seconds
        self._monotonic = monotonic
        self._queries: LRUCache[WideQuery, _Chunks] = LRUCache(QUERIES_MAX)
        self._namespaces_added = 0
        self._namespaces_max = namespaces_max

    async def rows(self, query: MetricQuery, names: Sequence[str]) -> Evaluation | None:
        """The rows of the request, as its narrow query would return them; None when the narrow query must answer."""
        return await self.rows_of(query.wide, query.plan.query, names)

    async def explained(self, query: MetricQuery, names: Sequence[str]) -> Evaluation | None:
        """As `rows`, for a request that does not count as demand."""
        chunks = self._queries.get(query.wide.query) if query.wide else None
        chunk = chunks.known(query.wide.namespace) if chunks is not None and query.wide else None
        if chunk is None or query.wide is None:
            return None
        now_seconds = self._monotonic()
        if not chunk.demand.is_worthwhile(now_seconds):
            return None
        plans = chunk.plans(query.wide.namespace, now_seconds)
        if plans is None:
            return None
        return await self._evaluated(chunk, plans, query.wide, names, several=False)

    async def rows_of(
        self, wide: Wide | None, narrow: str, names: Sequence[str], *, several: bool = False
    ) -> Evaluation | None:
        """The same for a part of a query; `narrow` is the text of its own query. `several`: an object has many rows."""
        if wide is None or not self._freshness_seconds:
            return None
        chunk = self._chunk(wide)
        now_seconds = self._monotonic()
        chunk.requested(wide.namespace, narrow, len(names), now_seconds)
        if not chunk.demand.is_worthwhile(now_seconds):
            return None
        plans = chunk.plans(wide.namespace, now_seconds)
        if plans is None:
            return None
        return await self._evaluated(chunk, plans, wide, names, several=several)

    async def of_namespaces(
        self, query: WideQuery, namespaces: Sequence[str]
    ) -> list[tuple[Plan, Evaluation]] | None:
        """The wide query for these namespaces, in as many plans as they need; None when one of them fails."""
        plans = [
            _plan(query, query.parts, sorted(namespaces[first : first + NAMESPACES_PER_PLAN]))
            for first in range(0, len(namespaces), NAMESPACES_PER_PLAN)
        ]
        try:
            async with asyncio.timeout(self._wait_seconds):
                found = await asyncio.gather(
                    *(self._evaluator.evaluate(plan, _FOR_LISTS) for plan in plans)
                )
        except (QueryFailed, TimeoutError):
            return None
        return None if any(map(_is_incomplete, found)) else list(zip(plans, found, strict=True))

    def _chunk(self, wide: Wide) -> "_Chunk":
        if self._namespaces_added > self._namespaces_max:
            self._namespaces_added = 0
            self._queries.clear()
        chunks = self._queries.get(wide.query)
        if chunks is None:
            chunks = self._queries[wide.query] = _Chunks(wide.query, self._freshness_seconds)
        if wide.namespace not in chunks:
            self._namespaces_added += 1
        return chunks.of(wide.namespace)

    async def _evaluated(
        self,
        chunk: "_Chunk",
        plans: Sequence[Plan],
        wide: Wide,
        names: Sequence[str],
        *,
        several: bool,
    ) -> Evaluation | None:
        try:
            async with asyncio.timeout(self._wait_seconds):
                evaluation, *ages = await together(
                    [self._evaluator.evaluate(plan, _FOR_REQUESTS) for plan in plans]
                )
        except QueryFailed as error:
            self._suspend(chunk, error.cause, retryable=error.retryable)
            return None
        except TimeoutError:
            self._suspend(chunk, f"no response within {self._wait_seconds:g} s", retryable=True)
            return None
        if any(map(_is_incomplete, (evaluation, *ages))):
            self._suspend(chunk, "the result is not complete", retryable=True)
            return None
        chunk.demand.evaluated(len(evaluation.samples), self._monotonic())
        found = selected(evaluation, plans[0], wide.rows, names)
        if not several and wide.rows.object_label and not has_one_row_per_object(found, wide.rows):
            self._suspend(chunk, "several rows for one object", retryable=False)
            return None
        if ages:
            found = dated(found, ages[0], plans[1].key_labels)
        return without_labels(found, wide.rows.dropped)

    def _suspend(self, chunk: "_Chunk", cause: str, *, retryable: bool) -> None:
        seconds = FAILED_SECONDS if retryable else REFUSED_SECONDS
        now_seconds = self._monotonic()
        if chunk.demand.is_worthwhile(now_seconds):
            telemetry.WIDE_SUSPENSIONS.labels("failed" if retryable else "refused").inc()
            log.info("one query per request for the next %g s, not one for all: %s", seconds, cause)
        chunk.demand.suspend(now_seconds, seconds)


def _is_incomplete(evaluation: Evaluation) -> bool:
    return evaluation.partial or evaluation.kind is not ResultKind.VECTOR


def _plan(query: WideQuery, parts: Sequence[str], namespaces: Sequence[str]) -> Plan:
    return Plan(text_for(parts, namespaces), query.backend, key_labels=query.key_labels)


class _Chunks:
    """One wide query, in as many plans as its namespaces need."""

    def __init__(self, query: WideQuery, freshness_seconds: float) -> None:
        self._query = query
        self._freshness_seconds = freshness_seconds
        self._chunks: list[_Chunk] = []
        self._chunk_of: dict[str, _Chunk] = {}

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._chunk_of

    def known(self, namespace: str) -> "_Chunk | None":
        return self._chunk_of.get(namespace)

    def of(self, namespace: str) -> "_Chunk":
        """The chunk that a namespace belongs to, also a new one."""
        known = self._chunk_of.get(namespace)
        if known is not None:
            return known
        chunk = next((each for each in self._chunks if each.has_capacity), None)
        if chunk is None:
            chunk = _Chunk(self._query, self._freshness_seconds, self._forget)
            self._chunks.append(chunk)
        self._chunk_of[namespace] = chunk
        return chunk

    def _forget(self, namespace: str) -> None:
        del self._chunk_of[namespace]


class _Chunk:
    """One plan for some of the namespaces."""

    def __init__(
        self, query: WideQuery, freshness_seconds: float, forget: Callable[[str], None]
    ) -> None:
        self.demand = Demand(freshness_seconds=freshness_seconds)
        self._query = query
        self._freshness_seconds = freshness_seconds
        self._forget = forget
        self._requested_at: dict[str, float] = {}
        self._included: frozenset[str] = frozenset()
        self._built_at = float("-inf")
        self._plans: tuple[Plan, ...] = ()

    @property
    def has_capacity(self) -> bool:
        return len(self._requested_at) < NAMESPACES_PER_PLAN

    def requested(self, namespace: str, narrow: str, rows: int, now_seconds: float) -> None:
        self._requested_at[namespace] = now_seconds
        self.demand.requested(narrow, rows, now_seconds)

    def plans(self, namespace: str, now_seconds: float) -> Sequence[Plan] | None:
        """The plan and the one for its ages, if any; None while the namespace is not in it yet.

        The text changes once per period of freshness at most, so that new namespaces do not cause a query each.
        """
        if now_seconds - self._built_at >= self._freshness_seconds:
            self._build(now_seconds)
        return self._plans if namespace in self._included else None

    def _build(self, now_seconds: float) -> None:
        self._built_at = now_seconds
        oldest = now_seconds - FORGOTTEN_SECONDS
        for namespace in [each for each, at in self._requested_at.items() if at < oldest]:
            del self._requested_at[namespace]
            self._forget(namespace)
        included = frozenset(self._requested_at)
        if included == self._included and self._plans:
            return
        self._included = included
        namespaces = sorted(included)
        self._plans = tuple(
            _plan(self._query, parts, namespaces)
            for parts in (self._query.parts, self._query.ages)
            if parts
        )
