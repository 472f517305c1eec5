"""Reviews by the API server whose results are valid for a while: TokenReview, SubjectAccessReview."""

import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from cachetools import TLRUCache

from wire.single_flight import SingleFlight

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Bounds the memory that unauthenticated clients can fill; upstream's token cache has the same size.
RESULTS_MAX = 4096


class ReviewCache(Generic[K, V]):
    """Results by key; equal lookups that overlap are made once. A failure is raised and not cached."""

    def __init__(
        self,
        *,
        ttl_seconds: Callable[[V], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ttl_seconds` of a result; 0: it is only for those that already wait for it."""
        self._results: TLRUCache[K, V] = TLRUCache(
            RESULTS_MAX, ttu=lambda _, result, now: now + ttl_seconds(result), timer=monotonic
        )
        self._lookups: SingleFlight[K, V] = SingleFlight()

    async def get(self, key: K, look_up: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The cached result, or that of `look_up`. Raises what `look_up` raises."""
        try:
            return self._results[key]
        except KeyError:
            return await self._lookups.do(key, lambda: self._looked_up(key, look_up))

    async def _looked_up(self, key: K, look_up: Callable[[], Coroutine[Any, Any, V]]) -> V:
        result = self._results[key] = await look_up()
        return result
