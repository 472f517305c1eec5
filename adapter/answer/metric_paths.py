"""The one reader of the paths of metrics: for GETs, streams and explanations.

What was read is kept with the query that was built for it: an autoscaler repeats its request every 15 s, and reading a
selector and rendering a template are most of the work.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from adapter.answer.active_configuration import ActiveConfiguration
from adapter.caches import REQUESTS_BYTES, SizedCache, selector_bytes
from adapter.documents import paths
from adapter.documents.listoptions import parameters
from adapter.documents.paths import VERSIONS
from adapter.model import (
    CustomMetricRequest,
    ExternalMetricRequest,
    MetricQuery,
    MetricRequest,
    Offer,
)
from wire.api.status import path_not_found
from wire.process.text_bytes import text_bytes
from wire.serving.request_path import split_path, split_url

_REQUEST_BYTES: Final = 1_100
_QUERY_BYTES: Final = 1_000
"""What a request and a query take beside their texts, roughly. A query over a thousand pods has tens of kilobytes of text."""
_FIELD_BYTES: Final = 200
"""What a term of a field selector takes beside its texts."""

_Key = tuple[str, str, str, str]


class KnownRequest:
    """A request, and the query that was built for it last.

    An offer is a new object whenever series, rules or the cluster's resources changed, so the query is valid while its
    offer and the names of its objects are the same. Pods that come and go leave nothing behind.
    """

    __slots__ = ("_kept", "_on_change", "query_bytes", "request")

    def __init__(
        self, request: MetricRequest, on_change: Callable[["KnownRequest"], None] = lambda _: None
    ) -> None:
        """`on_change` is called when another query was kept. It has no reference to this object, so that this is freed as soon as nothing uses it."""
        self.request = request
        self.query_bytes = 0
        """The size of the query, roughly."""
        self._on_change = on_change
        self._kept: tuple[Offer, tuple[str, ...], MetricQuery] | None = None

    @property
    def selectors_bytes(self) -> int:
        """The size of the selectors of the request, roughly."""
        request = self.request
        if isinstance(request, CustomMetricRequest):
            return selector_bytes(request.selector) + selector_bytes(request.metric_selector)
        if isinstance(request, ExternalMetricRequest):
            return selector_bytes(request.selector)
        of_fields = sum(
            _FIELD_BYTES + text_bytes(each.field) + text_bytes(each.value)
            for each in request.fields
        )
        return selector_bytes(request.selector) + of_fields

    def query(self, offer: Offer, names: tuple[str, ...] = ()) -> MetricQuery | None:
        """The query that was built earlier, if it is still valid."""
        kept = self._kept
        return kept[2] if kept and kept[0] is offer and kept[1] == names else None

    def keep(self, offer: Offer, names: tuple[str, ...], query: MetricQuery) -> None:
        """Keep the query for the next time."""
        self._kept = (offer, names, query)
        self.query_bytes = _query_bytes(names, query)
        self._on_change(self)

    def forget_query(self) -> None:
        """Keep no query until there is another one."""
        self._kept = None
        self.query_bytes = 0


class MetricPaths:
    """Requests by their text; the least recently used are dropped first."""

    def __init__(
        self, active: Callable[[], ActiveConfiguration], *, bytes_max: int = REQUESTS_BYTES
    ) -> None:
        """`active`: the configuration that is served."""
        self._active = active
        self._kept: SizedCache[_Key, KnownRequest] = SizedCache(bytes_max, _size_bytes)

    def __len__(self) -> int:
        return len(self._kept)

    def is_served(self, group: str, version: str) -> bool:
        """Whether a group version is served now."""
        return group in self._active().groups and version in VERSIONS[group]

    def of_url(self, url: str) -> KnownRequest:
        """Of an escaped path with its query string. Raises `StatusError`."""
        return self.of_path(*split_url(url))

    def of_path(self, path: str, query: str) -> KnownRequest:
        """Of a decoded path and a query string. Raises `StatusError`."""
        match split_path(path):
            case ["apis", group, version, *rest] if rest and self.is_served(group, version):
                return self.known(group, version, "/".join(rest), query)
        raise path_not_found()

    def known(self, group: str, version: str, path: str, query: str) -> KnownRequest:
        """Of what follows the group version, which is served. Raises `StatusError` as `adapter.documents.paths`."""
        key = (group, version, path, query)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        request = paths.metric(group, version, path, parameters(query))
        known = KnownRequest(request, partial(self._kept.keep, key))
        self._kept.keep(key, known)
        return known


def _query_bytes(names: tuple[str, ...], query: MetricQuery) -> int:
    texts = [query.plan.query, *names]
    if query.ages:
        texts.append(query.ages.plan.query)
    if query.wide:
        texts += [*query.wide.query.parts, *query.wide.query.ages]
    return _QUERY_BYTES + sum(map(text_bytes, texts))


def _size_bytes(key: _Key, known: KnownRequest) -> int:
    # The text is kept in the key, and once more in the request.
    texts_bytes = 2 * (text_bytes(key[2]) + text_bytes(key[3]))
    return _REQUEST_BYTES + texts_bytes + known.selectors_bytes + known.query_bytes
