"""PURE: discovery documents -> the resources of each group and version.

An aggregated API writes its own part of these documents, and it may be wrong. Groups, versions and
resources are therefore read one by one: what cannot be read is reported and hides nothing else, and
whatever was known before and is not in the readable part stays known, since it may be in the other.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from wire.api import kube_json
from wire.kube.mapping import GroupVersion, Resource

T = TypeVar("T")
AGGREGATED_KIND = "APIGroupDiscoveryList"
STALE = "kube-apiserver cannot read it from its server, which may be down"


class Discovered(NamedTuple):
    """The readable part, filled up with what was known; `problems` has a sentence for each part that is not."""

    versions: tuple[GroupVersion, ...]
    problems: tuple[str, ...]


class VersionListed(NamedTuple):
    """A version that a server without aggregated discovery says it has."""

    group: str
    version: str
    preferred: bool

    @property
    def path(self) -> str:
        """Where its resources are listed."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def read_aggregated(body: bytes, known: Sequence[GroupVersion]) -> Discovered | None:
    """An aggregated document; None where the server answered with something else.

    `known` is what an earlier document at the same path said. Raises `msgspec.DecodeError`.
    """
    document = kube_json.decode(body, _AggregatedList)
    if document.kind != AGGREGATED_KIND:
        return None
    groups, problems = _readable(document.items, _AggregatedGroup, "a group")
    found: list[GroupVersion] = []
    is_whole = not problems
    for group in groups:
        name = group.metadata.name
        versions, unreadable = _readable(group.versions, _AggregatedVersion, f"a version of {name}")
        problems += unreadable
        known_of_group = [each for each in known if each.group == name]
        of_group: list[GroupVersion] = []
        for version in versions:
            before = _find(known_of_group, name, version.version)
            read, wrong = _version(name, version, before)
            of_group.append(read)
            problems += wrong
        if unreadable:
            of_group = _filled_up(of_group, known_of_group)
        found += _with_preferred(of_group, [each.version for each in versions if each.is_current])
    if not is_whole:
        found = _filled_up(
            found, [v for v in known if v.group not in {g.metadata.name for g in groups}]
        )
    return Discovered(tuple(_in_known_order(found, known) if problems else found), tuple(problems))


def read_core_versions(body: bytes) -> list[VersionListed]:
    """The versions of the core group, from `/api`. Raises `msgspec.DecodeError`."""
    versions = kube_json.decode(body, _CoreVersions).versions
    return [VersionListed("", version, index == 0) for index, version in enumerate(versions)]


def read_groups(
    body: bytes, known: Sequence[GroupVersion]
) -> tuple[list[VersionListed], list[str]]:
    """The versions of all other groups, from `/apis`, and what cannot be read. Raises `msgspec.DecodeError`."""
    document = kube_json.decode(body, _GroupList)
    groups, problems = _readable(document.groups, _Group, "a group")
    listed = []
    for group in groups:
        versions, unreadable = _readable(group.versions, _Version, f"a version of {group.name}")
        problems += unreadable
        preferred = group.preferred_version.version
        listed += [
            VersionListed(group.name, each.version, each.version == preferred) for each in versions
        ]
    if problems:
        named = {(each.group, each.version) for each in listed}
        listed += [
            VersionListed(each.group, each.version, each.preferred)
            for each in known
            if each.group and (each.group, each.version) not in named
        ]
    return listed, problems


def offered_versions(body: bytes, group: str) -> list[str] | None:
    """The versions of a group that may be used, the preferred one first; None without the group. From `/apis`.

    Upstream: `convertAPIGroup` of client-go leaves out the stale versions of an aggregated document. A list of groups does not name them.
    Raises `msgspec.DecodeError`.
    """
    document = kube_json.decode(body, _AggregatedList)
    if document.kind == AGGREGATED_KIND:
        aggregated, problems = _readable(document.items, _AggregatedGroup, "a group")
        for each in aggregated:
            if each.metadata.name == group:
                fresh, _ = _readable(each.versions, _AggregatedVersion, "a version")
                return [version.version for version in fresh if version.is_current]
    else:
        listed = kube_json.decode(body, _GroupList).groups
        groups, problems = _readable(listed, _Group, "a group")
        for one in groups:
            if one.name == group:
                versions, _ = _readable(one.versions, _Version, "a version")
                return [each.version for each in (one.preferred_version, *versions)]
    if problems:
        raise msgspec.DecodeError(problems[0])
    return None


def read_resources(
    body: bytes, listed: VersionListed, before: GroupVersion | None
) -> tuple[GroupVersion, list[str]]:
    """One version's resources, and what cannot be read of them. Raises `msgspec.DecodeError`."""
    document = kube_json.decode(body, _ResourceList)
    entries, problems = _readable(
        document.resources, _LegacyResource, f"a resource of {_named(*listed[:2])}"
    )
    subresources: dict[str, list[str]] = {}
    for entry in entries:
        name, slash, subresource = entry.name.partition("/")
        if slash:
            subresources.setdefault(name, []).append(subresource)
    resources = [
        Resource(
            group=listed.group,
            version=listed.version,
            name=entry.name,
            singular=entry.singular_name,
            kind=entry.kind,
            namespaced=entry.namespaced,
            verbs=entry.verbs,
            short_names=entry.short_names,
            subresources=tuple(subresources.get(entry.name, ())),
        )
        for entry in entries
        if "/" not in entry.name and entry.name and entry.kind
    ]
    return _group_version(*listed, resources, before if problems else None), problems


def _version(
    group: str, version: "_AggregatedVersion", before: GroupVersion | None
) -> tuple[GroupVersion, list[str]]:
    named = _named(group, version.version)
    entries, problems = _readable(version.resources, _AggregatedResource, f"a resource of {named}")
    if not version.is_current:
        problems.append(f"{named}: {STALE}")
    resources = [
        Resource(
            group=group,
            version=version.version,
            name=entry.resource,
            singular=entry.singular_resource,
            kind=entry.response_kind.kind,
            namespaced=entry.scope == "Namespaced",
            verbs=entry.verbs,
            short_names=entry.short_names,
            subresources=tuple(each.subresource for each in entry.subresources),
        )
        for entry in entries
        # kube-apiserver makes up a parent without a kind for `pods/requests_per_second`.
        if entry.resource and entry.response_kind.kind
    ]
    read = _group_version(group, version.version, False, resources, before if problems else None)
    return read, problems


def _readable(
    raws: Iterable[msgspec.Raw], as_type: type[T], what: str
) -> tuple[list[T], list[str]]:
    found: list[T] = []
    problems: list[str] = []
    for raw in raws:
        try:
            found.append(kube_json.decode(raw, as_type))
        except msgspec.DecodeError as error:
            problems.append(f"{what} cannot be read: {error}")
    return found, problems


def _group_version(
    group: str,
    version: str,
    preferred: bool,
    resources: list[Resource],
    before: GroupVersion | None,
) -> GroupVersion:
    """A version with its resources, and those known `before` that are not among them."""
    names = {each.name for each in resources}
    kept = [each for each in before.resources if each.name not in names] if before else []
    return GroupVersion(
        group=group, version=version, preferred=preferred, resources=(*resources, *kept)
    )


def _filled_up(found: list[GroupVersion], known: Sequence[GroupVersion]) -> list[GroupVersion]:
    kept = [each for each in known if _find(found, each.group, each.version) is None]
    return [*found, *kept]


def _with_preferred(versions: list[GroupVersion], current: list[str]) -> list[GroupVersion]:
    """The first version whose server answers is the preferred one, else the first."""
    preferred = next(iter(current), versions[0].version if versions else "")
    return [msgspec.structs.replace(each, preferred=each.version == preferred) for each in versions]


def _in_known_order(found: list[GroupVersion], known: Sequence[GroupVersion]) -> list[GroupVersion]:
    """What names mean depends on the order, which a part that cannot be read must not change."""
    order = {(each.group, each.version): index for index, each in enumerate(known)}
    return sorted(found, key=lambda each: order.get((each.group, each.version), len(order)))


def _find(among: Iterable[GroupVersion], group: str, version: str) -> GroupVersion | None:
    return next((v for v in among if (v.group, v.version) == (group, version)), None)


def _named(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


class _Subresource(msgspec.Struct, frozen=True):
    subresource: str = ""


class _AggregatedResource(msgspec.Struct, frozen=True, rename="camel"):
    resource: str = ""
    scope: str = ""
    singular_resource: str = ""
    response_kind: _Kind = _Kind()
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    subresources: tuple[_Subresource, ...] = ()


class _AggregatedVersion(msgspec.Struct, frozen=True):
    version: str = ""
    # Those of a stale version are the last that its server gave: better than none.
    resources: tuple[msgspec.Raw, ...] = ()
    freshness: str = ""

    @property
    def is_current(self) -> bool:
        return self.freshness != "Stale"


class _AggregatedGroup(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()
    versions: tuple[msgspec.Raw, ...] = ()


class _AggregatedList(msgspec.Struct, frozen=True):
    kind: str = ""
    items: tuple[msgspec.Raw, ...] = ()


class _CoreVersions(msgspec.Struct, frozen=True):
    versions: tuple[str, ...]  # what has none is something else, and not a server without resources


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    versions: tuple[msgspec.Raw, ...] = ()
    preferred_version: _Version = _Version()


class _GroupList(msgspec.Struct, frozen=True):
    groups: tuple[msgspec.Raw, ...]


class _LegacyResource(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    singular_name: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[msgspec.Raw, ...] = ()
