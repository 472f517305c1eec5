"""Proof that one query can answer many requests: matching labels and then evaluating equals evaluating and then selecting rows.

The narrow query of a request matches some labels (`namespace="shop",pod=~"web-1|web-2"`). The wide query matches them
less, or not at all, and keeps them in its result instead. `extra_labels` compares the two syntax trees node by node, from the
selectors to the root, by the semantics of Prometheus' engine (promql/engine.go). What it does not recognize is not proven.

Every node is one of three things:

- constant: the same text in both queries, without the matchers of the request; so it has the same result in both.
- separated: the narrow result is those rows of the wide result that have the requested label values. The wide rows may
  have labels that the narrow rows do not have ("extra"), and they have one value in all selected rows.
- not proven.

An error in the narrow query is one in the wide query too, since the rows that cause it are in both. The reverse is not true:
a wide query can fail because of rows that were not requested.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import promql_parser as p
from promql_parser import (
    AggModifierType,
    LabelModifierType,
    VectorMatchCardinality,
)

from adapter.promql.metric_query import Matcher, QueryNotBuilt
from adapter.promql.result_types import is_scalar
from adapter.promql.selectors import matchers_of

_BY_SERIES: Final = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "avg_over_time", "ceil", "changes",
    "clamp", "clamp_max", "clamp_min", "cos", "cosh", "count_over_time", "day_of_month",
    "day_of_week", "day_of_year", "days_in_month", "deg", "delta", "deriv",
    "double_exponential_smoothing", "exp", "floor", "histogram_avg", "histogram_count",
    "histogram_fraction", "histogram_quantile", "histogram_stddev", "histogram_stdvar",
    "histogram_sum", "holt_winters", "hour", "idelta", "increase", "irate", "last_over_time", "ln",
    "log10", "log2", "mad_over_time", "max_over_time", "min_over_time", "minute", "month",
    "predict_linear", "present_over_time", "quantile_over_time", "rad", "rate", "resets", "round",
    "sgn", "sin", "sinh", "sqrt", "stddev_over_time", "stdvar_over_time", "sum_over_time", "tan",
    "tanh", "timestamp", "year",
})  # fmt: skip
"""Functions that compute a row from the rows with its labels, apart from the metric name and the bucket label `le`."""

_BY_BUCKET: Final = frozenset({"histogram_fraction", "histogram_quantile"})

_AGGREGATORS: Final = frozenset(
    {"sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", "quantile", "count_values"}
)
"""Aggregators whose result depends on the rows of a group only, and not on their order or on the hash of their labels.

`topk` and `bottomk` choose between equal values by order, `limitk` chooses by order, `limit_ratio` by hash.
"""

_SET_OPERATORS: Final = frozenset({"and", "or", "unless"})

_BUCKET_LABEL: Final = "le"

LENGTH_MAX: Final = 4_096
"""Characters of a query that is proven. The parser needs a second for as many if they are deeply nested, and four times as long for twice as many."""
DEPTH_MAX: Final = 32
"""Nodes below each other. A proof takes 20 ms for 30 of them, 4 s for 120, and Python's stack ends at about a thousand."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """The labels that a narrow query matches and a wide one keeps, with the matchers that stand for them."""

    equal: frozenset[str]
    """Labels that the narrow query sets equal to one value: its rows need not have them."""
    object_label: str = ""
    """The label that the narrow query matches with one or several names: its rows must have it, or they would be one row."""
    narrow: tuple[Matcher, ...]
    wide: tuple[Matcher, ...]

    @property
    def labels(self) -> frozenset[str]:
        """All of them."""
        return self.equal | ({self.object_label} if self.object_label else frozenset())


class _Constant:
    """The result does not depend on the request."""


class _Separated(msgspec.Struct, frozen=True):
    """The wide rows have these labels in addition. `is_bare`: the narrow result is a single row, which has no labels."""

    extra: frozenset[str]
    is_bare: bool = False


class _NotProven(Exception):
    pass


_CONSTANT: Final = _Constant()
_Class = _Constant | _Separated


def extra_labels(narrow: str, wide: str, moved: Moved) -> frozenset[str] | None:
    """The labels that the rows of `wide` have in addition to those of `narrow`; None when separation is not proven.

    That of a query which is long or nested deeply is never proven.
    """
    if max(len(narrow), len(wide)) > LENGTH_MAX:
        return None
    try:
        trees = p.parse(narrow), p.parse(wide)
        if _is_range(trees[0]) or any(map(_is_deep, trees)):
            return None
        found = _Proof(moved).classify(*trees)
    except (ValueError, QueryNotBuilt, RecursionError, _NotProven):
        return None
    return found.extra if isinstance(found, _Separated) else None


def _is_deep(tree: p.Expr) -> bool:
    nodes = [tree]
    for _ in range(DEPTH_MAX):
        nodes = [each for node in nodes for each in _children(node)]
    return bool(nodes)


def _children(node: p.Expr) -> Sequence[p.Expr]:
    match node:
        case p.ParenExpr() | p.UnaryExpr() | p.SubqueryExpr():
            return [node.expr]
        case p.AggregateExpr():
            return [node.expr] if node.param is None else [node.expr, node.param]
        case p.BinaryExpr():
            return [node.lhs, node.rhs]
        case p.Call():
            return node.args
    return []


def _is_range(node: object) -> bool:
    while isinstance(node, p.ParenExpr):
        node = node.expr
    return isinstance(node, (p.MatrixSelector, p.SubqueryExpr))


class _Proof:
    def __init__(self, moved: Moved) -> None:
        self._moved = moved
        self._labels = moved.labels
        self._narrow = Counter(map(_triple, moved.narrow))
        self._wide = Counter(map(_triple, moved.wide))

    def classify(self, narrow: p.Expr, wide: p.Expr) -> _Class:
        """The class of a pair of nodes; raises `_NotProven`."""
        if repr(narrow) == repr(wide) and not self._matches_request(narrow):
            return _CONSTANT
        match narrow, wide:
            case p.VectorSelector(), p.VectorSelector():
                return self._selector(narrow, wide)
            case p.MatrixSelector(), p.MatrixSelector():
                return self._range_selector(narrow, wide)
            case p.SubqueryExpr(), p.SubqueryExpr():
                return self._subquery(narrow, wide)
            case p.ParenExpr(), p.ParenExpr():
                return self.classify(narrow.expr, wide.expr)
            case p.UnaryExpr(), p.UnaryExpr():
                return self.classify(narrow.expr, wide.expr)
            case p.AggregateExpr(), p.AggregateExpr():
                return self._aggregation(narrow, wide)
            case p.BinaryExpr(), p.BinaryExpr():
                return self._operation(narrow, wide)
            case p.Call(), p.Call():
                return self._call(narrow, wide)
        raise _NotProven

    def _matches_request(self, node: p.Expr) -> bool:
        """Whether any selector below has a matcher of the request."""
        found: list[bool] = []

        def visit(each: object) -> None:
            if isinstance(each, p.MatrixSelector):
                each = each.vector_selector
            if isinstance(each, p.VectorSelector):
                found.append(bool(Counter(matchers_of(each)) & self._narrow))

        p.walk(node, visit)
        return any(found)

    def _selector(self, narrow: p.VectorSelector, wide: p.VectorSelector) -> _Class:
        """The matchers of the request, in place of those of the wide query; everything else is equal."""
        if narrow.matchers.or_matchers or wide.matchers.or_matchers:
            raise _NotProven
        of_narrow, of_wide = Counter(matchers_of(narrow)), Counter(matchers_of(wide))
        same_matchers = (
            self._narrow <= of_narrow
            and self._wide <= of_wide
            and of_narrow - self._narrow == of_wide - self._wide
        )
        if not same_matchers or _time(narrow) != _time(wide):
            raise _NotProven
        return _Separated(frozenset())

    def _range_selector(self, narrow: p.MatrixSelector, wide: p.MatrixSelector) -> _Class:
        if narrow.range != wide.range:
            raise _NotProven
        return self._selector(narrow.vector_selector, wide.vector_selector)

    def _subquery(self, narrow: p.SubqueryExpr, wide: p.SubqueryExpr) -> _Class:
        if (narrow.range, narrow.step, _time(narrow)) != (wide.range, wide.step, _time(wide)):
            raise _NotProven
        return self.classify(narrow.expr, wide.expr)

    def _call(self, narrow: p.Call, wide: p.Call) -> _Class:
        name = narrow.func.name
        if name != wide.func.name or len(narrow.args) != len(wide.args):
            raise _NotProven
        separated = [
            each
            for pair in zip(narrow.args, wide.args, strict=True)
            if isinstance(each := self.classify(*pair), _Separated)
        ]
        if len(separated) != 1:
            raise _NotProven
        inner = separated[0]
        if name in ("label_replace", "label_join"):
            self._check_written_labels(name, [_text(each) for each in narrow.args[1:]], inner.extra)
            return _Separated(inner.extra)
        if name not in _BY_SERIES or (name in _BY_BUCKET and _BUCKET_LABEL in self._labels):
            raise _NotProven
        return inner

    def _check_written_labels(
        self, name: str, arguments: Sequence[str | None], extra: frozenset[str]
    ) -> None:
        """`label_replace(v, target, replacement, source, regex)`, `label_join(v, target, separator, source...)`."""
        target, _, *sources = arguments
        if name == "label_replace":
            sources = sources[:1]
        if target is None or target in self._labels or None in sources or extra & {*sources}:
            raise _NotProven

    def _aggregation(self, narrow: p.AggregateExpr, wide: p.AggregateExpr) -> _Class:
        operator = str(narrow.op)
        if operator != str(wide.op) or operator not in _AGGREGATORS:
            raise _NotProven
        self._check_parameter(narrow.param, wide.param)
        inner = self._separated(self.classify(narrow.expr, wide.expr))
        drops, labels = _grouping(narrow)
        wide_drops, wide_labels = _grouping(wide)
        if drops != wide_drops:
            raise _NotProven
        if drops:
            if labels != wide_labels or labels & self._labels:
                raise _NotProven
            return inner
        self._check_kept(labels, wide_labels)
        is_bare = not labels and operator != "count_values"
        return _Separated(self._extra(labels, inner.extra), is_bare)

    def _check_parameter(self, narrow: p.Expr | None, wide: p.Expr | None) -> None:
        """The φ of `quantile` does not depend on the request; the label of `count_values` overwrites none of its labels."""
        if narrow is None or wide is None:
            return
        if not isinstance(self.classify(narrow, wide), _Constant) or _text(narrow) in self._labels:
            raise _NotProven

    def _operation(self, narrow: p.BinaryExpr, wide: p.BinaryExpr) -> _Class:
        if str(narrow.op) != str(wide.op):
            raise _NotProven
        left = self.classify(narrow.lhs, wide.lhs)
        right = self.classify(narrow.rhs, wide.rhs)
        matching, wide_matching = _Matching(narrow), _Matching(wide)
        if matching.rest != wide_matching.rest or matching.fills:
            raise _NotProven
        if isinstance(left, _Separated) and isinstance(right, _Separated):
            return self._of_two_separated(left, right, matching, wide_matching)
        if isinstance(left, _Separated) and is_scalar(narrow.rhs):
            return left
        if isinstance(right, _Separated) and is_scalar(narrow.lhs):
            return right
        if matching.labels != wide_matching.labels:
            raise _NotProven
        if isinstance(left, _Separated):
            return self._with_constant(left, matching, many=matching.is_many_to_one, on_left=True)
        return self._with_constant(
            self._separated(right), matching, many=matching.is_one_to_many, on_left=False
        )

    def _of_two_separated(
        self, left: _Separated, right: _Separated, matching: "_Matching", wide: "_Matching"
    ) -> _Class:
        """Rows match only within one set of label values, as every moved label is compared."""
        if left.extra != right.extra or matching.included & self._labels:
            raise _NotProven
        if matching.on:
            self._check_kept(matching.labels, wide.labels)
        elif matching.labels != wide.labels or matching.labels & self._labels:
            raise _NotProven
        self._check_not_scalar(left, right, matching)
        keeps_all = matching.is_set or matching.is_many_to_one or matching.is_one_to_many
        if matching.on and not keeps_all:
            return _Separated(self._extra(matching.labels, left.extra))
        return _Separated(left.extra, left.is_bare and right.is_bare and not matching.included)

    def _check_not_scalar(self, left: _Separated, right: _Separated, matching: "_Matching") -> None:
        """VictoriaMetrics takes a single row without labels for a scalar, and so matches it with all rows, unless `on` or `ignoring` is given.

        Wide rows always have labels, so there it would find fewer partners. With a label of the request, narrow rows have one too.
        """
        is_explicit = matching.is_given or matching.is_set
        if is_explicit or left.extra != self._labels or (left.is_bare and right.is_bare):
            return
        raise _NotProven

    def _with_constant(
        self, separated: _Separated, matching: "_Matching", *, many: bool, on_left: bool
    ) -> _Class:
        """Each row finds the same partners in both queries, as the compared labels are the same in both."""
        compared_extra = separated.extra & matching.labels if matching.on else separated.extra
        if compared_extra or matching.included & self._labels:
            raise _NotProven
        if matching.is_set:
            # `or` adds rows of the other side, and a constant left side would lose rows only in the wide query.
            if matching.operator == "or" or not on_left:
                raise _NotProven
            return separated
        if many:
            return _Separated(separated.extra)
        if matching.is_many_to_one or matching.is_one_to_many:
            raise _NotProven
        # One to one: the result has the compared labels only.
        lost = self._labels - matching.labels if matching.on else self._labels & matching.labels
        if lost:
            raise _NotProven
        return separated

    def _check_kept(self, narrow: frozenset[str], wide: frozenset[str]) -> None:
        """The wide list is the narrow one and the moved labels; the narrow one has the object's label."""
        if wide != narrow | self._labels or (
            self._moved.object_label and self._moved.object_label not in narrow
        ):
            raise _NotProven

    def _extra(self, narrow: frozenset[str], inner: frozenset[str]) -> frozenset[str]:
        """A label is not in the narrow result if it is not kept, or was not there to be kept."""
        return (self._labels - narrow) | inner

    def _separated(self, found: _Class) -> _Separated:
        if not isinstance(found, _Separated):
            raise _NotProven
        return found


class _Matching:
    """How an operation matches the rows of its two sides."""

    def __init__(self, node: p.BinaryExpr) -> None:
        modifier = node.modifier
        matching = modifier.matching if modifier else None
        self.operator = str(node.op)
        self.is_set = self.operator in _SET_OPERATORS
        self.is_given = matching is not None
        self.on = bool(matching and matching.type == LabelModifierType.Include)
        self.labels = frozenset(matching.labels if matching else ())
        self.included = frozenset((modifier.group_labels if modifier else None) or ())
        cardinality = modifier.card if modifier else VectorMatchCardinality.OneToOne
        self.is_many_to_one = cardinality == VectorMatchCardinality.ManyToOne
        self.is_one_to_many = cardinality == VectorMatchCardinality.OneToMany
        fill = modifier.fill_values if modifier else None
        self.fills = bool(fill and (fill.lhs is not None or fill.rhs is not None))
        returns_bool = bool(modifier and modifier.return_bool)
        self.rest = (self.on, self.included, str(cardinality), self.fills, returns_bool)


def _grouping(node: p.AggregateExpr) -> tuple[bool, frozenset[str]]:
    """Whether the listed labels are dropped (`without`), and the labels; no list keeps none."""
    if node.modifier is None:
        return False, frozenset()
    drops = node.modifier.type == AggModifierType.Without
    return drops, frozenset(node.modifier.labels)


def _time(node: p.VectorSelector | p.SubqueryExpr) -> tuple[object, ...]:
    at = node.at
    return (node.offset, None if at is None else (str(at.type), at.at))


def _text(node: object) -> str | None:
    while isinstance(node, p.ParenExpr):
        node = node.expr
    return str(node.val) if isinstance(node, p.StringLiteral) else None


def _triple(matcher: Matcher) -> tuple[str, str, str]:
    return matcher.label, matcher.operator, matcher.value
