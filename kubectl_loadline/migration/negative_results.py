"""Whether a PromQL query may have a result below zero, by its syntax."""

from typing import Final

import promql_parser as p

from adapter.config.texts import UNKNOWN_FUNCTION
from adapter.promql.result_types import is_scalar

# Of any argument.
_NEVER_NEGATIVE: Final = frozenset({
    "abs", "absent", "absent_over_time", "changes", "count_over_time", "day_of_month", "day_of_week", "day_of_year",
    "days_in_month", "exp", "histogram_count", "hour", "increase", "irate", "minute", "month", "present_over_time", "rate",
    "resets", "sqrt", "stddev_over_time", "stdvar_over_time", "time", "timestamp", "year",
})  # fmt: skip
# As their first argument.
_AS_ARGUMENT: Final = frozenset({
    "avg_over_time", "ceil", "floor", "label_join", "label_replace", "last_over_time", "max_over_time", "min_over_time",
    "round", "sort", "sort_desc", "sum_over_time", "vector",
})  # fmt: skip
_COUNTING: Final = frozenset({"count", "count_values", "group", "stddev", "stdvar"})
_ARITHMETIC: Final = frozenset({"+", "*", "/", "^", "%"})
_COMPARISON: Final = frozenset({"==", "!=", "<", ">", "<=", ">="})


def may_be_negative(query: str) -> bool:
    """Whether it may, as far as its syntax shows; a function that promql-parser does not know, as of MetricsQL, may return anything.

    False for what is not PromQL, and for a scalar, which KEDA refuses.
    """
    try:
        tree = p.parse(query)
    except ValueError as error:
        return UNKNOWN_FUNCTION in str(error)
    is_vector = not isinstance(tree, p.StringLiteral) and not is_scalar(tree)
    return is_vector and not _is_never_negative(tree)


def _is_never_negative(node: p.Expr) -> bool:
    match node:
        case p.NumberLiteral():
            return bool(node.val >= 0)
        case p.ParenExpr() | p.SubqueryExpr():
            return _is_never_negative(node.expr)
        case p.AggregateExpr():
            return str(node.op) in _COUNTING or (
                str(node.op) != "quantile" and _is_never_negative(node.expr)
            )
        case p.BinaryExpr():
            return _is_operation_never_negative(node)
        case p.Call():
            return _is_call_never_negative(node)
    return False


def _is_call_never_negative(node: p.Call) -> bool:
    name, arguments = node.func.name, node.args
    if name == "clamp_min":
        return any(map(_is_never_negative, arguments))
    if name in _AS_ARGUMENT:
        return _is_never_negative(arguments[0])
    return name in _NEVER_NEGATIVE


def _is_operation_never_negative(node: p.BinaryExpr) -> bool:
    operator = str(node.op)
    left, right = _is_never_negative(node.lhs), _is_never_negative(node.rhs)
    if operator in _COMPARISON:
        # The result is a value of the vector.
        has_booleans = node.modifier is not None and node.modifier.return_bool
        return has_booleans or (right if is_scalar(node.lhs) else left)
    if operator in ("and", "unless"):
        return left
    return operator in {*_ARITHMETIC, "or"} and left and right
