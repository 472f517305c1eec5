"""How old the samples behind a row are. An instant query does not say: every row has the time of the evaluation.

So a metric with `staleAfter` has a second query, built from the selectors of its own one: for each row, the time of
the newest sample of the series behind it. Newest, because pods come and go, and a row is stale when its source sends
nothing any more; of several selectors in a query, the one that stopped first counts.
"""

from collections.abc import Sequence

import msgspec
import promql_parser

from adapter.model import Evaluation, Sample
from adapter.promql.metric_query import Matcher
from adapter.promql.selectors import matchers_of

POINTS_MAX = 60
STEP_MIN_MILLISECONDS = 1_000
"""A range is searched for the last sample of a series that has ended: at this many points, no closer than this."""

_NUMBER = "loadline_selector"

OF, NEWEST, OLDEST, COUNT = "loadline_of", "newest", "oldest", "count"
COUNTED_SECONDS = 120
"""The usual scrape intervals divide it, so that the number of samples says how long the interval is."""


def age_query(query: str, labels: Sequence[str]) -> str:
    """PromQL that yields, by `labels`, the time of the newest sample behind each row of `query` (Unix seconds).

    Empty when nothing can be old: there is no selector, or only selectors that read the past on purpose (`offset`,
    `@`); and when promql-parser cannot parse the query.
    """
    try:
        ranges = _selectors(query)
    except ValueError:
        return ""
    by = ",".join(labels)
    newest = [f"max by ({by}) ({_taken(text, range_ms)})" for text, range_ms in ranges.items()]
    if len(newest) < 2:
        return "".join(newest)
    # `or` would merge two rows with equal labels, so the rows of each selector are marked.
    marked = (
        f'label_replace({each}, "{_NUMBER}", "{number}", "", "")'
        for number, each in enumerate(newest)
    )
    return f"min by ({by}) ({' or '.join(marked)})"


def scrapes_query(query: str) -> str:
    """PromQL that says when the samples behind `query` were taken, by `OF`: the newest and the oldest of them (Unix seconds), and how many
    samples a series has in `COUNTED_SECONDS`.

    Empty for a query of several selectors, of none, or of the past, and one that promql-parser cannot parse.
    """
    try:
        (selector,) = _selectors(query)
    except ValueError:
        return ""
    wanted = {
        NEWEST: f"max(timestamp({selector}))",
        OLDEST: f"min(timestamp({selector}))",
        COUNT: f"max(count_over_time({selector}[{COUNTED_SECONDS}s]))",
    }
    return " or ".join(
        f'label_replace({each}, "{OF}", "{name}", "", "")' for name, each in wanted.items()
    )


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
    """The evaluation with the true time of each sample; a sample without a known age keeps the time of the evaluation.

    `ages` is indexed by `labels`.
    """

    def aged(sample: Sample) -> Sample:
        key = tuple(sample.labels.get(label, "") for label in labels)
        taken = ages.by_key.get(key) if labels else ages.samples
        if not taken:
            return sample
        # In this order, NaN is the time of the evaluation.
        at_seconds = max(0.0, min(sample.timestamp_seconds, taken[-1].value))
        return msgspec.structs.replace(sample, timestamp_seconds=at_seconds)

    return msgspec.structs.replace(evaluation, samples=tuple(map(aged, evaluation.samples)))


def _taken(selector: str, range_milliseconds: int) -> str:
    """When each series had its newest sample. A series that has ended but is in the range is searched in the range."""
    now = f"timestamp({selector})"
    if not range_milliseconds:
        return now
    step = max(STEP_MIN_MILLISECONDS, range_milliseconds // POINTS_MAX)
    return f"{now} or max_over_time({now}[{range_milliseconds}ms:{step}ms])"


def _selectors(query: str) -> dict[str, int]:
    """Each selector that reads the present, as text, to its range in milliseconds; 0 for an instant selector."""
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
