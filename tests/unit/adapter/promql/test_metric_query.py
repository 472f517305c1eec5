"""Matchers and their quoting: what goes in comes out of Prometheus' own grammar unchanged."""

import contextlib

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.promql.metric_query import (
    Matcher,
    QueryNotBuilt,
    custom_query,
    equals,
    external_query,
    matcher,
)
from adapter.promql.named_query import named_query
from adapter.promql.selectors import selectors, with_matchers
from wire.api import labels

MATCHERS = (equals("team", 'a"b\\c'), Matcher("code", "=~", "200|500"))


def test_a_query_for_several_objects_is_equal_to_that_of_prometheus_adapter():
    query = custom_query(
        "sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m])) by (<<.GroupBy>>)",
        series="http_requests_total",
        selector=labels.parse("code in (500,200),!debug,zone!=a"),
        namespace=equals("namespace", "default"),
        object_label="pod",
        names=["web-0", "web-1"],
    )
    assert query == (
        'sum(rate(http_requests_total{code=~"200|500",debug="",zone!="a",namespace="default",pod=~"web-0|web-1"}[5m])) by (pod)'
    )


def test_an_external_query_has_nothing_to_group_by():
    query = external_query(
        "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
        series="q",
        selector=labels.EVERYTHING,
        namespace=None,
    )
    assert query == "sum(q{}) by ()"


@pytest.mark.parametrize("text", ["code>5", "code<5"])
def test_an_order_of_labels_has_no_promql_and_says_so(text):
    with pytest.raises(QueryNotBuilt, match="Prometheus compares labels as text"):
        matcher(labels.parse(text).requirements[0])


def test_an_empty_query_is_refused():
    with pytest.raises(QueryNotBuilt, match="renders to an empty string"):
        external_query("", series="q", selector=labels.EVERYTHING, namespace=None)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_quoted_value_reads_back_as_itself(value):
    tree = promql_parser.parse(f"up{{{equals('l', value)}}}")
    assert [(m.name, m.value) for m in tree.matchers.matchers] == [("l", value)]


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        pytest.param("up", 'up{team="a\\"b\\\\c",code=~"200|500"}', id="a bare name"),
        pytest.param(
            'up{x="}",}',
            'up{x="}",team="a\\"b\\\\c",code=~"200|500"}',
            id="a brace in a string, a trailing comma",
        ),
        pytest.param(
            "sum by (pod) (rate(a[5m]))",
            'sum by (pod) (rate(a{team="a\\"b\\\\c",code=~"200|500"}[5m]))',
            id="inside functions",
        ),
        pytest.param(
            "a / on (pod) group_left (x) b # c{",
            'a{team="a\\"b\\\\c",code=~"200|500"} / on (pod) group_left (x) b{team="a\\"b\\\\c",code=~"200|500"} # c{',
            id="both sides, no label list, no comment",
        ),
        pytest.param(
            "max_over_time(a[5m:1m] offset 1h)",
            'max_over_time(a{team="a\\"b\\\\c",code=~"200|500"}[5m:1m] offset 1h)',
            id="a subquery",
        ),
        pytest.param(
            '{__name__="a"}',
            '{__name__="a",team="a\\"b\\\\c",code=~"200|500"}',
            id="a selector without a name",
        ),
    ],
)
def test_matchers_go_into_every_selector_of_a_query(query, changed):
    assert with_matchers(query, MATCHERS) == changed


@pytest.mark.parametrize("query", ["1", "vector(1)", '{a="1" or b="2"}', "sum(((", "by"])
def test_matchers_are_not_put_where_that_cannot_be_proven(query):
    with pytest.raises(QueryNotBuilt):
        with_matchers(query, MATCHERS)


selector_texts = st.builds(
    lambda name, inside, end: f"{name}{inside}{end}",
    st.sampled_from(["up", "sum", "a:b", "offset_total", "http_requests"]),
    st.sampled_from(["", "{}", '{x="1"}', '{x=~\'a{2}\', y!="\\""}', '{ x="1" , }']),
    st.sampled_from(["", " offset 5m", " @ start()"]),
)
queries = st.recursive(
    selector_texts,
    lambda inner: st.one_of(
        inner.map(lambda q: f"({q})"),
        inner.map(lambda q: f"sum by (pod, sum) ({q})"),
        inner.map(lambda q: f"topk(3, {q}) without (x)"),
        st.builds(lambda a, b: f"{a} + on (up) group_left (a) {b}", inner, inner),
        st.builds(lambda a, b: f"{a} unless bool_metric or {b}", inner, inner),
    ),
    max_leaves=6,
)


@given(queries)
def test_every_selector_of_any_query_gains_exactly_the_matchers(query):
    gained = sorted((m.label, m.operator, m.value) for m in MATCHERS)
    expected = [sorted([*each, *gained]) for each in selectors(query)]
    assert [sorted(each) for each in selectors(with_matchers(query, MATCHERS))] == expected


@given(st.text(alphabet="abu{}[]()\"'`,=~!#@ \n05m+-", max_size=20))
def test_no_text_breaks_the_insertion_of_matchers(text):
    with contextlib.suppress(QueryNotBuilt):
        with_matchers(text, MATCHERS)


def test_a_named_query_without_a_selector_is_sent_as_written():
    assert named_query("sum( up )", labels.EVERYTHING) == "sum( up )"


def test_a_named_query_may_say_where_the_selector_goes():
    query = "a{<<.LabelMatchers>>} / ignoring (code) group_left () b"
    assert (
        named_query(query, labels.parse("code=200"))
        == 'a{code="200"} / ignoring (code) group_left () b'
    )


RAW = 'sum(<<.Series>>{pod="<<index .LabelValuesByName "pod">>"}) by (<<.GroupBy>>)'


def of_pods(template: str, *names: str, namespace: str = "shop") -> str:
    return custom_query(
        template,
        series="up",
        selector=labels.EVERYTHING,
        namespace=equals("namespace", namespace),
        object_label="pod",
        names=names,
    )


@pytest.mark.deviation("raw-template-values")
@pytest.mark.parametrize("name", ['a"} or vector(1) #', "a\\", "a{", "a}", "a`", "a\nb"])
def test_a_name_that_could_change_a_raw_template_is_refused(name):
    with pytest.raises(QueryNotBuilt, match="LabelValuesByName"):
        of_pods(RAW, name)
    with pytest.raises(QueryNotBuilt, match="LabelValuesByName"):
        of_pods(RAW.replace("pod", "namespace"), "web-0", namespace=name)
    assert of_pods(RAW, "web-0", namespace=name) == 'sum(up{pod="web-0"}) by (pod)'


def test_names_of_kubernetes_are_inserted_into_a_raw_template():
    assert of_pods(RAW, "web-0", "web-1.x") == 'sum(up{pod="web-0|web-1.x"}) by (pod)'


@pytest.mark.deviation("raw-template-values")
def test_matchers_quote_any_name():
    template = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    assert of_pods(template, 'a"b') == 'sum(up{namespace="shop",pod="a\\"b"}) by (pod)'
