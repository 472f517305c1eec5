"""What a server offers beside the Kubernetes APIs: names in its `/version` that clients compare, and never parse.

A name ends with the version of the protocol. A client uses only what it knows; other servers, whose `/version` has no such
names, offer nothing.
"""

from typing import Final

import msgspec

from wire.api import kube_json

METRIC_STREAM: Final = "loadline.io/metric-stream/v1"
"""The messages of `wire.api.metric_stream`."""
LARGE_METRIC_STREAM: Final = "loadline.io/large-metric-stream/v1"
"""A client of the stream may watch `wire.api.metric_stream.PATHS_MAX` paths, instead of `PATHS_MAX_BY_DEFAULT`."""
EXPLAIN: Final = "loadline.io/explain/v1"
"""The query of a metric, at `/debug/explain`."""


class _Version(msgspec.Struct, frozen=True):
    offers: tuple[str, ...] = ()


def offers_in(version: bytes) -> frozenset[str]:
    """The names in the response of `/version`. Nothing raises: something else offers nothing."""
    try:
        return frozenset(kube_json.decode(version, _Version).offers)
    except msgspec.DecodeError:
        return frozenset()
