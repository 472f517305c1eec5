"""How old samples are is queried by the selectors of the metric's query, for each row of its result."""

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.promql.ages import age_query, dated, grouping_of, scrapes_query
from adapter.promql.row_selection import indexed
from tests.fakes.adapter import vector

TAKEN = 'timestamp({__name__="a"})'


@pytest.mark.parametrize(
    ("query", "labels", "requested"),
    [
        pytest.param("a", ("pod",), f"max by (pod) ({TAKEN})", id="an instant"),
        pytest.param("sum(a)", (), f"max by () ({TAKEN})", id="everything together"),
        pytest.param("sum by (pod) (rate(a[5m]))", ("pod", "namespace"), f"max by (pod,namespace) ({TAKEN} or max_over_time({TAKEN}[300000ms:5000ms]))", id="a range"),
        pytest.param("rate(a[30s])", ("pod",), f"max by (pod) ({TAKEN} or max_over_time({TAKEN}[30000ms:1000ms]))", id="a short range"),
        pytest.param('a{b="x\\"y", c=~"z.*"}', ("pod",), 'max by (pod) (timestamp({__name__="a",b="x\\"y",c=~"z.*"}))', id="matchers"),
        pytest.param("a / a", ("pod",), f"max by (pod) ({TAKEN})", id="a selector twice"),
        pytest.param("a / b", ("pod",), f'min by (pod) (label_replace(max by (pod) ({TAKEN}), "loadline_selector", "0", "", "") or label_replace(max by (pod) (timestamp({{__name__="b"}})), "loadline_selector", "1", "", ""))', id="two selectors"),
        pytest.param("max_over_time(a[1h:1m])", ("pod",), f"max by (pod) ({TAKEN})", id="a subquery"),
        pytest.param("a - a offset 1d", ("pod",), f"max by (pod) ({TAKEN})", id="the past on purpose is not old"),
        pytest.param("a offset 1d", ("pod",), "", id="nothing but the past"),
        pytest.param("vector(1)", ("pod",), "", id="no selector"),
        pytest.param("brand_new_function(a)", ("pod",), "", id="not understood"),
    ],
)  # fmt: skip
def test_the_selectors_of_a_query_say_how_old_its_samples_are(query, labels, requested):
    assert age_query(query, labels) == requested


@given(
    name=st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True),
    value=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
    minutes=st.integers(1, 10_000),
)
def test_the_query_for_ages_is_always_promql(name, value, minutes):
    written = value.replace("\\", "\\\\").replace('"', '\\"')
    query = f'{{__name__="{name}",l="{written}"}} + rate(b[{minutes}m])'
    assert promql_parser.parse(age_query(query, ("pod",)))


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("sum by (pod) (a)", id="an instant"),
        pytest.param("sum by (pod) (rate(a[5m]))", id="a range"),
        pytest.param("a / a", id="a selector twice"),
    ],
)
def test_one_selector_says_when_its_series_were_scraped(query):
    rows = [
        f'label_replace(max({TAKEN}), "loadline_of", "newest", "", "")',
        f'label_replace(min({TAKEN}), "loadline_of", "oldest", "", "")',
        'label_replace(max(count_over_time({__name__="a"}[120s])), "loadline_of", "count", "", "")',
    ]
    assert scrapes_query(query) == " or ".join(rows)
    assert promql_parser.parse(scrapes_query(query))


@pytest.mark.parametrize("query", ["a / b", "a offset 1d", "vector(1)", "brand_new_function(a)"])
def test_other_queries_do_not_say_when_series_were_scraped(query):
    assert scrapes_query(query) == ""


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        pytest.param("sum by (queue, shard) (a)", ("queue", "shard"), id="by"),
        pytest.param("((sum(a) by (queue)))", ("queue",), id="in parentheses"),
        pytest.param("sum(a)", (), id="everything together"),
        pytest.param("sum without (pod) (a)", (), id="without"),
        pytest.param("a / b", (), id="no aggregation"),
        pytest.param("sum by (", (), id="not understood"),
    ],
)
def test_rows_are_identified_by_the_labels_that_the_aggregation_keeps(query, labels):
    assert grouping_of(query) == labels


def test_each_row_is_as_old_as_what_is_known_of_it_and_never_younger_than_its_evaluation():
    rows = vector(
        ({"pod": "a", "code": "200"}, 1.0),
        ({"pod": "b"}, 2.0),
        ({"pod": "c"}, 3.0),
        at_seconds=100.0,
    )
    ages = vector(({"pod": "a"}, 40.0), ({"pod": "c"}, 100.5), at_seconds=100.0)
    found = dated(rows, indexed(ages, ("pod",)), ("pod",))
    assert [sample.timestamp_seconds for sample in found.samples] == [40.0, 100.0, 100.0]
    assert [sample.value for sample in found.samples] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("newest_seconds", "taken_seconds"),
    [(float("nan"), 100.0), (float("inf"), 100.0), (float("-inf"), 0.0), (-1.7e308, 0.0)],
)
def test_the_time_of_a_row_is_a_date_whatever_the_query_for_ages_yields(
    newest_seconds, taken_seconds
):
    rows, ages = vector(({}, 1.0), at_seconds=100.0), vector(({}, newest_seconds), at_seconds=100.0)
    [found] = dated(rows, ages, ()).samples
    assert found.timestamp_seconds == taken_seconds
