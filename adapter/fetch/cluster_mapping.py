"""The cluster's resources as its discovery lists them: canonical names, kinds and scopes."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from adapter.model import GroupResource, GroupVersionKind, UnknownResource
from wire.kube.mapper import AmbiguousError, NoMatchError, RestMapper
from wire.kube.mapping import Resource

RESOURCES_MAX: Final = 4_096
"""Names whose resource is kept. A client may write a name in thousands of ways: a letter in either case, a part of the group."""


class ClusterMapping:
    """`ResourceMapping` over the newest discovery. As in prometheus-adapter, short names are not resolved: a label `ns` or
    `po` would otherwise become a resource.
    """

    def __init__(self, mapper: RestMapper) -> None:
        self._mapper = mapper
        # The table and what was found in it, replaced together: offers are built in another thread.
        self._known = (mapper.table, self._new_cache())

    def resource(self, named: GroupResource) -> Resource:
        """A resource in its preferred version; raises `UnknownResource`."""
        if self._known[0] is not self._mapper.table:
            self._known = (self._mapper.table, self._new_cache())
        _, look_up = self._known
        return look_up(named)

    def resource_for(self, resource: GroupResource) -> GroupResource:
        """The canonical name; raises `UnknownResource`."""
        found = self.resource(resource)
        return GroupResource(found.name, found.group)

    def singular(self, resource: str) -> str:
        """The singular of a plural; an unknown one is returned unchanged."""
        try:
            return self._mapper.singular(resource)
        except NoMatchError:
            return resource

    def kind_for(self, resource: GroupResource) -> GroupVersionKind:
        """The kind in the preferred version; raises `UnknownResource`."""
        found = self.resource(resource)
        return GroupVersionKind(group=found.group, version=found.version, kind=found.kind)

    def is_namespaced(self, resource: GroupResource) -> bool:
        """Whether its objects live in namespaces; raises `UnknownResource`."""
        return self.resource(resource).namespaced

    def _new_cache(self) -> Callable[[GroupResource], Resource]:
        return lru_cache(RESOURCES_MAX)(self._look_up)

    def _look_up(self, named: GroupResource) -> Resource:
        try:
            return self._mapper.resource(self._mapper.resource_for(named.resource, named.group))
        except (NoMatchError, AmbiguousError) as error:
            raise UnknownResource(named) from error
