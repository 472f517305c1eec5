"""Near misses: which rule would serve a name, and which names are like it."""

import pytest

from adapter.config import parse
from adapter.diagnosis.near_misses import likely_series_names, similar, sources

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


def test_similar_metrics_are_named_as_discovery_lists_them():
    known = ["pods/http_requests", "namespaces/http_requests", "pods/memory", "queue_depth"]
    assert similar("htp_requests", known) == ("pods/http_requests", "namespaces/http_requests")
    assert similar("queue_dept", known) == ("queue_depth",)
    assert similar("zzz", known) == ()


def test_a_rate_is_searched_under_the_name_of_its_counter():
    assert "http_requests_total" in likely_series_names("http_requests_per_second")
