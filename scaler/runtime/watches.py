"""What the scaler watches: the autoscalers, the pods, and the HPAs that LoadAutoscalers must yield to."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from scaler.algorithm.observed import Pod
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind
from scaler.api.schedules import Calendar, FoundCalendar
from scaler.cluster.autoscalers import WatchedAutoscalers, collections
from scaler.cluster.pods import WatchedPods
from scaler.cluster.rivals import Rivals, TargetOfHpa
from scaler.cluster.schedules.calendars import WatchedCalendars
from scaler.cluster.selectors import Selectors
from scaler.cluster.shards.held_shards import HeldShards
from wire.api.duration import format_duration
from wire.kube.cache import WatchCache
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX, OnChange
from wire.kube.requests import Watcher
from wire.process.readiness import Check

# How long calendars are waited for at startup. Until they are listed, autoscalers that refer to them do not scale down.
CALENDARS_SECONDS = 5.0

AnyCache = WatchCache[Autoscaler] | WatchCache[TargetOfHpa] | WatchCache[Pod] | WatchCache[Calendar]

log = logging.getLogger(__name__)


class Watches:
    """The caches of one process, and the indexes that follow them."""

    def __init__(
        self,
        client: Watcher,
        kind: WatchedKind,
        namespaces: Sequence[str],
        *,
        is_shared: bool = False,
        on_change: OnChange[Autoscaler],
        on_crash: Callable[[], object],
        on_watch: Callable[[], object] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all. `is_shared`: other replicas reconcile a part, so what belongs to no shard of this replica is not
        kept (`hold`); if namespaces are named, everything in them is. `on_change` is called for every change of an autoscaler, and `on_crash`
        when one object cannot be kept because of a bug. `on_watch` is called whenever a watch of the autoscalers was accepted."""
        self._on_change = on_change
        self._is_limited = bool(namespaces)
        self._held = HeldShards() if is_shared and not namespaces else None
        self.selectors = Selectors()
        self.rivals = Rivals()
        self._follow = self.rivals.follow(kind.kind)
        self.autoscalers = WatchedAutoscalers(
            client,
            kind,
            namespaces,
            part=self._held,
            on_change=self._changed,
            on_crash=on_crash,
            on_watch=on_watch,
            monotonic=monotonic,
        )
        self.pods = WatchedPods(
            client, namespaces, part=self._held, on_crash=on_crash, monotonic=monotonic
        )
        self._hpas: list[WatchCache[TargetOfHpa]] = []
        if kind.shares_no_target:
            self._hpas = [
                WatchCache(
                    client,
                    path,
                    TargetOfHpa,
                    on_change=self.rivals.follow(HORIZONTAL_POD_AUTOSCALERS.kind),
                    on_crash=on_crash,
                    monotonic=monotonic,
                )
                for path in collections(HORIZONTAL_POD_AUTOSCALERS, namespaces)
            ]
        self.calendars: WatchedCalendars | None = None
        if kind.has_calendars:
            self.calendars = WatchedCalendars(client, namespaces, monotonic=monotonic)
        self._by_namespace: dict[str, list[AnyCache]] = {}
        # Calendars are not among them: most autoscalers do not refer to any.
        scaled_by: tuple[AnyCache, ...] = (
            *self.autoscalers.caches,
            *self.pods.caches,
            *self._hpas,
        )
        self._late: set[str] = set()
        self._needed: dict[str, list[AnyCache]] = {}
        self._divided: tuple[AnyCache, ...] = (*self.autoscalers.caches, *self.pods.caches)
        """Of these, only what is held is kept, if the scaler is one of several."""
        for cache in self._divided:
            self._needed.setdefault(namespace_of(cache.path), []).append(cache)
        for cache in scaled_by:
            self._by_namespace.setdefault(namespace_of(cache.path), []).append(cache)

    @property
    def caches(self) -> tuple[AnyCache, ...]:
        """Every cache; each has a `run` that must be running."""
        calendars = self.calendars.caches if self.calendars else ()
        return (*self.autoscalers.caches, *self.pods.caches, *self._hpas, *calendars)

    def hold(self, shards: frozenset[int]) -> None:
        """Keep the autoscalers and the pods of these shards, and no others. New ones are not complete before they have been listed."""
        if self._held is None:
            return
        self._held.change(shards)
        for each in self._divided:
            each.keep_part()

    async def list_held(self, on_listed: Callable[[frozenset[int]], object]) -> None:
        """List the shards that are held, and call `on_listed` with them. Ends only by cancellation."""
        if self._held is None:
            await asyncio.Event().wait()
            return
        while True:
            changes = await self._held.unlisted()
            await asyncio.gather(*(each.relisted() for each in self._divided))
            if listed := self._held.listed(changes):
                on_listed(listed)

    def listed_shards(self, shards: frozenset[int]) -> frozenset[int]:
        """Those of these shards whose objects are complete."""
        return shards if self._held is None else self._held.listed_of(shards)

    async def synced(self) -> None:
        """Wait until every cache is complete. HPAs that the client may not list are not waited for.

        If the scaler is limited to namespaces, it does not wait for one in which it may not list, as after its deletion.
        """
        for each in (one for needed in self._needed.values() for one in needed):
            if not self._is_limited:
                await each.synced()
            elif not await each.listed_unless_forbidden():
                self._late.add(namespace_of(each.path))
        await self._calendars_synced()
        await self._listed_unless_forbidden(self._hpas)

    async def _listed_unless_forbidden(self, hpas: Iterable[WatchCache[TargetOfHpa]]) -> None:
        for each in hpas:
            if not await each.listed_unless_forbidden():
                log.warning(
                    "%s may not be listed (%s): a target that an HPA scales too will not be detected",
                    each.path,
                    each.last_error,
                )

    async def _calendars_synced(self) -> None:
        """Not longer than a few seconds: without their CRDs, calendars can never be listed."""
        caches = self.calendars.caches if self.calendars else ()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CALENDARS_SECONDS):
                for each in caches:
                    await each.listed_unless_forbidden()

    def is_complete(self, namespace: str) -> bool:
        """Whether the autoscalers and the pods of the namespace have been listed, and its HPAs if the client may list them."""
        if self._held is not None and not self._held.are_listed(namespace):
            return False
        return namespace not in self._late and all(
            each.is_synced for each in self._needed_in(namespace)
        )

    def late_namespaces(self) -> list[str]:
        """Those that were not complete when everything else was `synced`: wait until they are `completed`."""
        return sorted(self._late)

    def refused_namespaces(self) -> list[str]:
        """Those of the scaler's namespaces in which it may not list autoscalers or pods, and never could."""
        return [each for each in self._needed if each and self.refusal(each)]

    async def completed(self, namespace: str) -> None:
        """Wait until it `is_complete`."""
        for each in self._needed_in(namespace):
            await each.synced()
        hpas = [each for each in self._hpas if namespace_of(each.path) == namespace]
        for one in hpas:
            one.forget_refusal()
        await self._listed_unless_forbidden(hpas)
        self._late.discard(namespace)

    def refusal(self, namespace: str) -> str | None:
        """What may not be listed there, and why."""
        refused = (each for each in self._needed_in(namespace) if each.is_refused)
        return next((f"{each.path} cannot be listed: {each.last_error}" for each in refused), None)

    def _needed_in(self, namespace: str) -> Sequence[AnyCache]:
        return self._needed.get(namespace, ()) if self._is_limited else self._needed[""]

    def calendars_of(self, autoscaler: Autoscaler) -> tuple[FoundCalendar, ...]:
        """The calendars that its schedules refer to."""
        return self.calendars.referenced_by(autoscaler) if self.calendars else ()

    def checks(self) -> tuple[Check, ...]:
        """The checks of /readyz."""
        return (
            Check("autoscalers", lambda: self._not_synced(self.autoscalers.caches)),
            Check("pods", lambda: self._not_synced(self.pods.caches)),
            Check("namespaces", self._namespaces_problem, informs=True),
            Check("cache-age", self._age_problem, informs=True),
        )

    def ages_seconds(self) -> dict[str, float]:
        """The age of the oldest cache by resource (`pods`); without those that were never listed, and HPAs that may not be listed."""
        ages: dict[str, float] = {}
        for cache in self.caches:
            if not self._is_expected(cache):
                continue
            resource = cache.path.rpartition("/")[2]
            ages[resource] = max(cache.age_seconds, ages.get(resource, 0.0))
        return ages

    def outdated(self, namespace: str) -> str | None:
        """Why the objects of a namespace may be too old to scale down by; None while they are not."""
        everywhere = self._by_namespace.get("", [])
        return self._outdated([*everywhere, *self._by_namespace.get(namespace, [])])

    def _not_synced(
        self, caches: Sequence[WatchCache[Autoscaler]] | Sequence[WatchCache[Pod]]
    ) -> str | None:
        """What is missing before the first decision. A cache that is merely old does not fail readiness.

        Nor does a namespace in which the scaler may not list, as long as there is another one.
        """
        is_somewhere = self._is_limited and any(each.is_synced for each in caches)
        for cache in caches:
            if not cache.is_synced and not (is_somewhere and cache.is_refused):
                reason = cache.last_error or "the first LIST is in progress"
                return f"{cache.path} has not been listed yet: {reason}"
        return None

    def _namespaces_problem(self) -> str | None:
        refused = self.refused_namespaces()
        if not refused:
            return None
        return f"namespace {refused[0]} is not scaled: {self.refusal(refused[0])}"

    def _age_problem(self) -> str | None:
        return self._outdated(self.caches)

    def _outdated(self, caches: Iterable[AnyCache]) -> str | None:
        for cache in caches:
            if cache.age_seconds > COPY_AGE_SECONDS_MAX and self._is_expected(cache):
                resource = cache.path.rpartition("/")[2]
                # In whole minutes, so that a condition changes seldom.
                age = format_duration(cache.age_seconds // 60 * 60)
                return f"the cached {resource} were last confirmed by the API server {age} ago"
        return None

    def _is_expected(self, cache: AnyCache) -> bool:
        """Whether it should be up to date. HPAs that may not be listed any more are as those that never could be: `synced`."""
        return cache.is_synced and not (cache.is_last_refused and cache in self._hpas)

    def _changed(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        if new is not None:
            self.selectors.appear(new.key)
        elif old is not None:
            self.selectors.disappear(old.key)
        self._follow(old, new)
        self._on_change(old, new)


def namespace_of(path: str) -> str:
    """The namespace of a watched path; empty for all namespaces."""
    before, marker, rest = path.partition("/namespaces/")
    return rest.partition("/")[0] if marker and before else ""
