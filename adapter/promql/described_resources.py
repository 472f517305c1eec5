"""The resources that a series describes: those whose objects its labels name, or only some of them if there are too many metrics.

prometheus-adapter has no limit. Anyone whose pods are scraped chooses the labels of series.
"""

from typing import Final

import msgspec

from adapter.model import NAMESPACES, NODES, PODS, GroupResource, ResourceLabels
from adapter.promql.naming import ResourceConverter

_FIRST: Final = (PODS, NAMESPACES, GroupResource("services"), NODES)
"""What most metrics describe: these resources are kept before others."""


class Described(msgspec.Struct, frozen=True, gc=False):
    """The resources of a series, and whether discovery lists their metrics as namespaced. `is_shortened`: there are more."""

    resources: tuple[tuple[GroupResource, bool], ...]
    is_shortened: bool


class DescribedResources:
    """Those of the series of one rule. Most of its series have the labels of others, so results are kept."""

    def __init__(
        self, labels: ResourceLabels, converter: ResourceConverter, *, resources_max: int | None
    ) -> None:
        """`resources_max`: of a series, None for all. Those of overrides count, but are never left out: the configuration names them."""
        self._overridden = {label for label, _ in labels.overrides}
        self._converter = converter
        self._resources_max = resources_max
        self._known: dict[frozenset[str], Described] = {}
        self._listed: dict[GroupResource, tuple[GroupResource, bool]] = {}

    def of(self, labels: frozenset[str]) -> Described:
        """The resources of a series with these labels."""
        if labels not in self._known:
            self._known[labels] = self._described(labels)
        return self._known[labels]

    def _described(self, labels: frozenset[str]) -> Described:
        overridden: dict[GroupResource, None] = {}
        others: dict[GroupResource, None] = {}
        for label in sorted(labels):
            if (resource := self._converter.resource_for(label)) is not None:
                (overridden if label in self._overridden else others)[resource] = None
        rest = [each for each in others if each not in overridden]
        rest.sort(key=lambda each: _FIRST.index(each) if each in _FIRST else len(_FIRST))
        kept = rest
        if self._resources_max is not None:
            kept = rest[: max(0, self._resources_max - len(overridden))]
        return Described(
            resources=tuple(map(self._as_listed, (*overridden, *kept))),
            is_shortened=len(kept) < len(rest),
        )

    def _as_listed(self, resource: GroupResource) -> tuple[GroupResource, bool]:
        if resource not in self._listed:
            self._listed[resource] = (resource, self._converter.is_listed_as_namespaced(resource))
        return self._listed[resource]
