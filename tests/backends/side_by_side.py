"""A Prometheus and another backend with the same series, and what the adapter's client gets from either."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import msgspec

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Evaluation, Plan
from testbed.backends import Thanos, thanos_query, thanos_sidecar, victoria_metrics
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests import wide_shapes
from tests.wide_comparison import EXACT_DIGITS, NAMESPACES, expose
from wire.prometheus.access import FileCredentials

SERIES = 9
"""Of the metric `depth`."""


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """What the table in docs/backends.md says about a backend."""

    queries: frozenset[str] = frozenset()
    digits: int = EXACT_DIGITS
    lists_by_day: bool = False


class SideBySide(msgspec.Struct, frozen=True, kw_only=True):
    """Both scrape one exporter: counters, and constants, which are equal whenever they are read."""

    exporter: Exporter
    prometheus: PrometheusServer
    backend_url: str
    differences: Differences
    sidecars: tuple[Thanos, ...] = ()


@contextmanager
def beside_victoria_metrics(directory: Path) -> Iterator[SideBySide]:
    """A single node."""
    differences = Differences(
        queries=frozenset(
            {
                "avg_over_time(depth[5s])",  # keeps the name
                "scalar(sum(depth))",  # a vector
                "sum by (queue) (depth) / sum(depth)",  # takes the right side for a scalar
            }
        ),
        digits=12,
        lists_by_day=True,
    )
    with _scraped(directory, "a") as (exporter, prometheus):
        _fill(exporter, prometheus)
        with victoria_metrics(prometheus, directory / "victoria-metrics") as url:
            _wait_for_series(url)
            yield SideBySide(
                exporter=exporter, prometheus=prometheus, backend_url=url, differences=differences
            )


@contextmanager
def beside_thanos(directory: Path) -> Iterator[SideBySide]:
    """Thanos Query over two Prometheus servers with the same targets; compared with the first."""
    with ExitStack() as undo:
        exporter, prometheus = undo.enter_context(_scraped(directory, "a"))
        replica = undo.enter_context(_server(directory, "b"))
        replica.add_target(exporter.target)
        _fill(exporter, prometheus)
        sidecars = tuple(
            undo.enter_context(thanos_sidecar(each, directory / "thanos"))
            for each in (prometheus, replica)
        )
        url = undo.enter_context(thanos_query(sidecars, directory / "thanos"))
        _wait_for_series(url)
        _wait_for_series(f"{url}?dedup=false", times=2)
        yield SideBySide(
            exporter=exporter,
            prometheus=prometheus,
            backend_url=url,
            differences=Differences(),
            sidecars=sidecars,
        )


BACKENDS: dict[str, Callable[[Path], AbstractContextManager[SideBySide]]] = {
    "VictoriaMetrics": beside_victoria_metrics,
    "Thanos": beside_thanos,
}


@contextmanager
def _scraped(directory: Path, replica: str) -> Iterator[tuple[Exporter, PrometheusServer]]:
    with Exporter() as exporter, _server(directory, replica) as prometheus:
        yield exporter, prometheus


def _server(directory: Path, replica: str) -> PrometheusServer:
    options = PrometheusOptions(
        scrape_interval_seconds=0.5,
        external_labels={"replica": replica},
        # Otherwise, Prometheus would compact blocks that a sidecar uploads.
        flags=("--storage.tsdb.min-block-duration=2h", "--storage.tsdb.max-block-duration=2h"),
    )
    return PrometheusServer(options, directory=directory / replica)


def _fill(exporter: Exporter, prometheus: PrometheusServer) -> None:
    expose(exporter)
    wide_shapes.expose(exporter)
    exporter.set("gone", 1, namespace="n1")
    for number, namespace in enumerate(NAMESPACES):
        for queue in range(3):
            exporter.set("depth", number + queue / 4, namespace=namespace, queue=f"q{queue}")
    prometheus.add_target(exporter.target)
    prometheus.wait_for("count_over_time(a[1m]) > 4")


def _wait_for_series(url: str, times: int = 1) -> None:
    until(lambda: len(evaluated(url, "depth").samples) == times * SERIES, what="its samples")
    until(lambda: evaluated(url, "count_over_time(a[1m]) > 4").samples, what="more samples")


def client_of(url: str) -> PrometheusClient:
    """The adapter's client of one backend."""
    backend = Backend(url=url, timeout_seconds=10.0)
    return PrometheusClient(backend, FileCredentials(backend))


def evaluated(url: str, query: str) -> Evaluation:
    """What the adapter gets for a query."""

    async def once() -> Evaluation:
        client = client_of(url)
        try:
            return await client.evaluate(Plan(query))
        finally:
            await client.close()

    return asyncio.run(once())


def listed(url: str, match: str, max_age_seconds: float) -> set[tuple[str, frozenset[str]]]:
    """The names of series and their labels that discovery finds."""

    async def once() -> set[tuple[str, frozenset[str]]]:
        client = client_of(url)
        try:
            found = await client.series(match=match, max_age_seconds=max_age_seconds)
            return {(each.name, each.labels) for each in found}
        finally:
            await client.close()

    return asyncio.run(once())
