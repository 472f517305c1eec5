"""Which metrics a query reads, without the values of its matchers and the labels that it groups by."""

import re
from typing import Final

import msgspec
import promql_parser as p

from adapter.promql.selectors import matchers_of

_RATES: Final = frozenset({"rate", "irate", "increase", "deriv"})
_RATE: Final = re.compile(rf"\b(?:{'|'.join(_RATES)})\s*\(\s*([a-zA-Z_:][a-zA-Z0-9_:]*)")
_WORD: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_NOT_NAMES: Final = re.compile(
    r"""\{[^}]*\} | \[[^\]]*\] | \b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)""",
    re.VERBOSE,
)


class QueryNames(msgspec.Struct, frozen=True):
    """The names of the metrics; `rated` are those of which the rate is computed. `others` include functions for quantiles."""

    rated: frozenset[str]
    others: frozenset[str]


def names_in(query: str) -> QueryNames:
    """By the syntax of PromQL, or by the words of a query in another dialect."""
    try:
        tree = p.parse(query)
    except ValueError:
        text = _NOT_NAMES.sub("", query)
        of_rates = frozenset(_RATE.findall(text))
        return QueryNames(of_rates, frozenset(_WORD.findall(text)) - of_rates - _RATES)
    rated: set[str] = set()
    found: set[str] = set()

    def visit(node: object) -> None:
        if isinstance(node, p.Call) and node.func.name in _RATES:
            p.walk(node, lambda each: rated.update(_names_of(each)))
        found.update(_names_of(node))

    p.walk(tree, visit)
    return QueryNames(frozenset(rated), frozenset(found - rated))


def _names_of(node: object) -> list[str]:
    match node:
        case p.VectorSelector():
            return [value for label, _, value in matchers_of(node) if label == "__name__"]
        case p.Call() if "quantile" in node.func.name:
            return [node.func.name]
        case p.AggregateExpr() if str(node.op) == "quantile":
            return ["quantile"]
    return []
