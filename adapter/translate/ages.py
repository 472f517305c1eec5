"""How old the samples behind a row are. An instant query cannot tell: it stamps every row with its own time.

So a metric with `staleAfter` has a second query beside its own, made out of the first one's selectors: for each row,
when the newest sample of the series behind it was taken. Newest, because pods come and go, and a row is stale when
its source has fallen silent; of several selectors in a query the one that fell silent first counts.
"""

from collections.abc import Sequence

import msgspec
import promql_parser

from adapter.model import Evaluation, Sample
from adapter.translate.promql import Matcher
from adapter.translate.selectors import matchers_of

LOOKS_MAX = 60
STEP_MIN_MILLISECONDS = 1_000
"""A range is searched for the last sample of a series that is gone: at so many points, no closer than this."""

_NUMBER = "loadline_selector"


def age_query(query: str, labels: Sequence[str]) -> str:
    """PromQL that yields, by `labels`, when the newest sample behind a row of `query` was taken (Unix seconds).

    Empty when there is nothing to be old: no selector, or only such as look into the past on purpose (`offset`, `@`);
    and when promql-parser does not understand the query.
    """
    try:
        ranges = _selectors(query)
    except ValueError:
        return ""
    by = ",".join(labels)
    newest = [f"max by ({by}) ({_taken(text, looked)})" for text, looked in ranges.items()]
    if len(newest) < 2:
        return "".join(newest)
    # `or` would take two rows with equal labels for one, so each selector's are marked.
    marked = (
        f'label_replace({each}, "{_NUMBER}", "{number}", "", "")'
        for number, each in enumerate(newest)
    )
    return f"min by ({by}) ({' or '.join(marked)})"


def grouping_of(query: str) -> tuple[str, ...]:
    """The labels that an aggregation at the root of a query keeps (`by`); none for any other query."""
    try:
        tree = promql_parser.parse(query)
    except ValueError:
        return ()
    while isinstance(tree, promql_parser.ParenExpr):
        tree = tree.expr
    if not isinstance(tree, promql_parser.AggregateExpr) or tree.modifier is None:
        return ()
    keeps = tree.modifier.type == promql_parser.AggModifierType.By
    return tuple(tree.modifier.labels) if keeps else ()


def dated(evaluation: Evaluation, ages: Evaluation, labels: Sequence[str]) -> Evaluation:
    """The evaluation with each sample's true time; one of which nothing is known keeps that of the evaluation."""
    taken = {_key(row, labels): row.value for row in ages.samples}

    def aged(sample: Sample) -> Sample:
        at_seconds = taken.get(_key(sample, labels), sample.timestamp_seconds)
        return msgspec.structs.replace(
            sample, timestamp_seconds=min(at_seconds, sample.timestamp_seconds)
        )

    return msgspec.structs.replace(evaluation, samples=tuple(map(aged, evaluation.samples)))


def _key(sample: Sample, labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(sample.labels.get(label, "") for label in labels)


def _taken(selector: str, range_milliseconds: int) -> str:
    """When each series had its newest sample. One that is gone, which a range still counts, is looked for in there."""
    now = f"timestamp({selector})"
    if not range_milliseconds:
        return now
    step = max(STEP_MIN_MILLISECONDS, range_milliseconds // LOOKS_MAX)
    return f"{now} or max_over_time({now}[{range_milliseconds}ms:{step}ms])"


def _selectors(query: str) -> dict[str, int]:
    """Each selector that looks at now, as text, to the range it is looked at over in milliseconds, 0 for an instant."""
    found: dict[str, int] = {}

    def visit(node: object) -> None:
        # A range's own selector is visited after it.
        if isinstance(node, promql_parser.MatrixSelector):
            remember(node.vector_selector, round(node.range.total_seconds() * 1000))
        elif isinstance(node, promql_parser.VectorSelector):
            remember(node, 0)

    def remember(selector: promql_parser.VectorSelector, range_milliseconds: int) -> None:
        if selector.offset is None and selector.at is None and not selector.matchers.or_matchers:
            matchers = (str(Matcher(*each)) for each in matchers_of(selector))
            found.setdefault("{" + ",".join(matchers) + "}", range_milliseconds)

    promql_parser.walk(promql_parser.parse(query), visit)
    return found
