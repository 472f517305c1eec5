"""The rules and the series that exist now to the metrics that can be requested: the whole table at once.

After prometheus-adapter v0.12.0 pkg/custom-provider/series_registry.go and
pkg/external-provider/external_series_registry.go: of two rules that offer the same metric, the later one serves it.
A faulty rule does not affect the others: its problem is reported under its path.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from adapter.model import (
    BackendRef,
    DiscoveryRule,
    MetricEntry,
    NamedRule,
    Offer,
    ResourceMapping,
    Rule,
    Series,
    UnknownResource,
)
from adapter.promql.described_resources import RESOURCES_MAX, DescribedResources
from adapter.promql.naming import ResourceConverter, series_metric
from adapter.promql.sorting import sorted_in_slices
from wire.api.wording import some

SeriesKey = tuple[BackendRef, str]
"""A backend and a series query: rules that share both share one listing."""

ENTRIES_MAX: Final = 200_000
"""Discovered metrics of all rules; one of three resources counts three times. They take about 25 MiB, and as much as a document."""

# A template inserts the name into the query as it is, with quotes or without: others could be a part of an expression. Prometheus 3
# accepts any text as a name, and everyone whose pods are scraped chooses names.
_SAFE_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")


class Offers(msgspec.Struct, frozen=True):
    """What the rules offer and, by rule path, what is left out and which metrics are served by a later rule instead."""

    custom: Mapping[MetricEntry, Offer]
    external: Mapping[str, Offer]
    problems: Mapping[str, Sequence[str]]
    overlaps: Mapping[str, Sequence[str]] = {}
    collisions: Mapping[str, Mapping[str, tuple[str, str]]] = {}
    """By the path of the rule that serves it, each metric with the series that it is made of and another one that it is not."""


def offers(
    rules: Sequence[Rule],
    known: Mapping[SeriesKey, Sequence[Series]],
    mapping: ResourceMapping,
    *,
    entries_max: int = ENTRIES_MAX,
) -> Offers:
    """The table of metrics; a rule whose series are not in `known` offers nothing yet.

    If there are more than `entries_max` discovered ones, all metrics describe fewer resources, before the first metric is left out.
    """
    resources_max = RESOURCES_MAX
    while resources_max > 1:
        try:
            return _offers(rules, known, _Table(mapping, entries_max, resources_max))
        except _Full:
            resources_max //= 2
    return _offers(rules, known, _Table(mapping, entries_max, resources_max))


def _offers(
    rules: Sequence[Rule], known: Mapping[SeriesKey, Sequence[Series]], table: "_Table"
) -> Offers:
    for rule in rules:
        if isinstance(rule, NamedRule):
            table.add_named(rule)
        elif (series := known.get((rule.backend, rule.series_query))) is not None:
            table.add_discovered(rule, series)
    return table.finished()


class _Full(Exception):
    """There are too many entries; fewer resources may leave a place for each metric."""


class _Table:
    """The offers so far. Rules are added in the order of the file: later ones win."""

    def __init__(self, mapping: ResourceMapping, entries_max: int, resources_max: int) -> None:
        """`resources_max`: of a series. If it is 1, what is too much is left out; else `_Full` is raised."""
        self._mapping = mapping
        self._entries_max = entries_max
        self._resources_max = resources_max
        self._discovered = 0
        self._custom: dict[MetricEntry, Offer] = {}
        self._external: dict[str, Offer] = {}
        self._problems: dict[str, list[str]] = {}
        self._taken_over: dict[
            tuple[str, str], list[str]
        ] = {}  # (former rule, later rule) -> metrics
        self._collisions: dict[str, dict[str, tuple[str, str]]] = {}

    def add_named(self, rule: NamedRule) -> None:
        """A metric that exists whatever series there are."""
        if rule.describes is None:
            self._offer_external(rule.name, Offer(rule))
            return
        try:
            resource = self._mapping.resource_for(rule.describes)
            namespaced = self._mapping.is_namespaced(resource)
        except UnknownResource as e:
            self._problem(rule, f"`describes`: {e}; the metric appears when the resource does")
            return
        self._offer_custom(MetricEntry(resource, namespaced, rule.name), Offer(rule))

    def add_discovered(self, rule: DiscoveryRule, series: Sequence[Series]) -> None:
        """The metrics of the series that the rule's seriesQuery selects."""
        converter = ResourceConverter(rule.resources, self._mapping)
        for label, resource in converter.unknown:
            self._problem(
                rule,
                f"`resources.overrides.{label}`: the cluster serves no resource {resource}; the label is left out",
            )
        described = DescribedResources(rule.resources, converter, resources_max=self._resources_max)
        unmapped: set[str] = set()
        unsafe: set[str] = set()
        shortened: set[str] = set()
        left_out: set[str] = set()
        for each, name in _named_series(rule, series):
            if not _SAFE_NAME.fullmatch(each.name):
                unsafe.add(each.name)
                continue
            offer = Offer(rule, each.name)
            if rule.external:
                if not self._offer_discovered(name, offer):
                    left_out.add(each.name)
                continue
            found = described.of(each.labels)
            for resource, namespaced in found.resources:
                if not self._offer_discovered(MetricEntry(resource, namespaced, name), offer):
                    left_out.add(each.name)
            if found.is_shortened:
                shortened.add(each.name)
            if not found.resources:
                unmapped.add(each.name)
        for names, about in (
            (unsafe, _about_unsafe),
            (unmapped, _about_unmapped),
            (shortened, self._about_shortened),
            (left_out, self._about_left_out),
        ):
            if names:
                self._problem(rule, about(sorted_in_slices(names)))

    def finished(self) -> Offers:
        """The whole table."""
        overlaps: dict[str, list[str]] = {}
        for (former, later), metrics in self._taken_over.items():
            overlaps.setdefault(former, []).append(
                f"{later} serves instead: {some(sorted_in_slices(set(metrics)))}"
            )
        return Offers(
            self._custom, self._external, self._problems, overlaps, collisions=self._collisions
        )

    def _offer_discovered(self, key: MetricEntry | str, offer: Offer) -> bool:
        """Whether there is a place for it. Metrics that are named in the configuration need none."""
        is_known = key in self._external if isinstance(key, str) else key in self._custom
        if not is_known:
            if self._discovered >= self._entries_max:
                if self._resources_max > 1:
                    raise _Full
                return False
            self._discovered += 1
        if isinstance(key, str):
            self._offer_external(key, offer)
        else:
            self._offer_custom(key, offer)
        return True

    def _offer_custom(self, entry: MetricEntry, offer: Offer) -> None:
        former = self._custom.get(entry)
        if former is None or self._takes_over(former, offer, entry.metric, entry):
            self._custom[entry] = offer

    def _offer_external(self, metric: str, offer: Offer) -> None:
        former = self._external.get(metric)
        if former is None or self._takes_over(former, offer, metric):
            self._external[metric] = offer

    def _takes_over(
        self, former: Offer, later: Offer, metric: str, entry: MetricEntry | None = None
    ) -> bool:
        """Whether the later offer counts, as that of a later rule does. Of one rule, the series with the shorter name counts.

        prometheus-adapter uses the last series in the response of Prometheus, so that replicas may differ.
        """
        if former.rule is not later.rule:
            shown = f"{entry.resource}/{metric}" if entry else metric
            self._taken_over.setdefault((former.rule.path, later.rule.path), []).append(shown)
            takes_over = True
        else:
            # Prometheus mostly sorts by name: of the same length, the last one in the alphabet.
            takes_over = (-len(later.series), later.series) >= (-len(former.series), former.series)
        if former.series and later.series and former.series != later.series:
            served, other = (later, former) if takes_over else (former, later)
            of_rule = self._collisions.setdefault(served.rule.path, {})
            of_rule[metric] = (served.series, other.series)
        return takes_over

    def _about_shortened(self, names: Sequence[str]) -> str:
        is_full = self._resources_max < RESOURCES_MAX
        why = f", and all rules would offer more than {self._entries_max} in all" if is_full else ""
        return (
            f"{len(names)} series have labels of more than {self._resources_max} resources{why}. Only the metrics of so many resources "
            f"are offered, those of `resources.overrides` first: {some(names)}. Map the labels that you need under "
            "`resources.overrides`, in place of `resources.template`, or restrict `seriesQuery` with matchers"
        )

    def _about_left_out(self, names: Sequence[str]) -> str:
        return (
            f"all rules would offer more than {self._entries_max} metrics, so {len(names)} series cannot be requested, or not for each "
            f"resource: {some(names)}. Restrict `seriesQuery` with matchers, here or in the rules before"
        )

    def _problem(self, rule: Rule, sentence: str) -> None:
        self._problems.setdefault(rule.path, []).append(sentence)


def _named_series(rule: DiscoveryRule, series: Sequence[Series]) -> Iterator[tuple[Series, str]]:
    """The series that pass the rule's filters, with their metric names."""
    for each in series:
        if (name := series_metric(rule, each.name)) is not None:
            yield each, name


def _about_unsafe(names: Sequence[str]) -> str:
    return (
        f"{len(names)} series have names with other characters than letters, digits, `_`, `:` and `.`, which could change the query, so "
        f"they cannot be requested: {some(names)}"
    )


def _about_unmapped(names: Sequence[str]) -> str:
    return (
        f"{len(names)} series have no label that `resources` maps to a resource of this cluster, so they cannot be "
        f"requested: {some(names)}"
    )
