"""The rules and the series that exist now to the metrics that can be requested: the whole table at once.

After prometheus-adapter v0.12.0 pkg/custom-provider/series_registry.go and
pkg/external-provider/external_series_registry.go: of two rules that offer the same metric, the later one serves it.
A faulty rule does not affect the others: its problem is reported under its path.
"""

from collections.abc import Mapping, Sequence
from functools import partial
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
from adapter.promql.naming import NAME_LENGTH_MAX
from adapter.promql.rule_series import RuleSeries
from adapter.promql.shares import places, shares
from adapter.promql.sorting import sorted_in_slices
from wire.api.wording import some

SeriesKey = tuple[BackendRef, str]
"""A backend and a series query: rules that share both share one listing."""

ENTRIES_MAX: Final = 200_000
"""Places for the discovered metrics of all rules. A metric takes one for each resource, and for each 64 characters of its name.

Full of different names with 64 characters, the table takes about 60 MiB, its discovery document 30 MiB, and counting the places of the
next table 80 MiB.
"""

SHOWN_LENGTH: Final = 64
"""Characters of a long name in the log."""

Collisions = Mapping[str, tuple[str, str]]
"""Each metric with the series that it is made of and another one that it is not."""


class Offers(msgspec.Struct, frozen=True):
    """What the rules offer and, by rule path, what is left out and which metrics are served by a later rule instead."""

    custom: Mapping[MetricEntry, Offer]
    external: Mapping[str, Offer]
    problems: Mapping[str, Sequence[str]]
    overlaps: Mapping[str, Sequence[str]] = {}
    collisions: Mapping[str, Collisions] = {}
    """By the path of the rule that serves the metrics."""


def offers(
    rules: Sequence[Rule],
    known: Mapping[SeriesKey, Sequence[Series]],
    mapping: ResourceMapping,
    *,
    entries_max: int = ENTRIES_MAX,
) -> Offers:
    """The table of metrics; a rule whose series are not in `known` offers nothing yet.

    If all rules need more than `entries_max` places, those that need more than their share offer metrics of fewer resources, and then
    fewer metrics.
    """
    discovered = {
        rule.path: RuleSeries(rule, series, mapping)
        for rule in rules
        if isinstance(rule, DiscoveryRule)
        and (series := known.get((rule.backend, rule.series_query))) is not None
    }
    counts = [each.places for each in discovered.values()]
    for each, share in zip(discovered.values(), shares(counts, entries_max), strict=True):
        if share < each.places:
            each.limit(share)
    table = _Table(mapping, entries_max)
    for rule in rules:
        if isinstance(rule, NamedRule):
            table.add_named(rule)
        elif rule.path in discovered:
            table.add_discovered(discovered[rule.path])
    return table.finished()


class _Table:
    """The offers so far. Rules are added in the order of the file: later ones win."""

    def __init__(self, mapping: ResourceMapping, entries_max: int) -> None:
        self._mapping = mapping
        self._entries_max = entries_max
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

    def add_discovered(self, found: RuleSeries) -> None:
        """The metrics of the series that the rule's seriesQuery selects."""
        rule = found.rule
        for label, resource in found.unknown:
            self._problem(
                rule,
                f"`resources.overrides.{label}`: the cluster serves no resource {resource}; the label is left out",
            )
        unmapped: set[str] = set()
        shortened: set[str] = set()
        left_out: set[str] = set()
        left = found.places_max
        for each, name in found.named():
            offer = Offer(rule, each.name)
            for key in found.keys(each, name):
                if not self._has_place(key, rule):
                    if left < places(name):
                        left_out.add(each.name)
                        continue
                    left -= places(name)
                self._offer(key, offer)
            if not rule.external:
                described = found.described.of(each.labels)
                if described.is_shortened:
                    shortened.add(each.name)
                if not described.resources:
                    unmapped.add(each.name)
        for names, about in (
            (found.long, _about_long),
            (found.unsafe, _about_unsafe),
            (unmapped, _about_unmapped),
            (shortened, partial(self._about_shortened, found.resources_max)),
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

    def _has_place(self, key: MetricEntry | str, rule: Rule) -> bool:
        """Whether another series of the rule has offered the metric."""
        former = self._external.get(key) if isinstance(key, str) else self._custom.get(key)
        return former is not None and former.rule is rule

    def _offer(self, key: MetricEntry | str, offer: Offer) -> None:
        if isinstance(key, str):
            self._offer_external(key, offer)
        else:
            self._offer_custom(key, offer)

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

    def _about_shortened(self, resources_max: int | None, names: Sequence[str]) -> str:
        return (
            f"{self._about_share()}, so {len(names)} series are metrics of {resources_max} resources, and not of all that their labels "
            f"name: {some(names)}. Map the labels that you need under `resources.overrides`, in place of `resources.template`, or "
            "restrict `seriesQuery` with matchers"
        )

    def _about_left_out(self, names: Sequence[str]) -> str:
        return (
            f"{self._about_share()}, so {len(names)} series cannot be requested, or not for each resource: {some(names)}. Restrict "
            "`seriesQuery` with matchers"
        )

    def _about_share(self) -> str:
        return f"all rules would offer more than {self._entries_max} metrics, this one more than its share"

    def _problem(self, rule: Rule, sentence: str) -> None:
        self._problems.setdefault(rule.path, []).append(sentence)


def _about_long(names: Sequence[str]) -> str:
    shown = [f"{each[:SHOWN_LENGTH]}..." for each in names]
    return f"{len(names)} series have names of more than {NAME_LENGTH_MAX} characters, so they cannot be requested: {some(shown)}"


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
