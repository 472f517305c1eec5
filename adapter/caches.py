"""What the clients and the caches on the way of one request may take in memory: one budget, and the share of each.

Bytes are estimated from what was measured: the size of a few texts and numbers. The rest of the pod's memory is for the program,
the copies of objects and series, whose size the cluster determines, and the responses that are being read.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from wire.api.labels import Selector

MIB: Final = 1024 * 1024

CACHES_BYTES: Final = 576 * MIB
"""The budget for the sum of the shares."""

REQUESTS_BYTES: Final = 144 * MIB
"""Requests by their path, with the query that was built last: those of 50,000 autoscalers that send GETs."""
EVALUATIONS_BYTES: Final = 64 * MIB
"""Results of the last seconds: 110,000 rows."""
OBJECT_LISTS_BYTES: Final = 50 * MIB
"""The objects that selectors have found: those of 50,000 autoscalers with a few pods each."""
LAST_GOOD_BYTES: Final = 40 * MIB
"""Last good values: 50,000 metrics with a contract that may fall back on them, of two objects each."""
REVIEWS_BYTES: Final = 48 * MIB
"""What `wire.serving.review_cache` keeps: the tokens and the rights of 50,000 clients."""
CONNECTIONS_BYTES: Final = 32 * MIB
"""What `wire.serving.connection_shares` lets clients take whose certificate is not verified: 16 MiB for those that are
authenticated, 12 for all others, which were measured to take more than the estimate."""
STREAMS_BYTES: Final = 96 * MIB
"""What is watched, with its queries and the newest responses: 30,000 requests with one value, or 19,000 with those of five pods."""
RESPONSES_BYTES: Final = 64 * MIB
"""What `wire.serving.large_responses` sends at a time: the list of 110,000 pods, or 25 of 5,000 pods."""
WIDE_QUERIES_BYTES: Final = 38 * MIB
"""Wide queries with their proofs and namespaces: 75,000 namespaces of a few queries, or 10,000 queries for one namespace each."""

_SELECTOR_BYTES: Final = 100
_REQUIREMENT_BYTES: Final = 160
_VALUE_BYTES: Final = 60
"""Beside its text. The texts of a selector are ASCII."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def selector_bytes(selector: Selector) -> int:
    """What a label selector takes, roughly."""
    return _SELECTOR_BYTES + sum(
        _REQUIREMENT_BYTES + len(each.key) + sum(_VALUE_BYTES + len(value) for value in each.values)
        for each in selector.requirements
    )


class SizedCache(Generic[K, V]):
    """Values by key; the least recently used are dropped as soon as all take more than `bytes_max`."""

    def __init__(self, bytes_max: int, size_of: Callable[[K, V], int]) -> None:
        """`size_of` estimates the bytes of a key and its value; one that is larger than all may be is not kept."""
        self._size_of = size_of
        self._kept: LRUCache[K, tuple[V, int]] = LRUCache(bytes_max, getsizeof=lambda kept: kept[1])

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    @property
    def size_bytes(self) -> int:
        """What all take, by the estimates."""
        return int(self._kept.currsize)

    def get(self, key: K) -> V | None:
        """What was kept last."""
        kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def keep(self, key: K, value: V) -> None:
        """Keep it in place of the previous one."""
        size_bytes = self._size_of(key, value)
        self._kept.pop(key, None)
        if size_bytes <= self._kept.maxsize:
            self._kept[key] = (value, size_bytes)
