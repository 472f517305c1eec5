"""Query building and quoting against prometheus-adapter's pkg/naming and pkg/client."""

import msgspec

from adapter.promql.metric_query import QueryNotBuilt, custom_query, equals, external_query
from wire.api import labels


class QueryRow(msgspec.Struct):
    external: bool
    namespaced: bool
    template: str
    series: str
    resource: str
    namespace: str
    extra: list[str] | None
    selector: str
    names: list[str] | None
    query: str | None


class QuoteRow(msgspec.Struct):
    value: str
    matcher: str


def built(row: QueryRow) -> str | None:
    try:
        selector = labels.parse(row.selector)
        if row.external:
            namespace = (
                equals("namespaces", row.namespace) if row.namespaced and row.namespace else None
            )
            return external_query(
                row.template, series=row.series, selector=selector, namespace=namespace
            )
        return custom_query(
            row.template,
            series=row.series,
            selector=selector,
            namespace=equals("namespaces", row.namespace) if row.namespace else None,
            object_label=row.resource,
            names=row.names or (),
            extra_group_by=row.extra or (),
        )
    except (ValueError, QueryNotBuilt):
        return None


def changed_by_a_raw_value(row: QueryRow) -> bool:
    """`raw-template-values` in docs/deviations.md: such a value could end the template's own quotes."""
    names = [*(row.names or ()), row.namespace]
    return "LabelValuesByName" in row.template and any(
        set(name) & set("\"'`\\{}") for name in names
    )


def test_every_query_is_equal_to_that_of_prometheus_adapter(rows):
    vectors = rows("queries.jsonl", QueryRow)
    differing = [(row, ours) for row in vectors if (ours := built(row)) != row.query]
    unexplained = [
        (row, ours)
        for row, ours in differing
        if ours is not None or not changed_by_a_raw_value(row)
    ]
    assert not unexplained, f"{len(unexplained)} of {len(vectors)}: {unexplained[:5]}"
    assert 0 < len(differing) < 40


def test_every_value_is_quoted_as_go_quotes_it(rows):
    vectors = rows("quotes.jsonl", QuoteRow)
    differing = [
        (row, ours) for row in vectors if (ours := str(equals("l", row.value))) != row.matcher
    ]
    assert not differing, f"{len(differing)} of {len(vectors)}: {differing[:5]}"
