"""Forms of templates, with what the proof of wide queries says about them, and series with which they can be evaluated."""

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from adapter.model import Evaluation
from adapter.promql.metric_query import Matcher, equals, rendered_query
from adapter.wide.proof import Moved, extra_labels
from adapter.wide.regrouping import keeping
from testbed.exporter import Exporter

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
M = "<<.LabelMatchers>>"
G = "<<.GroupBy>>"
NS = ["namespace"]
BOTH = ["namespace", "queue"]


class Shape(msgspec.Struct, frozen=True):
    """A template, and the labels that its wide rows have in addition; None if it is not proven."""

    template: str
    extra: list[str] | None
    id: str


def texts(template: str, moved: Moved, *, regroup: bool = False) -> tuple[str, str]:
    """The narrow and the wide query of a template."""
    group_by = (moved.object_label,) if moved.object_label else ()
    added = [label for label in sorted(moved.equal) if label not in group_by]
    narrow = rendered_query(template, series="load", matchers=moved.narrow, group_by=group_by)
    wide = rendered_query(
        template, series="load", matchers=moved.wide, group_by=(*group_by, *added)
    )
    return narrow, keeping(wide, sorted(moved.equal)) if regroup else wide


def proven(template: str, moved: Moved, *, regroup: bool = False) -> list[str] | None:
    """The labels that the wide rows have in addition; None if that is not proven."""
    narrow, wide = texts(template, moved, regroup=regroup)
    extra = extra_labels(narrow, wide, moved)
    return None if extra is None else sorted(extra)


def expose(exporter: Exporter) -> None:
    """Constant series for the shapes. Of one code, there is no size."""
    for namespace, pod, code in itertools.product(
        ("n1", "n2"), ("p1", "p2", "p3"), ("200", "404", "500")
    ):
        labels = {
            "namespace": namespace,
            "pod": pod,
            "queue": "q2" if pod == "p3" else "q1",
            "code": code,
            "le": "+Inf" if code == "500" else "1",
            "instance": f"i-{pod}",
            "x": "y",
        }
        value = int(pod[1:]) + int(code) / 100 + (namespace == "n2") * 40
        exporter.set("load", 3 * value, **labels)
        if code != "404":
            exporter.set("size", value + 1, **labels)


def share(wide: Evaluation, moved: Moved, extra: Sequence[str], digits: int) -> list[Any]:
    """The rows of the narrow query, out of the wide result."""
    wanted = {"namespace": ("n1",)} | (
        {"pod": ("p1", "p2")} if moved.object_label else {"queue": ("q1",)}
    )
    return rows(wide, digits, without=extra, wanted=wanted)


def rows(
    evaluation: Evaluation,
    digits: int,
    *,
    without: Sequence[str] = (),
    wanted: dict[str, tuple[str, ...]] | None = None,
) -> list[Any]:
    """Labels and values as text, sorted."""
    return sorted(
        (
            sorted(each for each in row.labels.items() if each[0] not in without),
            f"{row.value:.{digits}g}",
        )
        for row in evaluation.samples
        if all(row.labels.get(label) in allowed for label, allowed in (wanted or {}).items())
    )


POD_SHAPES = (
    Shape(f"sum(load{{{M}}}) by ({G})", NS, id="grouped by the template's field"),
    Shape(f"load{{{M}}}", [], id="a selector alone"),
    Shape(f"sum(rate(load{{{M}}}[2m])) by ({G})", NS, id="a rate"),
    Shape(f"sum(load{{{M}}}) by (pod)", None, id="the namespace is lost"),
    Shape(f"sum(load{{{M}}})", None, id="every label is lost"),
    Shape(f"sum by (namespace, pod) (load{{{M}}})", [], id="both labels by hand"),
    Shape(f"sum(load{{{M}}}) without (code)", [], id="without another label"),
    Shape(f"sum(load{{{M}}}) without (pod)", None, id="without the object's label"),
    Shape(f"sum(load{{{M}}}) without ({G})", None, id="without the field"),
    Shape(f"max(sum(load{{{M}}}) without (x)) by ({G})", NS, id="nested"),
    Shape(f"sum(sum(load{{{M}}}) by (code)) by ({G})", None, id="lost inside"),
    Shape(f"quantile(0.9, load{{{M}}}) by ({G})", NS, id="quantile of a number"),
    Shape(f"quantile(scalar(size), load{{{M}}}) by ({G})", NS, id="quantile of a constant"),
    Shape(f"quantile(scalar(size{{{M}}}), load{{{M}}}) by ({G})", None, id="quantile varies"),
    Shape(f'count_values("v", load{{{M}}}) by ({G})', NS, id="count_values"),
    Shape(f'count_values("pod", load{{{M}}}) by ({G})', None, id="count_values overwrites"),
    Shape(f"topk(3, load{{{M}}}) by ({G})", None, id="topk chooses by order"),
    Shape(f"bottomk(3, load{{{M}}}) by ({G})", None, id="bottomk"),
    Shape(f"limitk(3, load{{{M}}}) by ({G})", None, id="limitk"),
    Shape(f"stddev(load{{{M}}}) by ({G})", NS, id="stddev"),
    Shape(f"sum(load{{{M}}}) by ({G}) / 2", NS, id="a number"),
    Shape(f"1 - sum(load{{{M}}}) by ({G})", NS, id="a number on the left"),
    Shape(f"sum(load{{{M}}}) by ({G}) * time()", NS, id="a scalar function"),
    Shape(f"sum(load{{{M}}}) by ({G}) / sum(size{{{M}}}) by ({G})", NS, id="a ratio"),
    Shape(f"sum(load{{{M}}}) by ({G}) / sum(size) by ({G})", None, id="not everywhere"),
    Shape(f"load{{{M}}} / on ({G}) size{{{M}}}", NS, id="on the field"),
    Shape(f"load{{{M}}} / on (code) size{{{M}}}", None, id="on another label"),
    Shape(f"load{{{M}}} / ignoring (code) size{{{M}}}", [], id="ignoring another label"),
    Shape(f"load{{{M}}} / ignoring (pod) size{{{M}}}", None, id="ignoring the object"),
    Shape(
        f"sum(load{{{M}}} * on (pod, namespace) group_left (x) size{{{M}}}) by ({G})",
        NS,
        id="group_left",
    ),
    Shape(
        f"load{{{M}}} * on (pod, namespace) group_left (pod) size{{{M}}}", None, id="copies a label"
    ),
    Shape(
        f"sum(load{{{M}}} * on (code) group_left size) by ({G})", NS, id="constant on the one side"
    ),
    Shape(
        f"sum(load{{{M}}} * on (code) group_right size) by ({G})", None, id="constant, many side"
    ),
    Shape(f"load{{{M}}} * on (code) size", None, id="one to one drops the labels"),
    Shape(f"load{{{M}}} * on (namespace, pod) size", [], id="one to one keeps the labels"),
    Shape(f"load{{{M}}} * size", [], id="one to one with all labels"),
    Shape(f"sum(load{{{M}}}) by ({G}) * on (pod) group_left size", NS, id="after grouping"),
    Shape(
        f"sum(load{{{M}}}) by ({G}) * on (namespace) group_left size", None, id="extra is compared"
    ),
    Shape(f"load{{{M}}} and size{{{M}}}", [], id="and"),
    Shape(f"load{{{M}}} unless on (code) size", [], id="unless a constant"),
    Shape(f"load{{{M}}} or size{{{M}}}", [], id="or of two"),
    Shape(f"sum(load{{{M}}}) by ({G}) or vector(0)", None, id="or a constant"),
    Shape(f"size unless load{{{M}}}", None, id="a constant unless"),
    Shape(f"absent(load{{{M}}})", None, id="absent creates labels"),
    Shape(f"scalar(load{{{M}}})", None, id="scalar drops labels"),
    Shape(f"vector(scalar(load{{{M}}}))", None, id="vector of it"),
    Shape(f"sort(load{{{M}}})", None, id="sort orders all rows"),
    Shape(f"clamp_max(load{{{M}}}, 5)", [], id="a function of numbers"),
    Shape(f"clamp_max(load{{{M}}}, scalar(size))", [], id="a function of a constant"),
    Shape(
        f"histogram_quantile(0.9, sum(rate(load{{{M}}}[5m])) by (le, {G}))", NS, id="a histogram"
    ),
    Shape(f'label_replace(load{{{M}}}, "copy", "$1", "code", "(.*)")', [], id="label_replace"),
    Shape(
        f'label_replace(load{{{M}}}, "pod", "$1", "code", "(.*)")', None, id="replaces the object"
    ),
    Shape(
        f'label_replace(sum(load{{{M}}}) by ({G}), "copy", "$1", "namespace", "(.*)")',
        None,
        id="reads a label that the narrow query does not have",
    ),
    Shape(f'label_join(load{{{M}}}, "copy", "-", "code")', [], id="label_join"),
    Shape(f'label_join(load{{{M}}}, "namespace", "-", "x")', None, id="joins into it"),
    Shape(
        f'label_join(sum(load{{{M}}}) by ({G}), "copy", "-", "code", "namespace")',
        None,
        id="joins a label that the narrow query does not have",
    ),
    Shape(f"max_over_time(sum(load{{{M}}}) by ({G})[5m:1m])", NS, id="a subquery"),
    Shape(f"load{{{M}}} offset 5m", [], id="an offset"),
    Shape(f"load{{{M}}} @ 1609746000", [], id="at a time"),
    Shape(f"sum(load{{{M}}} - load{{{M}}} offset 5m) by ({G})", NS, id="a difference"),
    Shape(f"load{{{M}}}[5m]", None, id="a range is not an instant vector"),
    Shape(f"sum(load{{pod!='',{M}}}) by ({G})", NS, id="matchers of the template"),
    Shape(f'sum(load{{{M} or code="1"}}) by ({G})', None, id="alternatives"),
    Shape("sum(load) by (pod)", None, id="without the matchers"),
    Shape(f"-load{{{M}}}", [], id="a minus sign"),
    Shape(f"sum(load{{{M}}}) by ({G}) +", None, id="not PromQL"),
    Shape(f"load{{{M}}} + fill(0) size{{{M}}}", None, id="fill creates rows"),
)
"""With `OF_PODS`."""

QUEUE_SHAPES = (
    Shape(f"sum(load{{{M}}})", BOTH, id="no grouping"),
    Shape(f"sum(load{{{M}}}) by ({G})", BOTH, id="an empty field"),
    Shape(f"sum(load{{{M}}}) by (queue)", NS, id="grouped by the selector's label"),
    Shape(f"sum by (queue,) (load{{{M}}})", NS, id="with a last comma"),
    Shape(f"max(sum by (queue) (rate(load{{{M}}}[1m])))", BOTH, id="two"),
    Shape(f"sum(load{{{M}}}) / sum(size{{{M}}})", BOTH, id="a ratio"),
    Shape(f"sum(load{{{M}}}) / scalar(sum(size))", None, id="a constant is regrouped too"),
    Shape(f"avg(load{{{M}}}) without (instance)", [], id="without"),
    Shape(f"sum(load{{{M}}}) # by (x)", BOTH, id="a comment"),
    Shape(
        f"max(sum by (instance) (load{{{M}}}) / sum(size{{{M}}}))",
        None,
        id="one side without labels, which VictoriaMetrics takes for a scalar",
    ),
    Shape(
        f"max(sum by (instance) (load{{{M}}}) / sum by (instance) (size{{{M}}}))",
        None,
        id="sides that may be without labels",
    ),
    Shape(
        f"max(sum by (instance) (load{{{M}}}) / ignoring (instance) group_left sum(size{{{M}}}))",
        BOTH,
        id="one side without labels, and explicit matching",
    ),
    Shape(
        f"max(sum by (queue, instance) (load{{{M}}}) > sum by (queue, instance) (size{{{M}}}))",
        BOTH,
        id="a label of the request on both sides",
    ),
    Shape(f"sum(load{{{M}}}) > abs(sum(size{{{M}}}) / 2)", BOTH, id="no side has labels"),
    Shape(f'sum(load{{{M}}}) / count_values("v", size{{{M}}})', None, id="a label by count_values"),
    Shape(
        f"sum((sum(load{{{M}}}) or sum by (code) (load{{{M}}})) - sum(size{{{M}}}))",
        None,
        id="a side with and without labels",
    ),
    Shape(f"sum(load{{{M}}}) and sum by (code) (size{{{M}}})", BOTH, id="and is never a scalar"),
    Shape(f"sum by (code) (load{{{M}}}) unless sum(size{{{M}}})", BOTH, id="nor is unless"),
)
"""With `OF_QUEUES`, and labels added to the groupings."""
