"""Naming, filters and the mapping of labels to resources against prometheus-adapter's pkg/naming."""

import msgspec

from adapter.config import ConfigError, parse
from adapter.model import DiscoveryRule, GroupResource
from adapter.promql.naming import NoLabel, ResourceConverter, series_metric
from tests.fakes.adapter_vectors import vector_mapping

SERIES = (
    "http_requests_total", "http_requests_seconds_total", "container_cpu_usage_seconds_total", "container_memory_usage", "up",
    "job:rule:sum", "_x", "a_b_c", "total", "http_total_requests", "1x", "ns_metric_name",
)  # fmt: skip


class NamingRow(msgspec.Struct):
    matches: str
    as_: str = msgspec.field(name="as")
    filters: list[dict[str, str]] | None
    refused: bool
    names: dict[str, str] | None


class ResourceRow(msgspec.Struct):
    template: str
    overrides: dict[str, dict[str, str]] | None
    refused: bool
    resources: dict[str, str] | None
    labels: dict[str, str] | None


def rule_of(fields: dict[str, object]) -> DiscoveryRule | None:
    """The rule as our configuration reads it; None when it refuses."""
    text = msgspec.json.encode(
        {"rules": [{"seriesQuery": "x", "metricsQuery": "x", **fields}]}
    ).decode()
    try:
        rule = parse(text).rules[0]
    except ConfigError:
        return None
    assert isinstance(rule, DiscoveryRule)
    return rule


def names_of(row: NamingRow) -> dict[str, str] | None:
    rule = rule_of(
        {"name": {"matches": row.matches, "as": row.as_}, "seriesFilters": row.filters or []}
    )
    if rule is None:
        return None
    named = {name: series_metric(rule, name) for name in SERIES}
    return {series: name for series, name in named.items() if name is not None}


def test_every_series_gets_the_name_that_prometheus_adapter_gives_it(rows):
    vectors = rows("names.jsonl", NamingRow)
    differing = [
        (row, ours)
        for row in vectors
        if (ours := names_of(row)) != (None if row.refused else row.names)
    ]
    assert not differing, f"{len(differing)} of {len(vectors)}: {differing[:5]}"


def converted(row: ResourceRow) -> tuple[dict[str, str], dict[str, str]] | None:
    rule = rule_of({"resources": {"template": row.template, "overrides": row.overrides or {}}})
    if rule is None:
        return None
    converter = ResourceConverter(rule.resources, vector_mapping())
    if converter.unknown:
        return None  # fatal for the peer; here the label is left out
    return (
        {label: str(converter.resource_for(label) or "") for label in row.resources or {}},
        {resource: label_of(converter, resource) for resource in row.labels or {}},
    )


def label_of(converter: ResourceConverter, resource: str) -> str:
    try:
        return converter.label_for(GroupResource.parse(resource))
    except NoLabel:
        return ""


def test_every_label_names_the_same_resource_as_in_prometheus_adapter(rows):
    vectors = rows("resources.jsonl", ResourceRow)
    differing = [
        (row, ours)
        for row in vectors
        if (ours := converted(row)) != (None if row.refused else (row.resources, row.labels))
    ]
    assert not differing, f"{len(differing)} of {len(vectors)}: {differing[:5]}"
