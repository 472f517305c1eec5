"""Matchers added to the vector selectors of a PromQL text that a user wrote.

promql-parser reads PromQL but prints label values unescaped, so the text is not printed from its tree. Matchers are
inserted into the text, and the tree proves the result: `with_matchers` parses before and after, and refuses the query
unless every selector is what it was plus the new matchers.
"""

import re
from collections.abc import Iterator, Sequence

import promql_parser

from adapter.promql.metric_query import Matcher, QueryNotBuilt

_TOKEN = re.compile(
    r"""
    (?P<skip>[\s]+|\#[^\n]*)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
  | (?P<number>[0-9.][0-9a-zA-Z_.]*)
  | (?P<word>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LABEL_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_OPERATORS = {"and", "or", "unless", "atan2", "bool", "offset", "inf", "nan", "start", "end"}
AGGREGATORS = {
    "sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", "topk", "bottomk", "count_values", "quantile",
    "limitk", "limit_ratio",
}  # fmt: skip
Token = tuple[str, str, int]  # kind, text, offset of its end


def with_matchers(query: str, matchers: tuple[Matcher, ...]) -> str:
    """The query with the matchers in every vector selector; raises `QueryNotBuilt` when that is not proven."""
    if not matchers:
        return query
    written = ",".join(map(str, matchers))
    out, at = [], 0
    for begin, end in _insertions(query):
        out.append(query[at:begin])
        out.append(_placed(written, query, begin, end))
        at = end
    changed = "".join(out) + query[at:]
    expected = [
        [*selector, *((m.label, m.operator, m.value) for m in matchers)]
        for selector in selectors(query)
    ]
    if not expected or [sorted(each) for each in selectors(changed)] != [
        sorted(each) for each in expected
    ]:
        raise QueryNotBuilt(
            f"matchers cannot be added to {query!r} safely: write <<.LabelMatchers>> where they belong",
            public="matchers cannot be added to the query safely: write <<.LabelMatchers>> where they belong",
        )
    return changed


def selectors(query: str) -> list[list[tuple[str, str, str]]]:
    """The matchers (label, operator, value) of each vector selector of a query, the metric name among them.

    Raises `QueryNotBuilt` when promql-parser cannot parse the query.
    """
    try:
        tree = promql_parser.parse(query)
    except ValueError as e:
        raise QueryNotBuilt(
            f"{query!r} cannot be parsed as PromQL: {e}",
            public="the query cannot be parsed as PromQL",
        ) from None
    found: list[list[tuple[str, str, str]]] = []

    def visit(node: object) -> None:
        selector = node.vector_selector if isinstance(node, promql_parser.MatrixSelector) else node
        if isinstance(selector, promql_parser.VectorSelector):
            if selector.matchers.or_matchers:
                raise QueryNotBuilt(
                    f"{query!r} has alternatives inside a selector",
                    public="the query has alternatives inside a selector",
                )
            found.append(matchers_of(selector))

    promql_parser.walk(tree, visit)
    return found


def matchers_of(selector: promql_parser.VectorSelector) -> list[tuple[str, str, str]]:
    """The matchers (label, operator, value) of a selector, the one of its name first."""
    name = [("__name__", "=", selector.name)] if selector.name else []
    return name + [(m.name, _operator(m.op), m.value) for m in selector.matchers.matchers]


def _operator(op: promql_parser.MatchOp) -> str:
    """As written in PromQL. (A `MatchOp` is not hashable, so this is not a table.)"""
    if op == promql_parser.MatchOp.Equal:
        return "="
    if op == promql_parser.MatchOp.NotEqual:
        return "!="
    return "=~" if op == promql_parser.MatchOp.Re else "!~"


def _placed(written: str, query: str, begin: int, end: int) -> str:
    """What replaces `query[begin:end]`: the inside of a selector's braces, or an empty span after a bare name."""
    if begin == end and query[begin - 1 : begin] != "{":
        return "{" + written + "}"
    inside = query[begin:end].rstrip().removesuffix(",")
    return f"{inside},{written}" if inside.strip() else written


def _insertions(query: str) -> Iterator[tuple[int, int]]:
    """Where matchers are inserted: the span inside the braces of a selector, or an empty span after a bare name."""
    tokens = tokens_of(query)
    at, bracket_depth = 0, 0
    while at < len(tokens):
        kind, text, end = tokens[at]
        following = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        bracket_depth += (text == "[") - (text == "]")
        if text == "{" and not bracket_depth:
            at = _closing(tokens, at, "}")
            yield end, tokens[at][2] - 1
        elif kind == "word" and text.lower() in _LABEL_LISTS and following == "(":
            at = _closing(tokens, at + 1, ")")
        elif (
            kind == "word"
            and not bracket_depth
            and not _is_not_a_selector(text, following)
            and following != "{"
        ):
            yield end, end
        at += 1


def tokens_of(query: str) -> list[Token]:
    """The tokens of a query, without white space and comments."""
    return [
        (m.lastgroup or "", m.group(), m.end())
        for m in _TOKEN.finditer(query)
        if m.lastgroup != "skip"
    ]


def _is_not_a_selector(word: str, following: str) -> bool:
    lowered = word.lower()
    aggregates = lowered in AGGREGATORS and following.lower() in ("by", "without")
    return following == "(" or aggregates or lowered in _OPERATORS | _LABEL_LISTS


def _closing(tokens: Sequence[Token], at: int, mark: str) -> int:
    """The index of the next `mark`; the last token when there is none, which the proof refuses."""
    return next(
        (i for i in range(at, len(tokens)) if tokens[i][0] == "mark" and tokens[i][1] == mark),
        len(tokens) - 1,
    )
