"""The series of one rule, with the names of their metrics, the resources that they describe, and the places that they take."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Final

from adapter.model import DiscoveryRule, MetricEntry, ResourceMapping, Series
from adapter.promql.described_resources import DescribedResources
from adapter.promql.naming import NAME_LENGTH_MAX, ResourceConverter, series_metric
from adapter.promql.shares import places

# A template inserts the name into the query as it is, with quotes or without: others could be a part of an expression. Prometheus 3
# accepts any text as a name, and anyone whose pods are scraped chooses names.
_SAFE_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")

RESOURCES_MAX: Final = 16
"""Resources that a series describes, if those of a rule would take too many places. Most series describe fewer than ten."""


class RuleSeries:
    """What a rule can offer. The places are counted at once, and not kept, since many rules may select the same series."""

    def __init__(
        self, rule: DiscoveryRule, series: Sequence[Series], mapping: ResourceMapping
    ) -> None:
        self.rule = rule
        self._series = series
        self._converter = ResourceConverter(rule.resources, mapping)
        self.unknown = self._converter.unknown
        """Overrides that name a resource which the cluster does not have: (label, resource)."""
        self.long: set[str] = set()
        self.unsafe: set[str] = set()
        """Names of series that are too long, or could change the query."""
        self.resources_max: int | None = None
        """Of a series; None for all."""
        self.described = self._shortened(None)
        self.places = self.places_max = _needed(self._label_sets(), self.described, rule)
        """What all metrics take, and what they may take."""

    def limit(self, places_max: int) -> None:
        """Let each series describe only so many resources that all metrics have a place, if that is possible."""
        self.places_max = places_max
        label_sets = self._label_sets()
        needed = self.places
        resources_max = 2 * RESOURCES_MAX
        while needed > places_max and resources_max > 1 and not self.rule.external:
            resources_max //= 2
            self.resources_max = resources_max
            self.described = self._shortened(self.resources_max)
            needed = _needed(label_sets, self.described, self.rule)

    def named(self) -> Iterator[tuple[Series, str]]:
        """The series that pass the rule's filters, without those that are `long` or `unsafe`, with their metric names."""
        for each in self._series:
            if (name := series_metric(self.rule, each.name)) is None:
                continue
            if len(each.name) > NAME_LENGTH_MAX:
                self.long.add(each.name)
            elif not _SAFE_NAME.fullmatch(each.name):
                self.unsafe.add(each.name)
            else:
                yield each, name

    def keys(self, series: Series, metric: str) -> Iterator[MetricEntry | str]:
        """The metrics that are made of a series."""
        if self.rule.external:
            yield metric
            return
        for resource, namespaced in self.described.of(series.labels).resources:
            yield MetricEntry(resource, namespaced, metric)

    def _shortened(self, resources_max: int | None) -> DescribedResources:
        return DescribedResources(self.rule.resources, self._converter, resources_max=resources_max)

    def _label_sets(self) -> Mapping[str, AbstractSet[frozenset[str]]]:
        found: dict[str, set[frozenset[str]]] = {}
        for each, name in self.named():
            found.setdefault(name, set()).add(each.labels)
        return found


def _needed(
    label_sets: Mapping[str, AbstractSet[frozenset[str]]],
    described: DescribedResources,
    rule: DiscoveryRule,
) -> int:
    if rule.external:
        return sum(map(places, label_sets))
    return sum(
        places(name) * len(set(chain.from_iterable(described.of(each).resources for each in sets)))
        for name, sets in label_sets.items()
    )
