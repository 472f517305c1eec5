"""A wide query has exactly the rows of the narrow ones, wherever the proof says so."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.promql.metric_query import Matcher, QueryNotBuilt, equals, rendered_query
from adapter.wide.proof import Moved, extra_labels
from adapter.wide.regrouping import keeping
from tests.generated_templates import TemplateGenerator
from tests.unit.adapter.promql.small_promql import EvaluationError, evaluate

NAMESPACE, PODS = equals("namespace", "n1"), Matcher("pod", "=~", "p1|p2")
NAMESPACES, ANY_POD = Matcher("namespace", "=~", "n1|n2"), Matcher("pod", "!=", "")
OF_PODS = Moved(
    equal=frozenset({"namespace"}),
    object_label="pod",
    narrow=(NAMESPACE, PODS),
    wide=(NAMESPACES, ANY_POD),
)
QUEUE, ANY_QUEUE = equals("queue", "q1"), Matcher("queue", "!=", "")
OF_QUEUES = Moved(
    equal=frozenset({"namespace", "queue"}),
    narrow=(NAMESPACE, QUEUE),
    wide=(NAMESPACES, ANY_QUEUE),
)


def texts(template, moved, *, regroup=False):
    """The narrow and the wide query of a template."""
    group_by = (moved.object_label,) if moved.object_label else ()
    added = [label for label in sorted(moved.equal) if label not in group_by]
    narrow = rendered_query(template, series="a", matchers=moved.narrow, group_by=group_by)
    wide = rendered_query(template, series="a", matchers=moved.wide, group_by=(*group_by, *added))
    return narrow, keeping(wide, sorted(moved.equal)) if regroup else wide


def proven(template, moved, *, regroup=False):
    narrow, wide = texts(template, moved, regroup=regroup)
    extra = extra_labels(narrow, wide, moved)
    return None if extra is None else sorted(extra)


M = "<<.LabelMatchers>>"
G = "<<.GroupBy>>"
NS = ["namespace"]


@pytest.mark.parametrize(
    ("template", "extra"),
    [
        pytest.param(f"sum(a{{{M}}}) by ({G})", NS, id="grouped by the template's field"),
        pytest.param(f"a{{{M}}}", [], id="a selector alone"),
        pytest.param(f"sum(rate(a{{{M}}}[2m])) by ({G})", NS, id="a rate"),
        pytest.param(f"sum(a{{{M}}}) by (pod)", None, id="the namespace is lost"),
        pytest.param(f"sum(a{{{M}}})", None, id="every label is lost"),
        pytest.param(f"sum by (namespace, pod) (a{{{M}}})", [], id="both labels by hand"),
        pytest.param(f"sum(a{{{M}}}) without (code)", [], id="without another label"),
        pytest.param(f"sum(a{{{M}}}) without (pod)", None, id="without the object's label"),
        pytest.param(f"sum(a{{{M}}}) without ({G})", None, id="without the field"),
        pytest.param(f"max(sum(a{{{M}}}) without (x)) by ({G})", NS, id="nested"),
        pytest.param(f"sum(sum(a{{{M}}}) by (code)) by ({G})", None, id="lost inside"),
        pytest.param(f"quantile(0.9, a{{{M}}}) by ({G})", NS, id="quantile of a number"),
        pytest.param(f"quantile(scalar(b), a{{{M}}}) by ({G})", NS, id="quantile of a constant"),
        pytest.param(f"quantile(scalar(b{{{M}}}), a{{{M}}}) by ({G})", None, id="quantile varies"),
        pytest.param(f'count_values("v", a{{{M}}}) by ({G})', NS, id="count_values"),
        pytest.param(f'count_values("pod", a{{{M}}}) by ({G})', None, id="count_values overwrites"),
        pytest.param(f"topk(3, a{{{M}}}) by ({G})", None, id="topk chooses by order"),
        pytest.param(f"bottomk(3, a{{{M}}}) by ({G})", None, id="bottomk"),
        pytest.param(f"limitk(3, a{{{M}}}) by ({G})", None, id="limitk"),
        pytest.param(f"stddev(a{{{M}}}) by ({G})", NS, id="stddev"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) / 2", NS, id="a number"),
        pytest.param(f"1 - sum(a{{{M}}}) by ({G})", NS, id="a number on the left"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) * time()", NS, id="a scalar function"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) / sum(b{{{M}}}) by ({G})", NS, id="a ratio"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) / sum(b) by ({G})", None, id="not everywhere"),
        pytest.param(f"a{{{M}}} / on ({G}) b{{{M}}}", NS, id="on the field"),
        pytest.param(f"a{{{M}}} / on (code) b{{{M}}}", None, id="on another label"),
        pytest.param(f"a{{{M}}} / ignoring (code) b{{{M}}}", [], id="ignoring another label"),
        pytest.param(f"a{{{M}}} / ignoring (pod) b{{{M}}}", None, id="ignoring the object"),
        pytest.param(
            f"sum(a{{{M}}} * on (pod, namespace) group_left (x) b{{{M}}}) by ({G})",
            NS,
            id="group_left",
        ),
        pytest.param(
            f"a{{{M}}} * on (pod, namespace) group_left (pod) b{{{M}}}", None, id="copies a label"
        ),
        pytest.param(
            f"sum(a{{{M}}} * on (code) group_left b) by ({G})", NS, id="constant on the one side"
        ),
        pytest.param(
            f"sum(a{{{M}}} * on (code) group_right b) by ({G})", None, id="constant, many side"
        ),
        pytest.param(f"a{{{M}}} * on (code) b", None, id="one to one drops the labels"),
        pytest.param(f"a{{{M}}} * on (namespace, pod) b", [], id="one to one keeps the labels"),
        pytest.param(f"a{{{M}}} * b", [], id="one to one with all labels"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) * on (pod) group_left b", NS, id="after grouping"),
        pytest.param(
            f"sum(a{{{M}}}) by ({G}) * on (namespace) group_left b", None, id="extra is compared"
        ),
        pytest.param(f"a{{{M}}} and b{{{M}}}", [], id="and"),
        pytest.param(f"a{{{M}}} unless on (code) b", [], id="unless a constant"),
        pytest.param(f"a{{{M}}} or b{{{M}}}", [], id="or of two"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) or vector(0)", None, id="or a constant"),
        pytest.param(f"b unless a{{{M}}}", None, id="a constant unless"),
        pytest.param(f"absent(a{{{M}}})", None, id="absent creates labels"),
        pytest.param(f"scalar(a{{{M}}})", None, id="scalar drops labels"),
        pytest.param(f"vector(scalar(a{{{M}}}))", None, id="vector of it"),
        pytest.param(f"sort(a{{{M}}})", None, id="sort orders all rows"),
        pytest.param(f"clamp_max(a{{{M}}}, 5)", [], id="a function of numbers"),
        pytest.param(f"clamp_max(a{{{M}}}, scalar(b))", [], id="a function of a constant"),
        pytest.param(
            f"histogram_quantile(0.9, sum(rate(a{{{M}}}[5m])) by (le, {G}))", NS, id="a histogram"
        ),
        pytest.param(
            f'label_replace(a{{{M}}}, "copy", "$1", "code", "(.*)")', [], id="label_replace"
        ),
        pytest.param(
            f'label_replace(a{{{M}}}, "pod", "$1", "code", "(.*)")', None, id="replaces the object"
        ),
        pytest.param(
            f'label_replace(sum(a{{{M}}}) by ({G}), "copy", "$1", "namespace", "(.*)")',
            None,
            id="reads a label that the narrow query does not have",
        ),
        pytest.param(f'label_join(a{{{M}}}, "copy", "-", "code")', [], id="label_join"),
        pytest.param(f'label_join(a{{{M}}}, "namespace", "-", "x")', None, id="joins into it"),
        pytest.param(f"max_over_time(sum(a{{{M}}}) by ({G})[5m:1m])", NS, id="a subquery"),
        pytest.param(f"a{{{M}}} offset 5m", [], id="an offset"),
        pytest.param(f"a{{{M}}} @ 1609746000", [], id="at a time"),
        pytest.param(f"sum(a{{{M}}} - a{{{M}}} offset 5m) by ({G})", NS, id="a difference"),
        pytest.param(f"a{{{M}}}[5m]", None, id="a range is not an instant vector"),
        pytest.param(f"sum(a{{pod!='',{M}}}) by ({G})", NS, id="matchers of the template"),
        pytest.param(f'sum(a{{{M} or code="1"}}) by ({G})', None, id="alternatives"),
        pytest.param("sum(a) by (pod)", None, id="without the matchers"),
        pytest.param(f"-a{{{M}}}", [], id="a minus sign"),
        pytest.param(f"sum(a{{{M}}}) by ({G}) +", None, id="not PromQL"),
        pytest.param(f"a{{{M}}} + fill(0) b{{{M}}}", None, id="fill creates rows"),
    ],
)
def test_pods_are_separated_where_the_namespace_and_the_pod_are_kept(template, extra):
    assert proven(template, OF_PODS) == extra


@pytest.mark.parametrize(
    ("template", "extra"),
    [
        pytest.param(f"sum(a{{{M}}})", ["namespace", "queue"], id="no grouping"),
        pytest.param(f"sum(a{{{M}}}) by ({G})", ["namespace", "queue"], id="an empty field"),
        pytest.param(f"sum(a{{{M}}}) by (queue)", NS, id="grouped by the selector's label"),
        pytest.param(f"sum by (queue,) (a{{{M}}})", NS, id="with a last comma"),
        pytest.param(f"max(sum by (queue) (rate(a{{{M}}}[1m])))", ["namespace", "queue"], id="two"),
        pytest.param(f"sum(a{{{M}}}) / sum(b{{{M}}})", ["namespace", "queue"], id="a ratio"),
        pytest.param(f"sum(a{{{M}}}) / scalar(sum(b))", None, id="a constant is regrouped too"),
        pytest.param(f"avg(a{{{M}}}) without (instance)", [], id="without"),
        pytest.param(f"sum(a{{{M}}}) # by (x)", ["namespace", "queue"], id="a comment"),
    ],
)
def test_labels_are_added_to_the_grouping_of_external_metrics(template, extra):
    assert proven(template, OF_QUEUES, regroup=True) == extra


def test_adding_labels_changes_no_label_value_and_no_other_clause():
    query = 'sum(a{x="sum(b)"}) / on (by) group_left (c) max without (d) (sum by (e) (f))'
    assert keeping(query, ["n"]) == (
        'sum by (n) (a{x="sum(b)"}) / on (by) group_left (c) max without (d) (sum by (e,n) (f))'
    )


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
