"""The rules and the series that exist now to the metrics that can be asked for: the whole table at once.

After prometheus-adapter v0.12.0 pkg/custom-provider/series_registry.go and
pkg/external-provider/external_series_registry.go: of two rules that offer the same metric, the later one serves it.
Rules do not fail together: each one's problem is reported under its path.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from adapter.model import (
    NAMESPACES,
    DiscoveryRule,
    MetricEntry,
    NamedRule,
    Offer,
    ResourceMapping,
    Rule,
    Series,
    UnknownResource,
)
from adapter.translate.naming import ResourceConverter, series_metric

SeriesKey = tuple[str, str]
"""A backend and a series query: rules that share both share one answer."""

_MENTIONED_AT_MOST: Final = 5


class Offers(msgspec.Struct, frozen=True):
    """What the rules offer. `problems` are sentences per rule path: offers left out, and offers of an earlier rule taken over."""

    custom: Mapping[MetricEntry, Offer]
    external: Mapping[str, Offer]
    problems: Mapping[str, Sequence[str]]


def offers(
    rules: Sequence[Rule], known: Mapping[SeriesKey, Sequence[Series]], mapping: ResourceMapping
) -> Offers:
    """The table of metrics; a rule whose series are not in `known` offers nothing yet."""
    custom: dict[MetricEntry, Offer] = {}
    external: dict[str, Offer] = {}
    problems: dict[str, Sequence[str]] = {}
    for rule in rules:
        found: list[str] = []
        if isinstance(rule, NamedRule):
            _offer_named(rule, mapping, custom, external, found)
        elif (series := known.get((rule.backend, rule.series_query))) is not None:
            _offer_discovered(rule, series, mapping, custom, external, found)
        if found:
            problems[rule.path] = found
    return Offers(custom, external, problems)


def _offer_named(
    rule: NamedRule,
    mapping: ResourceMapping,
    custom: dict[MetricEntry, Offer],
    external: dict[str, Offer],
    problems: list[str],
) -> None:
    if rule.describes is None:
        external[rule.name] = Offer(rule)
        return
    try:
        resource = mapping.resource_for(rule.describes)
        namespaced = resource != NAMESPACES and mapping.is_namespaced(resource)
    except UnknownResource as e:
        problems.append(f"`describes`: {e}; the metric appears when it does")
        return
    custom[MetricEntry(resource, namespaced, rule.name)] = Offer(rule)


def _offer_discovered(
    rule: DiscoveryRule,
    series: Sequence[Series],
    mapping: ResourceMapping,
    custom: dict[MetricEntry, Offer],
    external: dict[str, Offer],
    problems: list[str],
) -> None:
    converter = ResourceConverter(rule.resources, mapping)
    problems.extend(
        f"`resources.overrides.{label}`: the cluster serves no resource {resource}; the label is left out"
        for label, resource in converter.unknown
    )
    unmapped: list[str] = []
    for each, name in _named_series(rule, series):
        if rule.external:
            external[name] = Offer(rule, each.name)
            continue
        entries = list(_entries(each, name, converter))
        custom.update((entry, Offer(rule, each.name)) for entry in entries)
        if not entries:
            unmapped.append(each.name)
    if unmapped:
        problems.append(_about_unmapped(sorted(set(unmapped))))


def _named_series(rule: DiscoveryRule, series: Sequence[Series]) -> Iterator[tuple[Series, str]]:
    """The series that pass the rule's filters, with their names in the API."""
    for each in series:
        if (name := series_metric(rule, each.name)) is not None:
            yield each, name


def _entries(series: Series, name: str, converter: ResourceConverter) -> Iterator[MetricEntry]:
    """One entry per label that names objects, each metric of a resource being listed for that resource."""
    for label in series.labels:
        resource = converter.resource_for(label)
        if resource is not None:
            yield MetricEntry(resource, converter.is_listed_as_namespaced(resource), name)


def _about_unmapped(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MENTIONED_AT_MOST]) + (
        ", ..." if len(names) > _MENTIONED_AT_MOST else ""
    )
    return (
        f"{len(names)} series have no label that `resources` maps to a resource of this cluster, so nobody can ask for "
        f"them: {shown}"
    )
