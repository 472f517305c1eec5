"""PURE: the names that users write for resources -> the resources that the cluster serves.

Upstream: the discovery REST mapper of client-go v0.36.3 (restmapper/discovery.go over apimachinery's
DefaultRESTMapper, MultiRESTMapper and PriorityRESTMapper), with its results, its messages and its
oddities: every kind also has a guessed resource `<kind>lists`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec


class GroupVersionResource(NamedTuple):
    """A resource, or with empty fields a partial name of one. The group of the core API is empty."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"

    def path(self, namespace: str = "") -> str:
        """The path of the collection; of all namespaces when none is given."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{inside}/{self.resource}"


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """What discovery says of one resource in one version; subresources by name (`scale`, `status`)."""

    group: str
    version: str
    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def gvr(self) -> GroupVersionResource:
        """Its unique name."""
        return GroupVersionResource(self.group, self.version, self.name)

    def path(self, namespace: str = "") -> str:
        """The path of the collection; of all namespaces when none is given."""
        return self.gvr.path(namespace if self.namespaced else "")


class GroupVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a group with its resources, in the order of discovery."""

    group: str
    version: str
    preferred: bool
    resources: tuple[Resource, ...]


class NoMatchError(LookupError):
    """The cluster does not serve a resource of that name, or not yet: refreshing discovery may help."""


class AmbiguousError(LookupError):
    """Several resources of one group and version have that name."""


class ResourceTable:
    """The resources of one reading of discovery, by every name that they have."""

    def __init__(self, versions: Sequence[GroupVersion]) -> None:
        self.versions = tuple(versions)
        self._priority = {gv: index for index, gv in enumerate(_by_priority(versions))}
        self._by_name: dict[str, list[tuple[GroupVersionResource, str]]] = {}
        self._by_kind: dict[tuple[str, str], dict[str, Resource]] = {}
        self._exact: dict[GroupVersionResource, Resource] = {}
        self._short_names: dict[str, list[Resource]] = {}
        for version in versions:
            self._add(version)

    def resources_for(self, partial: GroupVersionResource) -> list[GroupVersionResource]:
        """Every resource of that singular or plural name, in the order of discovery.

        A group also matches as the beginning of a longer one: `storageclass.storage`.
        """
        wanted = partial._replace(resource=partial.resource.lower())
        found = [gvr for gvr, _ in self._by_name.get(wanted.resource, ()) if _matches(wanted, gvr)]
        if not found:
            raise NoMatchError(f"no matches for {partial}")
        return list(dict.fromkeys(found))

    def resource_for(self, partial: GroupVersionResource) -> GroupVersionResource:
        """The resource of that name: from the core group, else from the first group in the order of
        discovery; within a group from its preferred version.
        """
        found = self.resources_for(partial)
        first = min(found, key=self._rank)
        same_version = [gvr for gvr in found if gvr[:2] == first[:2]]
        if len(same_version) > 1:
            listed = " ".join(map(str, found))
            raise AmbiguousError(f"{partial} matches multiple resources [{listed}]")
        return first

    def expand_short_name(self, partial: GroupVersionResource) -> GroupVersionResource:
        """`po` -> pods; a name that is not a short name, or is a full name too, is returned unchanged."""
        full = any(
            not partial.group or partial.group == gvr.group
            for gvr, _ in self._by_name.get(partial.resource, ())
        )
        if full:
            return partial
        named = self._short_names.get(partial.resource, [])
        exact = [r for r in named if not partial.group or partial.group == r.group]
        for resource in exact or [r for r in named if r.group.startswith(partial.group)]:
            return GroupVersionResource(resource.group, "", resource.name)
        return partial

    def resources_for_kind(self, group: str, kind: str) -> list[Resource]:
        """That kind in every version of its group, the preferred version first."""
        found = self._by_kind.get((group, kind))
        if not found:
            raise NoMatchError(f'no matches for kind "{kind}" in group "{group}"')
        return sorted(found.values(), key=lambda resource: self._rank(resource.gvr))

    def singular(self, resource: str) -> str:
        """`pods` -> `pod`, from the first group and version in which it is unambiguous."""
        by_version: dict[tuple[str, str], set[str]] = {}
        for gvr, singular in self._by_name.get(resource.lower(), ()):
            by_version.setdefault(gvr[:2], set()).add(singular)
        for singulars in by_version.values():
            if len(singulars) == 1:
                return next(iter(singulars))
        raise NoMatchError(f"no singular of resource {resource} has been defined")

    def resource(self, gvr: GroupVersionResource) -> Resource:
        """What discovery says of it. Guessed names (`podlists`) are not in discovery."""
        try:
            return self._exact[gvr]
        except KeyError:
            raise NoMatchError(f"no matches for {gvr}") from None

    def _add(self, version: GroupVersion) -> None:
        gv = (version.group, version.version)
        singular_of: dict[str, str] = {}
        for resource in version.resources:
            self._exact[resource.gvr] = resource
            singular_of[resource.name] = resource.singular or guessed_names(resource.kind)[1]
            for kind in (resource.kind.lower(), resource.kind):
                self._by_kind.setdefault((version.group, kind), {})[version.version] = resource
            for short_name in resource.short_names:
                self._short_names.setdefault(short_name, []).append(resource)
            plural, singular = guessed_names(resource.kind + "List")
            singular_of[plural] = singular
        plural, singular = guessed_names("List")
        singular_of[plural] = singular
        for plural, singular in sorted(singular_of.items()):
            entry = (GroupVersionResource(*gv, plural), singular)
            for name in {plural, singular}:
                self._by_name.setdefault(name, []).append(entry)

    def _rank(self, gvr: GroupVersionResource) -> int:
        return self._priority[gvr.group, gvr.version]


def guessed_names(kind: str) -> tuple[str, str]:
    """Plural and singular of a kind for which discovery has none (UnsafeGuessKindToResource)."""
    singular = kind.lower()
    if singular.endswith("endpoints"):
        return singular, singular
    if singular.endswith("s"):
        return singular + "es", singular
    if singular.endswith("y"):
        return singular[:-1] + "ies", singular
    return singular + "s", singular


def _by_priority(versions: Iterable[GroupVersion]) -> list[tuple[str, str]]:
    groups: dict[str, list[GroupVersion]] = {}
    for version in versions:
        groups.setdefault(version.group, []).append(version)
    ordered = [("", "v1")]
    for group in groups.values():
        # sorted keeps the order of discovery among the others.
        ordered += [(v.group, v.version) for v in sorted(group, key=lambda v: not v.preferred)]
    return list(dict.fromkeys(ordered))


def _matches(wanted: GroupVersionResource, gvr: GroupVersionResource) -> bool:
    if wanted.version and wanted.version != gvr.version:
        return False
    if wanted.group and wanted.version:
        return wanted.group == gvr.group
    return gvr.group.startswith(wanted.group)
