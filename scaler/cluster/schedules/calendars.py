"""Watches ScalingCalendars and ClusterScalingCalendars, and finds those that an autoscaler refers to."""

import time
from collections.abc import Callable, Sequence

import msgspec

from scaler.api.autoscaler import Autoscaler
from scaler.api.schedules import Calendar, CalendarKind, CalendarReference, FoundCalendar
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.kube.cache import WatchCache
from wire.kube.requests import Reader, Watcher


def references_of(autoscaler: Autoscaler) -> tuple[CalendarReference, ...]:
    """The calendars that its schedules name, each once."""
    references = (each.calendar_ref for each in autoscaler.spec.schedules or ())
    return tuple(dict.fromkeys(each for each in references if each is not None))


async def read_calendars(kube: Reader, autoscaler: Autoscaler) -> tuple[FoundCalendar, ...]:
    """The calendars of its schedules, without a watch. One that cannot be read says why."""
    namespace = autoscaler.metadata.namespace
    found: list[FoundCalendar] = []
    for reference in references_of(autoscaler):
        path = CalendarKind(reference.kind).object(namespace, reference.name)
        try:
            calendar = kube_json.decode(await kube.get(path), Calendar)
        except (StatusError, Unavailable, msgspec.DecodeError) as error:
            name = f"{reference.kind} {reference.name}"
            found.append(FoundCalendar(reference, None, f"{name} cannot be read: {error}"))
        else:
            found.append(FoundCalendar(reference, calendar.spec))
    return tuple(found)


class WatchedCalendars:
    """The cached calendars of both kinds."""

    def __init__(
        self,
        client: Watcher,
        namespaces: Sequence[str],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all namespaces."""

        def cache(path: str) -> WatchCache[Calendar]:
            return WatchCache(client, path, Calendar, monotonic=monotonic)

        self._namespaced = [
            cache(CalendarKind.NAMESPACED.collection(each)) for each in namespaces or ("",)
        ]
        self._cluster = [cache(CalendarKind.CLUSTER.collection(""))]

    @property
    def caches(self) -> tuple[WatchCache[Calendar], ...]:
        """Every cache; each has a `run` that must be running."""
        return (*self._namespaced, *self._cluster)

    def referenced_by(self, autoscaler: Autoscaler) -> tuple[FoundCalendar, ...]:
        """The calendars of its schedules, each once."""
        references = references_of(autoscaler)
        namespace = autoscaler.metadata.namespace
        return tuple(self._found(reference, namespace) for reference in references)

    def _found(self, reference: CalendarReference, namespace: str) -> FoundCalendar:
        is_cluster = reference.kind == CalendarKind.CLUSTER
        caches = self._cluster if is_cluster else self._namespaced
        inside = "" if is_cluster else namespace
        for cache in caches:
            found = cache.get(inside, reference.name)
            if found is not None:
                return FoundCalendar(reference, found.spec)
        name = f"{reference.kind} {reference.name}"
        for cache in caches:
            if not cache.is_synced:
                reason = cache.last_error or "the first LIST is in progress"
                return FoundCalendar(reference, None, f"{name} cannot be read: {reason}")
        where = "" if is_cluster else f" in namespace {namespace}"
        fix = "create it, or remove the schedule"
        return FoundCalendar(reference, None, f"{name} does not exist{where}: {fix}")
