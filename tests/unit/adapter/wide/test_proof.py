"""A wide query has exactly the rows of the narrow ones, wherever the proof says so."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.promql.metric_query import Matcher, QueryNotBuilt
from adapter.wide.proof import DEPTH_MAX, LENGTH_MAX, Moved, extra_labels
from adapter.wide.regrouping import keeping
from tests.generated_templates import TemplateGenerator
from tests.unit.adapter.promql.small_promql import EvaluationError, evaluate
from tests.wide_shapes import OF_PODS, OF_QUEUES, POD_SHAPES, QUEUE_SHAPES, proven, texts


@pytest.mark.parametrize("shape", POD_SHAPES, ids=lambda shape: shape.id)
def test_pods_are_separated_where_the_namespace_and_the_pod_are_kept(shape):
    assert proven(shape.template, OF_PODS) == shape.extra


@pytest.mark.parametrize("shape", QUEUE_SHAPES, ids=lambda shape: shape.id)
def test_labels_are_added_to_the_grouping_of_external_metrics(shape):
    assert proven(shape.template, OF_QUEUES, regroup=True) == shape.extra


def test_adding_labels_changes_no_label_value_and_no_other_clause():
    query = 'sum(a{x="sum(b)"}) / on (by) group_left (c) max without (d) (sum by (e) (f))'
    assert keeping(query, ["n"]) == (
        'sum by (n) (a{x="sum(b)"}) / on (by) group_left (c) max without (d) (sum by (e,n) (f))'
    )


@pytest.mark.parametrize("query", ["sum by (a", "sum(a", "sum by (a,", "sum by (a) (b"])
def test_a_parenthesis_that_is_not_closed_is_left_to_the_parser(query):
    assert keeping(query, ["n"]).startswith("sum")


OF_A_NAMESPACE = Moved(
    equal=frozenset({"namespace"}),
    narrow=(Matcher("namespace", "=", "a"),),
    wide=(Matcher("namespace", "=~", "a|b"),),
)


def in_a_namespace(text: str) -> frozenset[str] | None:
    """`text` has `M` for the matchers and `G` for the grouping."""
    narrow = text.replace("M", 'namespace="a"').replace("G", "pod")
    wide = text.replace("M", 'namespace=~"a|b"').replace("G", "pod,namespace")
    return extra_labels(narrow, wide, OF_A_NAMESPACE)


@pytest.mark.parametrize(
    "nested",
    [
        "{open}x{{M}}{close}",
        "{minus}x{{M}}",
        "{plus}x{{M}}",
        "quantile by (G) ({open}0.5{close}, x{{M}})",
    ],
    ids=["parentheses", "signs", "terms", "parameter"],
)
def test_a_query_that_is_nested_deeply_is_not_proven(nested):
    def found(depth: int) -> frozenset[str] | None:
        parts = {
            "open": "(" * depth,
            "close": ")" * depth,
            "minus": "-" * depth,
            "plus": "1+" * depth,
        }
        return in_a_namespace(f"sum({nested.format(**parts)}) by (G)")

    assert found(10) == {"namespace"}
    assert found(DEPTH_MAX) is None
    assert found(1_000) is None


def test_a_long_query_is_not_proven():
    def found(length: int) -> frozenset[str] | None:
        return in_a_namespace(f'sum(x{{M,y="{"z" * length}"}}) by (G)')

    assert found(LENGTH_MAX // 2) == {"namespace"}
    assert found(LENGTH_MAX) is None


SERIES = [
    {
        key: value
        for key, value in zip(
            ("__name__", "namespace", "pod", "queue", "code"), labels, strict=True
        )
        if value
    }
    for labels in itertools.product(
        ("a", "b", "c"), ("n1", "n2"), ("p1", "p2", "p3", ""), ("q1", "q2"), ("200", "500")
    )
]


@settings(max_examples=1500, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    moved=st.sampled_from([OF_PODS, OF_QUEUES]),
    regroup=st.booleans(),
    existing=st.sets(st.integers(0, len(SERIES) - 1), min_size=10, max_size=60),
)
def test_the_rows_of_a_proven_wide_query_are_those_of_the_narrow_query(
    seed, moved, regroup, existing
):
    """What the small evaluator computes; where the wide query is refused, the narrow one answers."""
    template = TemplateGenerator(seed).template()
    try:
        narrow, wide = texts(template, moved, regroup=regroup)
    except QueryNotBuilt:
        return
    extra = extra_labels(narrow, wide, moved)
    if extra is None:
        return
    series = [SERIES[index] for index in sorted(existing)]
    values = [float(index % 7 - 2) for index in sorted(existing)]
    try:
        rows = evaluate(wide, series, values)
    except EvaluationError:
        return
    wanted = {"namespace": ("n1",)} | (
        {"pod": ("p1", "p2")} if moved.object_label else {"queue": ("q1",)}
    )
    picked = [
        (frozenset(each for each in labels if each[0] not in extra), value)
        for labels, value in rows.items()
        if all(dict(labels).get(label) in allowed for label, allowed in wanted.items())
    ]
    assert len(dict(picked)) == len(picked)
    assert dict(picked) == evaluate(narrow, series, values), (template, narrow, wide)
