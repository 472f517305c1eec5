"""The namespaces that a wide query is for, in as many plans as they need."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from adapter.model import Freshness, Plan, WideQuery
from adapter.wide.demand import FORGOTTEN_SECONDS, Demand, Suspension
from adapter.wide.text import text_for
from wire.process.text_bytes import text_bytes

NAMESPACES_PER_PLAN: Final = 400
"""Namespaces in one query; at most 25 kB of text in each of its selectors."""

_QUERY_BYTES: Final = 800
_CHUNK_BYTES: Final = 1_800
_NAMESPACE_BYTES: Final = 416
"""What a query, a chunk and a namespace take beside the texts of queries, as measured."""
_TEXT_BYTES: Final = 50
"""What a text takes beside its characters."""
_REQUEST_BYTES: Final = 220
"""Of a request that the demand keeps. There may be twice as many until they are counted again."""
_REQUESTS_OF_CHUNK: Final = 8
"""Requests that are part of `_CHUNK_BYTES`."""
_NAME_BYTES: Final = 64
"""Of a namespace in the text of a query."""


def plan_of(query: WideQuery, parts: Sequence[str], namespaces: Sequence[str]) -> Plan:
    """The plan of some namespaces; `parts` are those of the query, or of its ages."""
    return Plan(text_for(parts, namespaces), query.backend, key_labels=query.key_labels)


class Chunks:
    """One wide query, in as many plans as the namespaces that were requested recently need."""

    def __init__(self, query: WideQuery, freshness: Freshness) -> None:
        self.of_lists = Suspension()
        """Of lists of several namespaces. They go behind autoscalers, so a failure says nothing about the chunks."""
        self._query = query
        self._freshness = freshness
        self._chunks: list[Chunk] = []
        self._chunk_of: OrderedDict[str, tuple[Chunk, float]] = OrderedDict()
        """By namespace, with the time of its last request; in the order of these times."""
        texts = (*query.parts, *query.ages, *query.key_labels)
        self._text_bytes = sum(_TEXT_BYTES + text_bytes(each) for each in texts)
        places = len(query.parts[1:]) + len(query.ages[1:])
        self._namespace_bytes = _NAMESPACE_BYTES + _NAME_BYTES * places
        self._requests = 0
        """Those that the demands had kept when they were counted."""

    def __len__(self) -> int:
        return len(self._chunk_of)

    @property
    def size_bytes(self) -> int:
        """What the query takes with its plans, roughly. It changes with the number of namespaces, and when requests are counted again."""
        of_query = _QUERY_BYTES + self._text_bytes
        of_chunks = len(self._chunks) * (_CHUNK_BYTES + self._text_bytes)
        of_namespaces = len(self._chunk_of) * self._namespace_bytes
        return of_query + of_chunks + of_namespaces + self._requests * _REQUEST_BYTES

    def count_requests(self, chunk: "Chunk") -> bool:
        """Count the requests that a chunk has kept, unless their number has hardly changed. Returns whether they were counted."""
        more = chunk.demand.kept_requests - chunk.counted_requests
        if -chunk.counted_requests // 2 <= more <= max(chunk.counted_requests, _REQUESTS_OF_CHUNK):
            return False
        chunk.counted_requests += more
        self._requests += more
        return True

    def known(self, namespace: str, now_seconds: float) -> "Chunk | None":
        """The chunk of a namespace; None for one that was not requested recently."""
        while self._chunk_of:
            oldest, (chunk, requested_at) = next(iter(self._chunk_of.items()))
            if now_seconds - requested_at <= FORGOTTEN_SECONDS:
                break
            del self._chunk_of[oldest]
            chunk.namespaces.discard(oldest)
            self._join_chunks()
        found = self._chunk_of.get(namespace)
        return found[0] if found else None

    def of(self, namespace: str, now_seconds: float) -> "Chunk":
        """The chunk of a namespace that is requested now, also of a new one."""
        chunk = self.known(namespace, now_seconds)
        if chunk is None:
            chunk = next((each for each in self._chunks if each.has_capacity), None)
            if chunk is None:
                chunk = Chunk(self._query, self._freshness)
                self._chunks.append(chunk)
            chunk.namespaces.add(namespace)
        self._chunk_of[namespace] = (chunk, now_seconds)
        self._chunk_of.move_to_end(namespace)
        return chunk

    def _join_chunks(self) -> None:
        """Where few namespaces are left of many, one query is for those of several chunks: those of the smallest one move to the others.

        Their requests have narrow queries until then. Otherwise, each chunk would keep a few namespaces, and a query, indefinitely.
        """
        others = len(self._chunks) - 1
        if not others or len(self._chunk_of) > others * NAMESPACES_PER_PLAN // 2:
            return
        smallest = min(self._chunks, key=lambda each: len(each.namespaces))
        self._chunks.remove(smallest)
        self._requests -= smallest.counted_requests
        for namespace in smallest.namespaces:
            del self._chunk_of[namespace]


class Chunk:
    """One plan for some of the namespaces."""

    def __init__(self, query: WideQuery, freshness: Freshness) -> None:
        self.demand = Demand(freshness)
        self.counted_requests = 0
        """How many requests the demand had kept when they were counted."""
        self.namespaces: set[str] = set()
        self.awaited_since: float | None = None
        """When the first request began to wait for the results that are not there yet."""
        self._query = query
        self._included: frozenset[str] = frozenset()
        self._built_at = float("-inf")
        self._plans: tuple[Plan, ...] = ()

    @property
    def has_capacity(self) -> bool:
        """Whether another namespace may be added."""
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
            plan_of(self._query, parts, namespaces)
            for parts in (self._query.parts, self._query.ages)
            if parts
        )
