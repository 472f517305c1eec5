"""What is kept from one request to the next, within bounds."""

from typing import Generic, TypeVar

from adapter.model import CustomMetricRequest, ExternalMetricRequest, MetricQuery, Offer

ENTRIES_MAX = 10_000
"""More than there are autoscalers with requests of their own."""

Value = TypeVar("Value")


class QueryCache:
    """Metric queries by request: an autoscaler repeats its request every 15 s, and rendering a template is most of the work.

    An offer is a new object whenever series, rules or the cluster's resources changed, so an entry is valid while its
    offer and the names of its objects are the same. There is one entry per request, so pods that come and go leave
    nothing behind.
    """

    def __init__(self) -> None:
        self._queries: dict[
            CustomMetricRequest | ExternalMetricRequest, tuple[Offer, tuple[str, ...], MetricQuery]
        ] = {}

    def get(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...] = (),
    ) -> MetricQuery | None:
        """The query built for this request earlier, if it is still valid."""
        held = self._queries.get(request)
        return held[2] if held and held[0] is offer and held[1] == names else None

    def keep(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...],
        query: MetricQuery,
    ) -> None:
        """Keep the query for the next time."""
        if len(self._queries) >= ENTRIES_MAX:
            self._queries.clear()
        self._queries[request] = (offer, names, query)


class LastGoodValues(Generic[Value]):
    """The last good values of metrics whose contract may fall back on them; the oldest are dropped first."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def get(self, key: str, default: Value) -> Value:
        """What was kept, or `default`."""
        return self._values.get(key, default)

    def keep(self, key: str, value: Value) -> None:
        """Keep it in place of the previous one."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > ENTRIES_MAX:
            del self._values[next(iter(self._values))]
