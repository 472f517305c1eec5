"""A rule that `check` cannot try: the fix names the field that Prometheus refused."""

import pytest

from adapter.config import parse
from adapter.diagnosis.rule_check import RuleChecker
from adapter.model import Series
from adapter.ports import QueryFailed
from tests.fakes.adapter import FakeMapping, FakePrometheus, vector

RULE = """
rules:
- seriesQuery: load
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
"""
NAMED = "metrics: [{name: load, describes: pods, query: load}]"
USAGE = """
resourceRules:
  cpu: {containerQuery: 'a{<<.LabelMatchers>>}', nodeQuery: 'b{<<.LabelMatchers>>}', containerLabel: container, resources: {template: '<<.Resource>>'}}
  memory: {containerQuery: 'c{<<.LabelMatchers>>}', nodeQuery: 'd{<<.LabelMatchers>>}', containerLabel: container, resources: {template: '<<.Resource>>'}}
"""
LISTED = {"load": (Series("load", frozenset({"namespace", "pod"})),)}
REFUSED = {"load": QueryFailed(backend="default", query="load", cause="no", retryable=False)}


async def reports(text: str, prometheus: FakePrometheus):
    return await RuleChecker(prometheus, FakeMapping()).reports(parse(text))


@pytest.mark.parametrize(
    ("text", "series", "fields"),
    [
        pytest.param(RULE, REFUSED, ["seriesQuery"], id="the listing"),
        pytest.param(RULE, LISTED, ["metricsQuery"], id="the query of a listed series"),
        pytest.param(NAMED, {}, ["query"], id="the query of a named metric"),
        pytest.param(USAGE, {}, ["containerQuery", "nodeQuery"], id="the queries of usage"),
    ],
)
async def test_a_refused_query_names_the_field_to_fix(text, series, fields):
    found = [each for rule in await reports(text, FakePrometheus(series=series)) for each in rule.findings]  # fmt: skip
    assert [each.reason for each in found] == ["QueryRefused"] * len(fields)
    for each, field in zip(found, fields, strict=True):
        assert each.fix.endswith(f"fix the rule's `{field}`.")


@pytest.mark.parametrize(
    ("rows", "of"),
    [
        pytest.param([({"namespace": "shop", "pod": "web-1"}, 1.0)], "pod shop/web-1", id="one"),
        pytest.param([], "pods *", id="none in particular"),
    ],
)
async def test_what_was_tried_names_one_object_in_the_singular(rows, of):
    [rule] = await reports(NAMED, FakePrometheus({"load": vector(*rows)}))
    assert [each.of for each in rule.tried] == [of]
