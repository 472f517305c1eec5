"""Queries that a rule of ours writes out (`metrics[].query`), and how a selector gets into them.

Objects are told apart by the rows of the answer, so the query text is the same for every asker and one evaluation
serves them all. A metric selector restricts series: its matchers go where the query says `<<.LabelMatchers>>`, or,
when it says nothing, into every vector selector of the query.
"""

from adapter.translate.promql import QueryNotBuilt, selector_matchers
from adapter.translate.selectors import with_matchers
from adapter.translate.template import Record, compiled
from adapter.translate.template.lexer import LEFT
from wire.labels import Selector

NAMED_FIELDS = ("LabelMatchers",)
"""What a query of ours may ask for."""


def named_query(query: str, selector: Selector) -> str:
    """The query restricted by a selector; raises `QueryNotBuilt`."""
    matchers = tuple(selector_matchers(selector))
    if LEFT not in query:
        return with_matchers(query, matchers)
    try:
        return compiled(query).execute(Record({"LabelMatchers": ",".join(map(str, matchers))}))
    except ValueError as e:
        raise QueryNotBuilt(f"the query template cannot be rendered: {e}") from None
