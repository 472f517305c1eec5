"""Reviews by the API server whose results are valid for a while: TokenReview, SubjectAccessReview.

What it saves: the requests of one client within the TTL, such as the pages of a dashboard or the metrics of one
autoscaler, are reviewed once. What bounds it: the size of all keys and results. When it is wrong: a right that was
granted or revoked counts after the TTL at the latest.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from wire.process.single_flight import SingleFlight

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# What an entry weighs besides its key.
ENTRY_BYTES = 512
# Accepted tokens; the others; the digests of those that were accepted before; the rights of the clients of 50,000 autoscalers; those
# of clients without credentials.
TOKENS_SIZE_MAX = 4 << 20
UNKNOWN_TOKENS_SIZE_MAX = 1 << 20
ACCEPTED_BEFORE_SIZE_MAX = 3 << 20
DECISIONS_SIZE_MAX = 39 << 20
ANONYMOUS_SIZE_MAX = 1 << 20


class _Result(Generic[V]):
    __slots__ = ("expires_seconds", "size", "value")

    def __init__(self, value: V, expires_seconds: float, size: int) -> None:
        self.value = value
        self.expires_seconds = expires_seconds
        self.size = size


class ReviewCache(Generic[K, V]):
    """Results by key; equal reviews that overlap are made once. A failure is raised and not cached."""

    def __init__(
        self,
        *,
        ttl_seconds: Callable[[V], float],
        size_max: int,
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
        # The oldest first. Each request reads it, and cachetools would take most of the time of a request's authorization.
        self._results: OrderedDict[K, _Result[V]] = OrderedDict()
        self.size = 0
        """The size of all results that are kept."""
        self._reviews: SingleFlight[K, V] = SingleFlight()

    def __contains__(self, key: K) -> bool:
        return self._valid(key) is not None

    async def get(self, key: K, review: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The cached result, or that of `review`. Raises what `review` raises."""
        cached = self._valid(key)
        if cached is not None:
            return cached.value
        return await self._reviews.do(key, lambda: self._reviewed(key, review))

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
