"""The resources that a series describes: those whose objects its labels name, up to a limit.

prometheus-adapter has no limit. Anyone whose pods are scraped chooses the labels of series.
"""

from typing import Final

import msgspec

from adapter.model import NAMESPACES, NODES, PODS, GroupResource, ResourceLabels
from adapter.promql.naming import ResourceConverter

RESOURCES_MAX: Final = 16
"""Resources that a series describes. Those of applications and of kube-state-metrics describe fewer than ten."""

_FIRST: Final = (PODS, NAMESPACES, GroupResource("services"), NODES)
"""What most metrics describe: these resources are kept before others."""


class Described(msgspec.Struct, frozen=True, gc=False):
    """The resources of a series, and whether discovery lists their metrics as namespaced. `is_shortened`: there are more."""

    resources: tuple[tuple[GroupResource, bool], ...]
    is_shortened: bool


class DescribedResources:
    """Those of the series of one rule. Most of its series have the labels of others, so results are kept."""

    def __init__(
        self, labels: ResourceLabels, converter: ResourceConverter, *, resources_max: int
    ) -> None:
        """`resources_max`: of a series. Those of overrides count, but are never left out: the configuration names them."""
        self._overridden = {label for label, _ in labels.overrides}
        self._converter = converter
        self._resources_max = resources_max
        self._known: dict[frozenset[str], Described] = {}

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
        places = max(0, self._resources_max - len(overridden))
        return Described(
            resources=tuple(
                (each, self._converter.is_listed_as_namespaced(each))
                for each in (*overridden, *rest[:places])
            ),
            is_shortened=len(rest) > places,
        )
