"""The resource table of a live cluster: read from discovery, and read again as CRDs come and go.

The aggregated document (`/api` and `/apis` in one answer each) where the server has it, else one
request per group and version. A group, version or resource that cannot be read keeps what was known of
it, and one that does not answer is not waited for: an aggregated API that is down or answers nonsense
takes no other group with it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable

import msgspec

from wire.api.status import StatusError, Unavailable
from wire.kube.discovery_decoding import (
    Discovered,
    VersionListed,
    read_aggregated,
    read_core_versions,
    read_groups,
    read_resources,
)
from wire.kube.mapping import (
    AmbiguousError,
    GroupVersion,
    GroupVersionResource,
    NoMatchError,
    Resource,
    ResourceTable,
)
from wire.kube.requests import JSON, Reader
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.problem_log import ProblemLog

__all__ = ["AmbiguousError", "GroupVersionResource", "NoMatchError", "Resource", "RestMapper"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ACCEPT_AGGREGATED = f"{AGGREGATED},{JSON}"
# kube-controller-manager resets its REST mapper as often (cmd/kube-controller-manager/app/controllermanager.go).
REFRESH_SECONDS = 30.0
FIRST_RETRIES = BackoffLimits(initial_seconds=0.5, max_seconds=4.0, jitter_ratio=0.2)
# An unknown name may belong to a new CRD; a name that stays unknown must not cause a request each time.
REFRESH_AFTER_MISS_SECONDS = 5.0
# Without aggregated discovery: a version whose server has not answered by then is left to the next refresh.
VERSION_WAIT_SECONDS = 5.0

log = logging.getLogger(__name__)


class RestMapper:
    """Names -> resources, from the newest discovery that could be read. Lookups do no I/O."""

    def __init__(
        self,
        client: Reader,
        *,
        on_change: Callable[[], None] | None = None,
        known: tuple[GroupVersion, ...] = (),
        version_wait_seconds: float = VERSION_WAIT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change` is called when a refresh has found a difference; `known` is used until the first refresh."""
        self._client = client
        self._on_change = on_change
        self._version_wait_seconds = version_wait_seconds
        self._monotonic = monotonic
        self._table = ResourceTable(known)
        self._refreshed_at_seconds = float("-inf")
        self._refreshing = asyncio.Lock()
        self._late: dict[VersionListed, asyncio.Task[bytes]] = {}
        self._problem = ProblemLog(
            log,
            failing="discovery is incomplete; the previously discovered resources stay in use",
            recovered="discovery is complete again",
        )

    @property
    def last_error(self) -> str | None:
        """What the last refresh could not read; None when it read everything."""
        return self._problem.problem

    @property
    def table(self) -> ResourceTable:
        """Everything that is known; a refresh replaces the table and does not change this one."""
        return self._table

    def resource_for(
        self, resource: str, group: str = "", *, short_names: bool = False
    ) -> GroupVersionResource:
        """The one resource of that singular or plural name (and of that short name, as with kubectl, if `short_names`).

        Raises `NoMatchError` and `AmbiguousError`.
        """
        partial = GroupVersionResource(group, "", resource)
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
        """Read discovery. Raises `StatusError`, `Unavailable` or `msgspec.DecodeError` when not even the
        groups can be read; groups that cannot be read are in `last_error`.
        """
        async with self._refreshing:
            await self._refresh()

    async def refresh_after_miss(self) -> bool:
        """Refresh unless that was done a moment ago; True when the lookup should be repeated."""
        table = self._table
        async with self._refreshing:  # a refresh that is under way may bring the missing name
            age_seconds = self._monotonic() - self._refreshed_at_seconds
            if self._table is table and age_seconds >= REFRESH_AFTER_MISS_SECONDS:
                with contextlib.suppress(StatusError, Unavailable, msgspec.DecodeError):
                    await self._refresh()
        return self._table is not table

    async def run(self) -> None:
        """Refresh until cancelled: periodically, and more often until it has succeeded once, because nothing works before."""
        retries = Backoff(FIRST_RETRIES)
        try:
            while True:
                if self._table.versions:
                    await asyncio.sleep(REFRESH_SECONDS)
                with contextlib.suppress(StatusError, Unavailable, msgspec.DecodeError):
                    await self.refresh()
                if not self._table.versions:
                    await asyncio.sleep(retries.next_seconds())
        finally:
            self._give_up(self._late)

    async def _refresh(self) -> None:
        """Read discovery; the lock is held. A failure is logged, is in `last_error`, and is raised."""
        try:
            found = await self._aggregated() or await self._per_version()
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            self._problem.set(str(error))
            raise
        finally:
            self._refreshed_at_seconds = self._monotonic()
        self._problem.set("; ".join(found.problems) or None)
        if found.versions != self._table.versions:
            self._table = ResourceTable(found.versions)
            if self._on_change:
                self._on_change()

    async def _aggregated(self) -> Discovered | None:
        """All of it from the aggregated documents; None where the server has none."""
        bodies = await asyncio.gather(
            *(self._client.get(path, accept=ACCEPT_AGGREGATED) for path in ("/api", "/apis"))
        )
        versions = self._table.versions
        core = read_aggregated(bodies[0], [each for each in versions if not each.group])
        groups = read_aggregated(bodies[1], [each for each in versions if each.group])
        if core is None or groups is None:
            return None
        return Discovered(core.versions + groups.versions, core.problems + groups.problems)

    async def _per_version(self) -> Discovered:
        known = {(each.group, each.version): each for each in self._table.versions}
        listed = read_core_versions(await self._client.get("/api"))
        groups, problems = read_groups(await self._client.get("/apis"), self._table.versions)
        listed += groups
        answers = await self._answers(listed)
        found: list[GroupVersion] = []
        for version in listed:
            before = known.get((version.group, version.version))
            try:
                read, unreadable = read_resources(answers[version](), version, before)
            except (StatusError, Unavailable, msgspec.DecodeError) as error:
                problems.append(f"{version.path}: {error}")
                found += [before] if before else []
            else:
                problems += unreadable
                found.append(read)
        return Discovered(tuple(found), tuple(problems))

    async def _answers(
        self, listed: Iterable[VersionListed]
    ) -> dict[VersionListed, Callable[[], bytes]]:
        """What each version's server answers within a time limit; a later answer serves the next refresh."""
        reading = {
            each: self._late.pop(each)
            if each in self._late
            else asyncio.ensure_future(self._client.get(each.path))
            for each in listed
        }
        self._give_up(self._late)
        self._late = reading
        if reading:
            await asyncio.wait(reading.values(), timeout=self._version_wait_seconds)
        self._late = {each: task for each, task in reading.items() if not task.done()}
        return {
            each: task.result if task.done() else self._no_answer for each, task in reading.items()
        }

    def _no_answer(self) -> bytes:
        raise Unavailable(f"no answer within {self._version_wait_seconds:g} s")

    def _give_up(self, late: dict[VersionListed, asyncio.Task[bytes]]) -> None:
        for task in late.values():
            task.cancel()
        late.clear()
