"""What only Thanos does: equal Prometheus servers are read as one, and missing ones are reported."""

from collections.abc import Iterator

import pytest

from adapter.ports import QueryFailed
from tests.backends.side_by_side import SideBySide, beside_thanos, evaluated


@pytest.fixture
def thanos(tmp_path) -> Iterator[SideBySide]:
    with beside_thanos(tmp_path) as found:
        yield found


def total(url: str) -> float:
    (row,) = evaluated(url, "sum(depth)").samples
    return row.value


def test_replicas_are_read_as_one(thanos):
    assert total(thanos.backend_url) == total(thanos.prometheus.url)
    assert total(f"{thanos.backend_url}?dedup=false") == 2 * total(thanos.prometheus.url)


def test_a_store_that_is_down_makes_results_partial(thanos):
    thanos.sidecars[1].process.kill()
    one_left = evaluated(thanos.backend_url, "sum(depth)")
    assert one_left.partial
    assert [row.value for row in one_left.samples] == [total(thanos.prometheus.url)]
    thanos.sidecars[0].process.kill()
    none_left = evaluated(thanos.backend_url, "sum(depth)")
    assert (none_left.partial, none_left.samples) == (True, ())


def test_a_prometheus_that_is_down_makes_results_partial_or_refused(thanos):
    thanos.prometheus.kill()
    assert evaluated(thanos.backend_url, "sum(depth)").partial
    with pytest.raises(QueryFailed) as refused:
        evaluated(f"{thanos.backend_url}?partial_response=false", "sum(depth)")
    assert "connection refused" in refused.value.cause
