"""Reviews by the API server whose results are valid for a while: TokenReview, SubjectAccessReview.

An autoscaler returns every 15 s and a result is valid for 10 s, so a plain cache never has one. A client
that comes back on a period therefore has its review repeated shortly before it is expected: as often as
without a cache, but not while it waits, and no result is ever older than its TTL.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from wire.process.single_flight import SingleFlight

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# What an entry weighs besides its key, and the default for all: 50,000 autoscalers and half as many again.
ENTRY_BYTES = 512
SIZE_MAX = 64 << 20
CLIENTS_MAX = 1 << 17
# A client that returns after more than this is not expected again.
PERIOD_SECONDS_MAX = 60.0
# How long before a client is expected its review is repeated; never more than half of the TTL.
LEAD_SECONDS = 4.0
# Reviews that are repeated ahead at a time: they have seconds, and each connection to the API server costs 3 ms and 100 kB.
AHEAD_MAX = 8
# Requests that follow each other faster than this are one visit of a client.
VISIT_SECONDS = 1.0

log = logging.getLogger(__name__)


class _Result(Generic[V]):
    __slots__ = ("expires_seconds", "size", "value")

    def __init__(self, value: V, expires_seconds: float, size: int) -> None:
        self.value = value
        self.expires_seconds = expires_seconds
        self.size = size


class _Visits:
    """When a key was requested last, and what is planned for the next time."""

    __slots__ = ("last_seconds", "timer")

    def __init__(self, now_seconds: float) -> None:
        self.last_seconds = now_seconds
        self.timer: asyncio.TimerHandle | None = None


class ReviewCache(Generic[K, V]):
    """Results by key; equal reviews that overlap are made once. A failure is raised and not cached."""

    def __init__(
        self,
        *,
        ttl_seconds: Callable[[V], float],
        size_max: int = SIZE_MAX,
        size_of: Callable[[K], int] = lambda _: 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ttl_seconds` of a result; 0: it is only for those that already wait for it. `size_of` is the
        size of a key in bytes, and `size_max` bounds the sum of all.
        """
        self._ttl_seconds = ttl_seconds
        self._size_of = size_of
        self._monotonic = monotonic
        self._size_max = size_max
        # The oldest first. Each request reads both, and cachetools would take most of the time of a request's authorization.
        self._results: OrderedDict[K, _Result[V]] = OrderedDict()
        self._visits: OrderedDict[K, _Visits] = OrderedDict()
        self.size = 0
        """The size of all results that are kept."""
        self._reviews: SingleFlight[K, V] = SingleFlight()
        self._ahead = asyncio.Semaphore(AHEAD_MAX)

    def is_cached(self, key: K) -> bool:
        """Whether a result for `key` is valid now."""
        return self._valid(key) is not None

    async def get(self, key: K, review: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The cached result, or that of `review`. Raises what `review` raises."""
        period_seconds = self._period_of(key)
        cached = self._valid(key)
        if cached is None:
            value = await self._reviews.do(key, lambda: self._reviewed(key, review))
        else:
            value = cached.value
        if period_seconds is not None:
            self._plan(key, period_seconds, review)
        return value

    async def _reviewed(self, key: K, review: Callable[[], Coroutine[Any, Any, V]]) -> V:
        sent_seconds = self._monotonic()
        value = await review()
        ttl_seconds = self._ttl_seconds(value)
        if ttl_seconds > 0:
            size = ENTRY_BYTES + self._size_of(key)
            if size <= self._size_max:
                self._keep(key, _Result(value, sent_seconds + ttl_seconds, size))
        return value

    def _valid(self, key: K) -> _Result[V] | None:
        result = self._results.get(key)
        return result if result and self._monotonic() < result.expires_seconds else None

    def _keep(self, key: K, result: _Result[V]) -> None:
        """Keep it, and drop the oldest results as long as they have expired or do not fit."""
        self._drop(key)
        self._results[key] = result
        self.size += result.size
        now_seconds = self._monotonic()
        while self._results:
            oldest = next(iter(self._results))
            if self.size <= self._size_max and now_seconds < self._results[oldest].expires_seconds:
                return
            self._drop(oldest)

    def _drop(self, key: K) -> None:
        dropped = self._results.pop(key, None)
        if dropped:
            self.size -= dropped.size

    def _period_of(self, key: K) -> float | None:
        """The time since the last visit; None on the first one, and within a visit."""
        now_seconds = self._monotonic()
        visits = self._visits.get(key)
        if visits is None or now_seconds - visits.last_seconds >= PERIOD_SECONDS_MAX:
            self._visits[key] = _Visits(now_seconds)
            self._visits.move_to_end(key)
            self._forget_visits(now_seconds)
            return None
        period_seconds = now_seconds - visits.last_seconds
        if period_seconds < VISIT_SECONDS:
            return None
        visits.last_seconds = now_seconds
        self._visits.move_to_end(key)
        return period_seconds

    def _forget_visits(self, now_seconds: float) -> None:
        while self._visits:
            oldest = next(iter(self._visits))
            is_recent = now_seconds - self._visits[oldest].last_seconds < PERIOD_SECONDS_MAX
            if is_recent and len(self._visits) <= CLIENTS_MAX:
                return
            del self._visits[oldest]

    def _plan(
        self, key: K, period_seconds: float, review: Callable[[], Coroutine[Any, Any, V]]
    ) -> None:
        """Repeat the review before the client is expected, unless the result is still valid then."""
        visits, result = self._visits.get(key), self._valid(key)
        if visits is None or result is None:
            return
        if visits.timer is not None:
            visits.timer.cancel()
            visits.timer = None
        now_seconds = self._monotonic()
        lead_seconds = min(LEAD_SECONDS, self._ttl_seconds(result.value) / 2)
        expected_seconds = visits.last_seconds + period_seconds
        if expected_seconds + lead_seconds / 2 < result.expires_seconds:
            return
        visits.timer = asyncio.get_running_loop().call_later(
            max(0.0, expected_seconds - lead_seconds - now_seconds), self._repeat, key, review
        )

    def _repeat(self, key: K, review: Callable[[], Coroutine[Any, Any, V]]) -> None:
        task = self._reviews.start(key, lambda: self._reviewed_ahead(key, review))
        task.add_done_callback(_log_failure)

    async def _reviewed_ahead(self, key: K, review: Callable[[], Coroutine[Any, Any, V]]) -> V:
        async with self._ahead:
            return await self._reviewed(key, review)


def _log_failure(task: asyncio.Task[V]) -> None:
    if not task.cancelled() and (error := task.exception()):
        # The next request repeats the review, and reports what it raises.
        log.debug("a review ahead of time failed: %s", error)
