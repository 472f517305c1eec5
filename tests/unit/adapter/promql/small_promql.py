"""A small evaluator of PromQL over promql-parser's tree: one value per series, which are whole numbers.

It knows what the templates of `generated_templates.py` use, by the rules of promql/engine.go.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import promql_parser as promql

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]


class EvaluationError(Exception):
    """The engine would refuse the query: many-to-many matching, or two rows with the same labels."""


def evaluate(query: str, series: Sequence[Mapping[str, str]], values: Sequence[float]) -> Vector:
    """The instant vector of a query; `series` have their name in `__name__`."""
    result = _Engine(list(zip(series, values, strict=True))).of(promql.parse(query))
    assert isinstance(result, dict)
    return result


def _same(left: float, right: float) -> float:
    return left


_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    ">": _same,
    "<": _same,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}
_AGGREGATORS: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "max": max,
    "min": min,
    "count": len,
}


class _Engine:
    def __init__(self, series: Sequence[tuple[Mapping[str, str], float]]) -> None:
        self._series = series

    def of(self, node: Any) -> Vector | float:
        match node:
            case promql.NumberLiteral():
                return float(node.val)
            case promql.ParenExpr():
                return self.of(node.expr)
            case promql.UnaryExpr():
                inner = self.of(node.expr)
                if isinstance(inner, float):
                    return -inner
                return _unique([(_unnamed(k), -v) for k, v in inner.items()])
            case promql.MatrixSelector():
                return self.of(node.vector_selector)
            case promql.VectorSelector():
                return self._selected(node)
            case promql.AggregateExpr():
                return self._aggregated(node)
            case promql.BinaryExpr():
                return self._operation(node)
            case promql.Call():
                return self._call(node)
        raise AssertionError(node)

    def _vector(self, node: Any) -> Vector:
        found = self.of(node)
        assert isinstance(found, dict)
        return found

    def _selected(self, node: Any) -> Vector:
        found: Vector = {}
        for labels, value in self._series:
            if labels["__name__"] == node.name and all(
                _matches(labels.get(m.name, ""), m) for m in node.matchers.matchers
            ):
                found[frozenset(labels.items())] = value
        return found

    def _aggregated(self, node: Any) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in self._vector(node.expr).items():
            groups.setdefault(_group(labels, node.modifier), []).append(value)
        return {labels: _AGGREGATORS[str(node.op)](found) for labels, found in groups.items()}

    def _call(self, node: Any) -> Vector:
        rows = self._vector(node.args[0])
        match node.func.name:
            case "abs":
                return _unique([(_unnamed(k), abs(v)) for k, v in rows.items()])
            case "sum_over_time":
                return _unique([(_unnamed(k), v) for k, v in rows.items()])
            case "absent":
                return {} if rows else {frozenset(): 1.0}
            case "label_replace":
                target, source = node.args[1].val, node.args[3].val
                return _unique(
                    [(_with(k, target, dict(k).get(source, "")), v) for k, v in rows.items()]
                )
        raise AssertionError(node.func.name)

    def _operation(self, node: Any) -> Vector | float:
        left, right, operator = self.of(node.lhs), self.of(node.rhs), str(node.op)
        if isinstance(left, float) and isinstance(right, float):
            return _OPERATIONS[operator](left, right)
        if isinstance(left, float) or isinstance(right, float):
            return _with_scalar(operator, left, right)
        matching = node.modifier.matching if node.modifier else None
        if operator in ("and", "or", "unless"):
            return _set(operator, left, right, matching)
        return _matched(node, operator, left, right, matching)


def _matches(value: str, matcher: Any) -> bool:
    regular = matcher.op in (promql.MatchOp.Re, promql.MatchOp.NotRe)
    equal = bool(re.fullmatch(matcher.value, value)) if regular else value == matcher.value
    return equal == (matcher.op in (promql.MatchOp.Equal, promql.MatchOp.Re))


def _unnamed(labels: Labels) -> Labels:
    return frozenset(each for each in labels if each[0] != "__name__")


def _with(labels: Labels, name: str, value: str) -> Labels:
    changed = {**dict(labels), name: value}
    return frozenset(each for each in changed.items() if each[1])


def _only(labels: Labels, names: Sequence[str]) -> Labels:
    return frozenset(each for each in labels if each[0] in names)


def _except(labels: Labels, names: Sequence[str]) -> Labels:
    return frozenset(each for each in labels if each[0] not in (*names, "__name__"))


def _group(labels: Labels, modifier: Any) -> Labels:
    if modifier is None:
        return frozenset()
    by = modifier.type == promql.AggModifierType.By
    return _only(labels, modifier.labels) if by else _except(labels, modifier.labels)


def _signature(labels: Labels, matching: Any) -> Labels:
    if matching is None:
        return _unnamed(labels)
    on = matching.type == promql.LabelModifierType.Include
    return _only(labels, matching.labels) if on else _except(labels, matching.labels)


def _unique(rows: Sequence[tuple[Labels, float]]) -> Vector:
    found = dict(rows)
    if len(found) != len(rows):
        raise EvaluationError("two rows with the same labels")
    return found


def _with_scalar(operator: str, left: Vector | float, right: Vector | float) -> Vector:
    rows = left if isinstance(left, dict) else right
    assert isinstance(rows, dict)
    found = []
    for labels, value in rows.items():
        pair = (value, right) if isinstance(left, dict) else (left, value)
        a, b = (float(each) for each in pair)  # type: ignore[arg-type]  # one is a row's value
        if operator not in _COMPARISONS:
            found.append((_unnamed(labels), _OPERATIONS[operator](a, b)))
        elif _COMPARISONS[operator](a, b):
            found.append((labels, value))
    return _unique(found)


def _set(operator: str, left: Vector, right: Vector, matching: Any) -> Vector:
    of_left = {_signature(each, matching) for each in left}
    of_right = {_signature(each, matching) for each in right}
    if operator == "and":
        return {k: v for k, v in left.items() if _signature(k, matching) in of_right}
    if operator == "unless":
        return {k: v for k, v in left.items() if _signature(k, matching) not in of_right}
    return left | {k: v for k, v in right.items() if _signature(k, matching) not in of_left}


def _matched(node: Any, operator: str, left: Vector, right: Vector, matching: Any) -> Vector:
    """The engine's VectorBinop: the right side is the "one" side, unless `group_right`."""
    if not left or not right:
        return {}
    card = node.modifier.card if node.modifier else promql.VectorMatchCardinality.OneToOne
    swapped = card == promql.VectorMatchCardinality.OneToMany
    many, one = (right, left) if swapped else (left, right)
    partners: dict[Labels, tuple[Labels, float]] = {}
    for labels, value in one.items():
        signature = _signature(labels, matching)
        if signature in partners:
            raise EvaluationError("many-to-many matching")
        partners[signature] = labels, value
    found, used = [], set()
    for labels, value in many.items():
        signature = _signature(labels, matching)
        if signature not in partners:
            continue
        partner, other = partners[signature]
        a, b = (other, value) if swapped else (value, other)
        if operator in _COMPARISONS and not _COMPARISONS[operator](a, b):
            continue
        kept = labels if operator in _COMPARISONS else _unnamed(labels)
        if card == promql.VectorMatchCardinality.OneToOne:
            if signature in used:
                raise EvaluationError("many-to-many matching")
            kept = _reduced(kept, matching)
        used.add(signature)
        for name in (node.modifier.group_labels if node.modifier else None) or ():
            kept = _with(kept, name, dict(partner).get(name, ""))
        found.append((kept, a if operator in _COMPARISONS else _OPERATIONS[operator](a, b)))
    return _unique(found)


def _reduced(labels: Labels, matching: Any) -> Labels:
    if matching is None:
        return labels
    on = matching.type == promql.LabelModifierType.Include
    return frozenset(each for each in labels if (each[0] in matching.labels) == on)
