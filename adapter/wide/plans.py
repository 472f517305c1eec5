"""Wide queries in use: which namespaces they are for, and when they are better than the narrow queries of the requests.

A wide query must not hurt. It is used while it replaces several queries, is restricted to the namespaces that were requested
recently, and where it fails, is slow or returns too much, the narrow queries answer. Its text and its errors name other
namespaces and objects, so they are never shown to a client: every message is about the narrow query.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from cachetools import LRUCache

from adapter import telemetry
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
from adapter.wide.concurrently import together
from adapter.wide.demand import (
    FAILED_SECONDS,
    FORGOTTEN_SECONDS,
    REFUSED_SECONDS,
    Demand,
    Suspension,
)
from adapter.wide.text import text_for

NAMESPACES_PER_PLAN: Final = 400
"""Namespaces in one query; at most 25 kB of text."""
WAIT_SECONDS: Final = 5.0
"""How long requests wait for a wide query, which is at most a sixth of what they may wait for their own."""
QUERIES_MAX: Final = 4_096
"""Wide queries that are known; the least recently used are dropped first."""
NAMESPACES_MAX: Final = 100_000
"""Namespaces of all wide queries together. Beyond it all are forgotten, and requests have narrow queries for one period: a client
that invents namespaces cannot fill the memory.
"""

log = logging.getLogger(__name__)

# A wide query may be longer than some proxies accept in a URL; then narrow ones answer.
_FOR_REQUESTS: Final = Sending(may_post=True)
_FOR_LISTS: Final = Sending(lane=Lane.LIST, may_post=True)
_FOR_EXPLANATIONS: Final = Sending(lane=Lane.COMMAND, may_post=True)


class WidePlans:
    """The wide queries in use. `evaluator` shares evaluations as long as `freshness` says."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        freshness: Freshness,
        wait_seconds: float = WAIT_SECONDS,
        namespaces_max: int = NAMESPACES_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._evaluator = evaluator
        self._wait_seconds = wait_seconds
        self._freshness = freshness
        self._monotonic = monotonic
        self._queries: LRUCache[WideQuery, _Chunks] = LRUCache(QUERIES_MAX)
        self._namespaces = 0
        self._namespaces_max = namespaces_max

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
        sending = _FOR_EXPLANATIONS if explains else _FOR_REQUESTS
        suspension = None if explains else chunk.demand.suspension
        plans = chunk.plans(wide.namespace, now_seconds)
        found = await self._evaluated(plans, sending, suspension) if plans else None
        if plans is None or found is None:
            return None
        evaluation, *ages = found
        chunk.demand.evaluated(len(evaluation.samples), self._monotonic())
        rows = selected(evaluation, plans[0], wide.rows, names)
        if not several and wide.rows.object_label and not has_one_row_per_object(rows, wide.rows):
            self._suspend(suspension, "several rows for one object", retryable=False)
            return None
        if ages:
            rows = dated(rows, ages[0], plans[1].key_labels)
        return without_labels(rows, wide.rows.dropped)

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
                _plan(query, query.parts, namespaces[first : first + NAMESPACES_PER_PLAN])
                for first in range(0, len(namespaces), NAMESPACES_PER_PLAN)
            ]
            suspension = None if explains else self._chunks(query).of_lists
            found = await self._evaluated(plans, sending, suspension)
            return list(zip(plans, found, strict=True)) if found else []

        found = await together([evaluated(query) for query in queries])
        return found if all(found) else None

    def _chunk(self, wide: Wide, now_seconds: float, *, is_known: bool) -> "_Chunk | None":
        """The chunk of a request; only one that requests have already, if `is_known`."""
        if self._namespaces > self._namespaces_max:
            self._namespaces = 0
            self._queries.clear()
        chunks = self._chunks(wide.query)
        before = len(chunks)
        find = chunks.known if is_known else chunks.of
        found = find(wide.namespace, now_seconds)
        self._namespaces += len(chunks) - before
        return found

    def _chunks(self, query: WideQuery) -> "_Chunks":
        chunks = self._queries.get(query)
        if chunks is None:
            chunks = self._queries[query] = _Chunks(query, self._freshness)
        return chunks

    async def _evaluated(
        self, plans: Sequence[Plan], sending: Sending, suspension: Suspension | None
    ) -> list[Evaluation] | None:
        """The complete results; None, after a suspension has begun, if one of them is not."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                found = await together([self._evaluator.evaluate(plan, sending) for plan in plans])
        except QueryFailed as error:
            self._suspend(suspension, error.cause, retryable=error.retryable)
            return None
        except TimeoutError:
            cause = f"no response within {self._wait_seconds:g} s"
            self._suspend(suspension, cause, retryable=True)
            return None
        if any(map(_is_incomplete, found)):
            self._suspend(suspension, "the result is not complete", retryable=True)
            return None
        return found

    def _suspend(self, suspension: Suspension | None, cause: str, *, retryable: bool) -> None:
        if suspension is None:
            return
        seconds = FAILED_SECONDS if retryable else REFUSED_SECONDS
        now_seconds = self._monotonic()
        # Many requests may have waited for the query; the first one reports it.
        if not suspension.is_active(now_seconds):
            telemetry.WIDE_SUSPENSIONS.labels("failed" if retryable else "refused").inc()
            log.info("narrow queries for the next %g s, not one for all: %s", seconds, cause)
        suspension.begin(now_seconds, seconds)


def _is_incomplete(evaluation: Evaluation) -> bool:
    return evaluation.partial or evaluation.kind is not ResultKind.VECTOR


def _plan(query: WideQuery, parts: Sequence[str], namespaces: Sequence[str]) -> Plan:
    return Plan(text_for(parts, namespaces), query.backend, key_labels=query.key_labels)


class _Chunks:
    """One wide query, in as many plans as the namespaces that were requested recently need."""

    def __init__(self, query: WideQuery, freshness: Freshness) -> None:
        self.of_lists = Suspension()
        """Of lists of several namespaces. They go behind autoscalers, so a failure says nothing about the chunks."""
        self._query = query
        self._freshness = freshness
        self._chunks: list[_Chunk] = []
        self._chunk_of: OrderedDict[str, tuple[_Chunk, float]] = OrderedDict()
        """By namespace, with the time of its last request; in the order of these times."""

    def __len__(self) -> int:
        return len(self._chunk_of)

    def known(self, namespace: str, now_seconds: float) -> "_Chunk | None":
        """The chunk of a namespace; None for one that was not requested recently."""
        while self._chunk_of:
            oldest, (chunk, requested_at) = next(iter(self._chunk_of.items()))
            if now_seconds - requested_at <= FORGOTTEN_SECONDS:
                break
            del self._chunk_of[oldest]
            chunk.namespaces.discard(oldest)
        found = self._chunk_of.get(namespace)
        return found[0] if found else None

    def of(self, namespace: str, now_seconds: float) -> "_Chunk":
        """The chunk of a namespace that is requested now, also of a new one."""
        chunk = self.known(namespace, now_seconds)
        if chunk is None:
            chunk = next((each for each in self._chunks if each.has_capacity), None)
            if chunk is None:
                chunk = _Chunk(self._query, self._freshness)
                self._chunks.append(chunk)
            chunk.namespaces.add(namespace)
        self._chunk_of[namespace] = (chunk, now_seconds)
        self._chunk_of.move_to_end(namespace)
        return chunk


class _Chunk:
    """One plan for some of the namespaces."""

    def __init__(self, query: WideQuery, freshness: Freshness) -> None:
        self.demand = Demand(freshness)
        self.namespaces: set[str] = set()
        self._query = query
        self._included: frozenset[str] = frozenset()
        self._built_at = float("-inf")
        self._plans: tuple[Plan, ...] = ()

    @property
    def has_capacity(self) -> bool:
        return len(self.namespaces) < NAMESPACES_PER_PLAN

    def plans(self, namespace: str, now_seconds: float) -> Sequence[Plan] | None:
        """The plan and the one for its ages, if any; None while they are not worthwhile, or the namespace is not in them yet.

        The text changes at most as often as it is evaluated, so that new namespaces do not cause a query each.
        """
        if not self.demand.is_worthwhile(now_seconds):
            return None
        if now_seconds - self._built_at >= self.demand.period_seconds:
            self._build(now_seconds)
        return self._plans if namespace in self._included else None

    def _build(self, now_seconds: float) -> None:
        self._built_at = now_seconds
        if self._included == self.namespaces and self._plans:
            return
        self._included = frozenset(self.namespaces)
        namespaces = sorted(self._included)
        self._plans = tuple(
            _plan(self._query, parts, namespaces)
            for parts in (self._query.parts, self._query.ages)
            if parts
        )
