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

from wire.api.meta import always
from wire.process.crashes import Crashes
from wire.serving.rendering import accept_of, respond

# What may crash, as the log names it.
COLLECTION = "collection"
ENCODING = "encoding"
OBJECTS = "the metrics of single objects"

METRICS = "/metrics"


class Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The fields of Kubernetes' /version, and `offers` (`wire.api.offers`); the compiler is the Python implementation."""

    major: str
    minor: str
    git_version: str
    git_commit: str = always("")
    git_tree_state: str = always("")
    build_date: str = always("")
    go_version: str = always("")
    compiler: str = always(f"{platform.python_implementation()} {platform.python_version()}")
    platform: str = always(f"{sys.platform}/{platform.machine()}")
    offers: tuple[str, ...] = ()


def version_of(distribution_version: str, offers: tuple[str, ...] = ()) -> Version:
    """`1.2.3` in the form of /version."""
    major, _, rest = distribution_version.partition(".")
    return Version(
        major=major,
        minor=rest.partition(".")[0],
        git_version=f"v{distribution_version}",
        offers=offers,
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


class _Scrapes:
    """Reads and encodes metrics one by one: one that fails, which is a bug, must not hide the others."""

    def __init__(self, registry: CollectorRegistry, many: Collect, crashes: Crashes) -> None:
        self._registry = registry
        self._many = many
        self._crashes = crashes

    def texts(self, encode: Callable[[Collector], bytes]) -> Iterator[bytes]:
        """Collect, and return the parts of the text, each not empty, to be read in a thread."""
        return self._texts(encode, tuple(self._collected()), self._collected_many())

    def _collected(self) -> Iterator[Metric]:
        # There is no public way to collect from one collector after another has failed.
        of_registry = self._registry._collector_to_names  # noqa: SLF001
        for collector, names in tuple(of_registry.items()):
            yield from self._guarded(
                collector.collect, names[0] if names else type(collector).__qualname__
            )

    def _collected_many(self) -> Iterator[Metric]:
        """Collected here, and not when the first one is read."""
        try:
            metrics = self._many()
        except Exception as error:
            self._crashes.note(COLLECTION, OBJECTS, error)
            return iter(())
        return self._guarded(lambda: metrics, OBJECTS)

    def _guarded(self, collect: Collect, name: str) -> Iterator[Metric]:
        try:
            yield from collect()
        except Exception as error:
            self._crashes.note(COLLECTION, name, error)
        else:
            self._crashes.ended(COLLECTION, name)

    def _texts(
        self,
        encode: Callable[[Collector], bytes],
        few: tuple[Metric, ...],
        many: Iterator[Metric],
    ) -> Iterator[bytes]:
        end = encode(_Collected(()))
        for metrics in itertools.chain([few], ((each,) for each in many)):
            if part := b"".join(self._text(encode, each).removesuffix(end) for each in metrics):
                yield part
        if end:
            yield end

    def _text(self, encode: Callable[[Collector], bytes], metric: Metric) -> bytes:
        try:
            text = encode(_Collected((metric,)))
        except Exception as error:
            self._crashes.note(ENCODING, metric.name, error)
            return b""
        self._crashes.ended(ENCODING, metric.name)
        return text


def add_metrics_route(
    app: web.Application,
    registry: CollectorRegistry,
    many: Collect = tuple,
    *,
    on_crash: Callable[[], object] = lambda: None,
) -> None:
    """Serve `registry` and the metrics of `many` objects at /metrics, in the format that the scraper prefers.

    `on_crash` is called for each metric that fails, which is missing in the response.
    """
    scrapes = _Scrapes(registry, many, Crashes(on_crash))

    async def metrics(request: web.Request) -> web.StreamResponse:
        encode, content_type = choose_encoder(accept_of(request))
        # The collectors read what the event loop changes.
        texts = scrapes.texts(encode)
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
