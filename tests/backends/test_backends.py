"""The adapter's client with VictoriaMetrics and Thanos: the same values, discovery and errors as with Prometheus.

What differs is in the table of docs/backends.md. `make test-backends` builds them and runs these tests.
"""

import asyncio
import time
from collections.abc import Iterator

import pytest

from adapter.ports import QueryFailed
from testbed.waiting import until
from tests import wide_shapes
from tests.backends.side_by_side import BACKENDS, SideBySide, client_of, evaluated, listed
from tests.wide_comparison import compare

PAIRS = 60
MAX_AGE_SECONDS = 5.0
SETTLED_SECONDS = 10.0
"""How old the samples are that are compared: VictoriaMetrics shows new ones after a few seconds."""
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
    "sum by (queue) (depth) / sum(depth)",
    "sum by (queue) (depth) / on () group_left sum(depth)",
    "sum by (queue) (depth) unless sum(depth)",
)
SHAPES = [
    pytest.param(shape, moved, id=f"{moved.object_label or 'queue'}: {shape.id}")
    for shapes, moved in (
        (wide_shapes.POD_SHAPES, wide_shapes.OF_PODS),
        (wide_shapes.QUEUE_SHAPES, wide_shapes.OF_QUEUES),
    )
    for shape in shapes
    if shape.extra is not None
]
DIGITS = 9
"""Some of them compute with the time."""


@pytest.fixture(scope="module", params=BACKENDS)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SideBySide]:
    with BACKENDS[request.param](tmp_path_factory.mktemp(request.param)) as found:
        yield found


@pytest.mark.parametrize("query", CONSTANT)
def test_a_query_has_the_rows_of_prometheus(both, query):
    expected, found = (evaluated(url, query) for url in (both.prometheus.url, both.backend_url))
    is_equal = (found.kind, rows(found), found.partial) == (expected.kind, rows(expected), False)
    assert is_equal == (query not in both.differences.queries), (rows(found), rows(expected))


def rows(evaluation):
    return sorted((sorted(row.labels.items()), row.value) for row in evaluation.samples)


def test_wide_queries_have_the_values_of_the_requests_own_queries(both):
    at_seconds = time.time()
    ends_at = time.monotonic() + SETTLED_SECONDS
    until(lambda: time.monotonic() > ends_at, what="the samples", deadline_seconds=60)

    async def compared() -> None:
        client = client_of(both.backend_url)
        try:
            digits = both.differences.digits
            await compare(client, pairs=PAIRS, at_seconds=at_seconds, digits=digits)
        finally:
            await client.close()

    asyncio.run(compared())


@pytest.mark.parametrize(("shape", "moved"), SHAPES)
def test_a_wide_query_of_each_accepted_shape_has_the_rows_of_the_own_query(both, shape, moved):
    regroup = moved is wide_shapes.OF_QUEUES
    narrow, wide = wide_shapes.texts(shape.template, moved, regroup=regroup)
    for url in (both.prometheus.url, both.backend_url):
        try:
            own, shared = evaluated(url, narrow), evaluated(url, wide)
        except QueryFailed:
            continue  # Where one is refused, own queries answer.
        share = wide_shapes.share(shared, moved, shape.extra, DIGITS)
        assert share == wide_shapes.rows(own, DIGITS), (url, narrow, wide)


@pytest.mark.parametrize(
    "match", ['{namespace!=""}', '{__name__=~"^(a|depth)$",queue!=""}', "none"]
)
def test_discovery_finds_what_it_finds_in_prometheus(both, match):
    assert listed(both.backend_url, match, 600.0) == listed(both.prometheus.url, match, 600.0)


def test_a_metric_that_no_longer_exists_is_listed_only_by_day(both):
    """Prometheus, also behind Thanos, lists by the time of the samples, VictoriaMetrics by day."""
    both.exporter.remove("gone")
    until(lambda: not evaluated(both.prometheus.url, "gone").samples, what="the staleness marker")
    ends_at = time.monotonic() + MAX_AGE_SECONDS + 2
    until(lambda: time.monotonic() > ends_at, what="the age", deadline_seconds=30)
    names = {
        url: {name for name, _ in listed(url, '{namespace!=""}', MAX_AGE_SECONDS)}
        for url in (both.prometheus.url, both.backend_url)
    }
    assert "gone" not in names[both.prometheus.url]
    assert ("gone" in names[both.backend_url]) == both.differences.lists_by_day


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
