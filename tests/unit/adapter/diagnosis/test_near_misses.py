"""Near misses: which rule would serve a name, and which names are like it."""

import pytest

from adapter.config import parse
from adapter.diagnosis.near_misses import (
    SIMILAR_MAX,
    likely_series_names,
    similar,
    sources,
)
from adapter.promql.naming import NAME_LENGTH_MAX

RULES = parse(
    r"""
rules:
- seriesQuery: 'http_requests_total{namespace!=""}'
  resources: {template: '<<.Resource>>'}
  name: {matches: '^(.*)_total$', as: '${1}_per_second'}
  metricsQuery: up
- seriesQuery: '{__name__=~"^container_.*",pod!=""}'
  resources: {template: '<<.Resource>>'}
  name: {matches: '^container_(.*)_seconds_total$'}
  metricsQuery: up
- seriesQuery: '{namespace!="",__name__!~"^container_.*"}'
  resources: {template: '<<.Resource>>'}
  seriesFilters: [{isNot: '_total$'}]
  metricsQuery: up
externalRules:
- seriesQuery: queue_depth
  metricsQuery: up
"""
).rules


@pytest.mark.parametrize(
    ("metric", "external", "found"),
    [
        pytest.param("http_requests_per_second", False, [("rules[0]", "http_requests_total"), ("rules[1]", "container_http_requests_per_second_seconds_total"), ("rules[2]", "http_requests_per_second")], id="by the name in the selector"),
        pytest.param("cpu_usage", False, [("rules[1]", "container_cpu_usage_seconds_total"), ("rules[2]", "cpu_usage")], id="by what rules cut off"),
        pytest.param("container_x", False, [("rules[1]", "container_container_x_seconds_total")], id="a name that one rule excludes"),
        pytest.param("queue_depth", True, [("externalRules[0]", "queue_depth")], id="an external one"),
        pytest.param("queue_length", True, [], id="no rule at all"),
    ],
)  # fmt: skip
def test_the_rules_that_would_serve_a_metric_and_the_series_they_wait_for(metric, external, found):
    assert [
        (each.rule.path, each.series) for each in sources(RULES, metric, external=external)
    ] == found


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("htp_requests", ["http_requests", "requests", "http_requests_per_second"]),
        ("queue_dept", ["queue_depth"]),
        ("http_requests_per_seconds", ["http_requests_per_second", "http_requests"]),
        ("rquests", ["requests", "http_requests"]),
        ("zzz", []),
        ("z", []),
        ("", []),
    ],
)
def test_similar_names_are_found_among_many(metric, found):
    known = ["http_requests", "http_requests_per_second", "requests", "memory", "queue_depth"]
    others = [f"app_{number:05}_gauge" for number in range(20_000)]
    assert similar(metric, [*known, *others]) == found


def test_a_name_is_compared_in_full_with_few_names_only():
    alike = [f"app_metric_{number}_requests_in_flight" for number in range(20_000)]
    assert len(similar("app_metric_requests_in_flight", alike)) == SIMILAR_MAX
    assert similar("app_metric_" * (NAME_LENGTH_MAX // 10), alike) == []


def test_a_rate_is_searched_under_the_name_of_its_counter():
    assert "http_requests_total" in likely_series_names("http_requests_per_second")
