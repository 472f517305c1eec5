"""The resource table of a live cluster: read from discovery, and read again as CRDs come and go.

The aggregated document (`/api` and `/apis` in one answer each) where the server has it, else one
request per group and version. A version that cannot be read keeps what was known of it: an aggregated
API that is down must take no other group with it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec

from wire.kube.client import JSON
from wire.kube.mapping import (
    AmbiguousError,
    GroupVersion,
    GroupVersionResource,
    NoMatchError,
    Resource,
    ResourceTable,
)
from wire.status import StatusError, Unavailable

__all__ = ["AmbiguousError", "GroupVersionResource", "NoMatchError", "Resource", "RestMapper"]

AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
# The HPA controller's REST mapper is reset as often (cmd/kube-controller-manager/app/controllermanager.go).
REFRESH_SECONDS = 30.0
# An unknown name may belong to a CRD made just now; a name that stays unknown must not cost a request each time.
REFRESH_AFTER_MISS_SECONDS = 5.0

log = logging.getLogger(__name__)


class Reader(Protocol):
    """The request that discovery makes; `KubeClient` makes it."""

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes: ...


class RestMapper:
    """Names -> resources, by the newest discovery that could be read. Lookups do no I/O."""

    def __init__(
        self,
        client: Reader,
        *,
        on_change: Callable[[], None] | None = None,
        known: tuple[GroupVersion, ...] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change` is called when a refresh has found something new; `known` holds until the first refresh."""
        self._client = client
        self._on_change = on_change
        self._sleep = sleep
        self._monotonic = monotonic
        self._table = ResourceTable(known)
        self._refreshed_at_seconds = float("-inf")
        self._refreshing = asyncio.Lock()
        self.last_error = ""

    @property
    def table(self) -> ResourceTable:
        """The whole of what is known; a refresh replaces it and leaves this one as it is."""
        return self._table

    def resource_for(
        self, resource: str, group: str = "", version: str = "", *, short_names: bool = False
    ) -> GroupVersionResource:
        """The one resource of that singular or plural name (and short name, as kubectl, on request).

        Raises `NoMatchError` and `AmbiguousError`.
        """
        partial = GroupVersionResource(group, version, resource)
        return self._table.resource_for(
            self._table.expand_short_name(partial) if short_names else partial
        )

    def resources_for_kind(self, group: str, kind: str) -> list[Resource]:
        """Every version of a kind, preferred first. Raises `NoMatchError`."""
        return self._table.resources_for_kind(group, kind)

    def singular(self, resource: str) -> str:
        """`pods` -> `pod`. Raises `NoMatchError`."""
        return self._table.singular(resource)

    def is_namespaced(self, resource: str, group: str = "") -> bool:
        """Whether objects of it live in namespaces. Raises `NoMatchError` and `AmbiguousError`."""
        return self._table.resource(self.resource_for(resource, group)).namespaced

    def resource(self, gvr: GroupVersionResource) -> Resource:
        """What discovery says of it. Raises `NoMatchError`."""
        return self._table.resource(gvr)

    async def refresh(self) -> None:
        """Read discovery. Raises `StatusError` or `Unavailable` when not even the groups can be read."""
        async with self._refreshing:
            self._refreshed_at_seconds = self._monotonic()
            versions = await self._aggregated()
            if versions is None:
                versions = await self._per_version()
            if versions != self._table.versions:
                self._table = ResourceTable(versions)
                if self._on_change:
                    self._on_change()

    async def refresh_after_miss(self) -> bool:
        """Refresh unless that was done a moment ago; True when the lookup is worth repeating."""
        before, table = self._refreshed_at_seconds, self._table
        async with self._refreshing:
            pass  # whoever is refreshing may bring what we miss
        if self._table is table and self._monotonic() - before >= REFRESH_AFTER_MISS_SECONDS:
            try:
                await self.refresh()
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._noted(str(error))
        return self._table is not table

    async def run(self, period_seconds: float = REFRESH_SECONDS) -> None:
        """Refresh for ever; ends only by cancellation."""
        while True:
            try:
                await self.refresh()
                self._noted("")
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                self._noted(str(error))
            await self._sleep(period_seconds)

    async def _aggregated(self) -> tuple[GroupVersion, ...] | None:
        """All of it from the aggregated documents; None where the server has none."""
        bodies = await asyncio.gather(
            *(self._client.get(path, accept=AGGREGATED) for path in ("/api", "/apis"))
        )
        documents = [msgspec.json.decode(body, type=_AggregatedList) for body in bodies]
        if any(document.kind != "APIGroupDiscoveryList" for document in documents):
            return None
        return tuple(
            _group_version(group.metadata.name, version, preferred=index == 0)
            for document in documents
            for group in document.items
            for index, version in enumerate(group.versions)
        )

    async def _per_version(self) -> tuple[GroupVersion, ...]:
        core = msgspec.json.decode(await self._client.get("/api"), type=_CoreVersions)
        groups = msgspec.json.decode(await self._client.get("/apis"), type=_GroupList).groups
        asked = [("", version, index == 0) for index, version in enumerate(core.versions)]
        asked += [
            (g.name, v.version, v.version == g.preferred_version.version)
            for g in groups
            for v in g.versions
        ]
        known = {(v.group, v.version): v for v in self._table.versions}
        at_once = asyncio.Semaphore(10)

        async def read(group: str, version: str, preferred: bool) -> GroupVersion | None:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                async with at_once:
                    body = await self._client.get(path)
                return _legacy(
                    group, version, preferred=preferred, listed=_RESOURCES.decode(body).resources
                )
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                log.warning("discovery of %s failed, going on with what was known: %s", path, error)
                return known.get((group, version))

        answers = await asyncio.gather(*(read(*one) for one in asked))
        return tuple(answer for answer in answers if answer is not None)

    def _noted(self, error: str) -> None:
        if error == self.last_error:
            return
        if error:
            log.warning("discovery failed, going on with what was known: %s", error)
        else:
            log.info("discovery works again")
        self.last_error = error


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


class _Subresource(msgspec.Struct, frozen=True):
    subresource: str


class _AggregatedResource(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    scope: str = ""
    singular_resource: str = ""
    response_kind: _Kind | None = None
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    subresources: tuple[_Subresource, ...] = ()


class _AggregatedVersion(msgspec.Struct, frozen=True):
    version: str
    # Those of a stale version are the last that its server told: better than none.
    resources: tuple[_AggregatedResource, ...] = ()


class _AggregatedGroup(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()
    versions: tuple[_AggregatedVersion, ...] = ()


class _AggregatedList(msgspec.Struct, frozen=True):
    kind: str = ""
    items: tuple[_AggregatedGroup, ...] = ()


class _CoreVersions(msgspec.Struct, frozen=True):
    versions: tuple[str, ...] = ()


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version = _Version()


class _GroupList(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _LegacyResource(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    kind: str
    namespaced: bool = False
    singular_name: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_LegacyResource, ...] = ()


_RESOURCES = msgspec.json.Decoder(_ResourceList)


def _group_version(group: str, version: _AggregatedVersion, *, preferred: bool) -> GroupVersion:
    return GroupVersion(
        group=group,
        version=version.version,
        preferred=preferred,
        resources=tuple(
            Resource(
                group=group,
                version=version.version,
                name=r.resource,
                singular=r.singular_resource,
                kind=r.response_kind.kind,
                namespaced=r.scope == "Namespaced",
                verbs=r.verbs,
                short_names=r.short_names,
                subresources=tuple(s.subresource for s in r.subresources),
            )
            for r in version.resources
            if r.response_kind is not None and r.response_kind.kind
        ),
    )


def _legacy(
    group: str, version: str, *, preferred: bool, listed: tuple[_LegacyResource, ...]
) -> GroupVersion:
    subresources: dict[str, list[str]] = {}
    for entry in listed:
        name, slash, subresource = entry.name.partition("/")
        if slash:
            subresources.setdefault(name, []).append(subresource)
    return GroupVersion(
        group=group,
        version=version,
        preferred=preferred,
        resources=tuple(
            Resource(
                group=group,
                version=version,
                name=r.name,
                singular=r.singular_name,
                kind=r.kind,
                namespaced=r.namespaced,
                verbs=r.verbs,
                short_names=r.short_names,
                subresources=tuple(subresources.get(r.name, ())),
            )
            for r in listed
            if "/" not in r.name
        ),
    )
