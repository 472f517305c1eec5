"""What is kept from one request to the next, within bounds that fit 50,000 autoscalers."""

from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from adapter.model import CustomMetricRequest, ExternalMetricRequest, MetricQuery, Offer

QUERIES_BYTES_MAX: Final = 128 * 1024 * 1024
"""Of metric queries. A query over a thousand pods has tens of kilobytes, so their number alone is not a bound."""
_ENTRY_BYTES: Final = 1_000
"""What an entry takes beside its texts, roughly."""

VALUES_MAX: Final = 200_000
"""Last good values: metrics with a contract that may fall back on them."""

Value = TypeVar("Value")
_Request = CustomMetricRequest | ExternalMetricRequest


class QueryCache:
    """Metric queries by request: an autoscaler repeats its request every 15 s, and rendering a template is most of the work.

    An offer is a new object whenever series, rules or the cluster's resources changed, so an entry is valid while its
    offer and the names of its objects are the same. There is one entry per request, so pods that come and go leave
    nothing behind. The least recently used are dropped first.
    """

    def __init__(self, *, bytes_max: int = QUERIES_BYTES_MAX) -> None:
        self._queries: LRUCache[_Request, tuple[Offer, tuple[str, ...], MetricQuery]] = LRUCache(
            bytes_max, getsizeof=_size_bytes
        )

    def get(
        self, request: _Request, offer: Offer, names: tuple[str, ...] = ()
    ) -> MetricQuery | None:
        """The query built for this request earlier, if it is still valid."""
        held = self._queries.get(request)
        return held[2] if held and held[0] is offer and held[1] == names else None

    def keep(
        self, request: _Request, offer: Offer, names: tuple[str, ...], query: MetricQuery
    ) -> None:
        """Keep the query for the next time."""
        entry = (offer, names, query)
        if _size_bytes(entry) <= self._queries.maxsize:
            self._queries[request] = entry


def _size_bytes(entry: tuple[Offer, tuple[str, ...], MetricQuery]) -> int:
    _, names, query = entry
    ages = len(query.ages.plan.query) if query.ages else 0
    return _ENTRY_BYTES + len(query.plan.query) + ages + sum(map(len, names))


class LastGoodValues(Generic[Value]):
    """The last good values of metrics whose contract may fall back on them; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._values: LRUCache[str, Value] = LRUCache(VALUES_MAX)

    def get(self, key: str, default: Value) -> Value:
        """What was kept, or `default`."""
        value = self._values.get(key)
        return default if value is None else value

    def keep(self, key: str, value: Value) -> None:
        """Keep it in place of the previous one."""
        self._values[key] = value
