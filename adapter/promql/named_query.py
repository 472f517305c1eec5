"""Queries that a named rule writes out (`metrics[].query`), and how a selector is added to them.

Objects are distinguished by the rows of the result, so the query text is the same for every request and one evaluation
serves all of them. A metric selector restricts series: its matchers are inserted where the query has
`<<.LabelMatchers>>` or, without it, into every vector selector of the query.
"""

from adapter.promql.metric_query import Matcher, QueryNotBuilt, selector_matchers
from adapter.promql.selectors import with_matchers
from adapter.templates import Record, compiled
from adapter.templates.lexer import LEFT
from wire.api.labels import Selector

NAMED_FIELDS = ("LabelMatchers",)
"""The template fields of a named rule's query."""


def named_query(query: str, selector: Selector) -> str:
    """The query restricted by a selector; raises `QueryNotBuilt`."""
    return restricted(query, tuple(selector_matchers(selector)))


def restricted(query: str, matchers: tuple[Matcher, ...]) -> str:
    """The query restricted by matchers; raises `QueryNotBuilt`."""
    if LEFT not in query:
        return with_matchers(query, matchers)
    try:
        return compiled(query).execute(Record({"LabelMatchers": ",".join(map(str, matchers))}))
    except ValueError as e:
        raise QueryNotBuilt(
            f"the query template cannot be rendered: {e}",
            public="the query template cannot be rendered",
        ) from None
