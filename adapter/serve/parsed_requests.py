"""Requests that were parsed before: autoscalers repeat theirs every 15 s, and parsing a selector takes longer than a lookup."""

from typing import Final
from urllib.parse import parse_qsl

from cachetools import LRUCache

from adapter.documents import paths
from adapter.model import MetricRequest

KEPT_BYTES_MAX: Final = 128 * 1024 * 1024
"""Enough for the requests of 50,000 autoscalers with a few metrics each."""
_ENTRY_BYTES: Final = 700
"""What an entry takes beside the text of its request, roughly."""

_Key = tuple[str, str, str, str]


class ParsedRequests:
    """Requests by their text; the least recently used are dropped first."""

    def __init__(self, *, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._kept: LRUCache[_Key, tuple[MetricRequest, int]] = LRUCache(
            bytes_max, getsizeof=lambda kept: kept[1]
        )

    def __len__(self) -> int:
        return len(self._kept)

    def parse(self, group: str, version: str, path: str, query: str) -> MetricRequest:
        """The request; raises `StatusError` as `adapter.documents.paths`."""
        key = (group, version, path, query)
        kept = self._kept.get(key)
        if kept is not None:
            return kept[0]
        request = paths.metric(group, version, path, parse_qsl(query, keep_blank_values=True))
        # The text is kept in the key, and once more in the request.
        size_bytes = _ENTRY_BYTES + 2 * (len(path) + len(query))
        if size_bytes <= self._kept.maxsize:
            self._kept[key] = (request, size_bytes)
        return request
