"""The ranges that a query reads, such as `[1m]`, and of which series."""

from collections.abc import Mapping

import promql_parser

from adapter.promql.metric_query import Matcher
from adapter.promql.selectors import matchers_of


def ranges_of(query: str) -> Mapping[str, int]:
    """Each selector with a range, as text, to its shortest range in milliseconds; none if the query cannot be parsed."""
    found: dict[str, int] = {}

    def visit(node: object) -> None:
        if not isinstance(node, promql_parser.MatrixSelector):
            return
        selector = node.vector_selector
        if selector.matchers.or_matchers:
            return
        text = _text(selector)
        milliseconds = round(node.range.total_seconds() * 1000)
        found[text] = min(milliseconds, found.get(text, milliseconds))

    try:
        promql_parser.walk(promql_parser.parse(query), visit)
    except ValueError:
        return {}
    return found


def _text(selector: promql_parser.VectorSelector) -> str:
    """As people write it, with the name before the braces."""
    name = selector.name or ""
    matchers = [str(Matcher(*each)) for each in matchers_of(selector)][bool(name) :]
    return f"{name}{{{','.join(matchers)}}}" if matchers else name
