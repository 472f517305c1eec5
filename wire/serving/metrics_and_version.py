"""The routes `/metrics` and `/version`."""

import asyncio
import itertools
import platform
import sys
from collections.abc import Callable, Iterable, Iterator

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from wire.serving.rendering import respond

METRICS = "/metrics"
OPENMETRICS_END = b"# EOF\n"


class Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of Kubernetes' /version; the compiler is the Python implementation."""

    major: str
    minor: str
    git_version: str
    git_commit: str = ""
    git_tree_state: str = ""
    build_date: str = ""
    go_version: str = ""
    compiler: str = f"{platform.python_implementation()} {platform.python_version()}"
    platform: str = f"{sys.platform}/{platform.machine()}"


def version_of(distribution_version: str) -> Version:
    """`1.2.3` in the form of /version."""
    major, _, rest = distribution_version.partition(".")
    return Version(
        major=major, minor=rest.partition(".")[0], git_version=f"v{distribution_version}"
    )


Collect = Callable[[], Iterable[Metric]]
"""The metrics of this moment. It is called in the event loop, what it returns is read in a thread."""


class _Collected(Collector):
    """The samples of one moment, as a registry that the encoders accept."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._metrics


def _texts(
    encode: Callable[[Collector], bytes], few: tuple[Metric, ...], many: Iterator[Metric]
) -> Iterator[bytes]:
    """The parts of the text, each not empty."""
    end = b""
    for metrics in itertools.chain([few], ((each,) for each in many)):
        text = encode(_Collected(metrics))
        if text.endswith(OPENMETRICS_END):
            end = OPENMETRICS_END
        if part := text.removesuffix(OPENMETRICS_END):
            yield part
    if end:
        yield end


def add_metrics_route(
    app: web.Application, registry: CollectorRegistry, many: Collect = tuple
) -> None:
    """Serve `registry` and the metrics of `many` objects at /metrics, in the format that the scraper prefers."""

    async def metrics(request: web.Request) -> web.StreamResponse:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        # Collected here, because the collectors read what the event loop changes.
        texts = _texts(encode, tuple(registry.collect()), iter(many()))
        # The text of thousands of objects takes longer than a request may wait, and megabytes: it is made in a thread, in parts.
        text = await asyncio.to_thread(next, texts, b"")
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        while text and request.method != "HEAD":
            await response.write(text)
            text = await asyncio.to_thread(next, texts, b"")
        await response.write_eof()
        return response

    app.router.add_get(METRICS, metrics)


def add_version_route(app: web.Application, version: Version) -> None:
    """Serve /version."""

    async def answer(request: web.Request) -> web.Response:
        return respond(request, version)

    app.router.add_get("/version", answer)
