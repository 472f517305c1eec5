"""The adapter's client with VictoriaMetrics: the same values, discovery and errors as with Prometheus.

What differs is in the support table of docs/support.md. `make test-backends` builds it and runs these tests.
"""

import asyncio
import time
from collections.abc import Iterator

import msgspec
import pytest

from adapter.fetch.credentials import FileCredentials
from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Evaluation, Plan
from adapter.ports import QueryFailed
from testbed.backends import victoria_metrics
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.wide_comparison import NAMESPACES, compare, expose

PAIRS = 60
MAX_AGE_SECONDS = 5.0
SETTLED_SECONDS = 10.0
"""How old the samples are that are compared: VictoriaMetrics shows new ones after a few seconds."""
DIFFERENT = {
    "avg_over_time(depth[5s])",  # keeps the name
    "scalar(sum(depth))",  # a vector
}
"""What the support table names."""
CONSTANT = (
    "depth",
    "sum(depth) by (namespace)",
    'max by (queue) (depth{namespace=~"n1|n2"})',
    'sum(depth{namespace="n1",queue=~"q0|q2"}) without (queue)',
    "sum by (namespace) (depth) / on (namespace) count by (namespace) (depth)",
    'depth{queue="none"}',
    "quantile(0.5, depth) by (namespace)",
    'label_replace(depth, "copy", "$1", "queue", "q(.*)")',
    "avg_over_time(depth[5s])",
    "scalar(sum(depth))",
    "depth > 4",
)


class SideBySide(msgspec.Struct, frozen=True):
    """Prometheus and another backend with the same series."""

    exporter: Exporter
    prometheus: PrometheusServer
    backend_url: str


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SideBySide]:
    """Both scrape one exporter: counters, and constants, which are equal whenever they are read."""
    directory = tmp_path_factory.mktemp("backends")
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as prometheus:
        expose(exporter)
        exporter.set("gone", 1, namespace="n1")
        for number, namespace in enumerate(NAMESPACES):
            for queue in range(3):
                exporter.set("depth", number + queue / 4, namespace=namespace, queue=f"q{queue}")
        prometheus.add_target(exporter.target)
        prometheus.wait_for("count_over_time(a[1m]) > 4")
        with victoria_metrics(prometheus, directory / "victoria-metrics") as url:
            until(lambda: len(evaluated(url, "depth").samples) == 9, what="its samples")
            until(lambda: evaluated(url, "count_over_time(a[1m]) > 4").samples, what="more")
            yield SideBySide(exporter, prometheus, url)


def client_of(url: str) -> PrometheusClient:
    backend = Backend(url=url, timeout_seconds=10.0)
    return PrometheusClient(backend, FileCredentials(backend))


def evaluated(url: str, query: str) -> Evaluation:
    async def once() -> Evaluation:
        client = client_of(url)
        try:
            return await client.evaluate(Plan(query))
        finally:
            await client.close()

    return asyncio.run(once())


def rows(evaluation: Evaluation) -> list[tuple[list[tuple[str, str]], float]]:
    return sorted((sorted(row.labels.items()), row.value) for row in evaluation.samples)


@pytest.mark.parametrize("query", CONSTANT)
def test_a_query_has_the_rows_of_prometheus(both, query):
    expected, found = (evaluated(url, query) for url in (both.prometheus.url, both.backend_url))
    is_equal = (found.kind, rows(found), found.partial) == (expected.kind, rows(expected), False)
    assert is_equal == (query not in DIFFERENT), (rows(found), rows(expected))


def test_wide_queries_have_the_values_of_the_requests_own_queries(both):
    at_seconds = time.time()
    ends_at = time.monotonic() + SETTLED_SECONDS
    until(lambda: time.monotonic() > ends_at, what="the samples", deadline_seconds=60)

    async def compared() -> None:
        client = client_of(both.backend_url)
        try:
            await compare(client, pairs=PAIRS, at_seconds=at_seconds, digits=12)
        finally:
            await client.close()

    asyncio.run(compared())


@pytest.mark.parametrize(
    "match", ['{namespace!=""}', '{__name__=~"^(a|depth)$",queue!=""}', "none"]
)
def test_discovery_finds_what_it_finds_in_prometheus(both, match):
    assert listed(both.backend_url, match, 600.0) == listed(both.prometheus.url, match, 600.0)


def listed(url: str, match: str, max_age_seconds: float) -> set[tuple[str, frozenset[str]]]:
    async def once() -> set[tuple[str, frozenset[str]]]:
        client = client_of(url)
        try:
            found = await client.series(
                match=match, backend="default", max_age_seconds=max_age_seconds
            )
            return {(each.name, each.labels) for each in found}
        finally:
            await client.close()

    return asyncio.run(once())


def test_a_metric_that_no_longer_exists_is_still_listed(both):
    """Prometheus lists by the time of the samples, VictoriaMetrics by day."""
    both.exporter.remove("gone")
    until(lambda: not evaluated(both.prometheus.url, "gone").samples, what="the staleness marker")
    ends_at = time.monotonic() + MAX_AGE_SECONDS + 2
    until(lambda: time.monotonic() > ends_at, what="the age", deadline_seconds=30)
    names = {
        url: {name for name, _ in listed(url, '{namespace!=""}', MAX_AGE_SECONDS)}
        for url in (both.prometheus.url, both.backend_url)
    }
    assert "gone" not in names[both.prometheus.url]
    assert "gone" in names[both.backend_url]


def test_an_invalid_query_is_refused_with_the_reason(both):
    with pytest.raises(QueryFailed) as refused:
        evaluated(both.backend_url, "sum(depth")
    assert not refused.value.retryable
    assert "pars" in refused.value.cause


def test_rows_that_match_many_to_many_are_refused(both):
    query = "depth / on (namespace) depth"
    with pytest.raises(QueryFailed) as refused:
        evaluated(both.backend_url, query)
    assert not refused.value.retryable
