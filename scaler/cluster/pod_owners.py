"""The controllers of pods, and of what controls these: metadata only, one watch for each kind between targets and pods.

A watch starts when the first LoadAutoscaler with `podSelection: Owned` needs it.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from scaler.algorithm.observed import OwnerReference, Pod
from scaler.algorithm.owners import OWNERS_MAX, Owners, controller_of
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.owner_shares import (
    NAMESPACE_RESOURCES_MAX,
    RESOURCES_MAX,
    OwnerShares,
    ResourceName,
)
from wire.api.meta import NameAndVersion
from wire.kube.cache import WatchCache
from wire.kube.mapper import AmbiguousError, NoMatchError, RestMapper
from wire.kube.mapping import Resource
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX
from wire.kube.requests import Watcher

# How long a reconcile waits for the first LIST of a kind.
FIRST_LIST_SECONDS: Final = 5.0
# Between two looks for watches that no autoscaler needs any more.
RELEASE_SECONDS: Final = 60.0
# Of controllers of pods, which takes about 3 ms if the chains are as long as they may be.
SLICE: Final = 500

Kind = tuple[str, str]
"""Group and kind."""
Start = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Starts a background task of this name."""

_REPLICA_SET: Final[Kind] = ("apps", "ReplicaSet")
_REPLICA_SETS: Final[ResourceName] = ("apps", "replicasets")
_BETWEEN: Final[dict[Kind, frozenset[Kind]]] = {
    ("apps", "Deployment"): frozenset({_REPLICA_SET}),
    ("argoproj.io", "Rollout"): frozenset({_REPLICA_SET}),
    ("apps", "StatefulSet"): frozenset(),
    ("apps", "ReplicaSet"): frozenset(),
    ("", "ReplicationController"): frozenset(),
}
"""What controls pods on behalf of a target of this kind. For other kinds, that may be any other kind."""


class _Target(msgspec.Struct, frozen=True):
    kind: Kind
    uid: str


class _Identity(NameAndVersion, frozen=True, kw_only=True):
    uid: str = ""
    owner_references: tuple[OwnerReference, ...] | None = ()


class _Controlled(msgspec.Struct, frozen=True):
    metadata: _Identity


class _Watch(msgspec.Struct, frozen=True):
    resource: ResourceName
    cache: WatchCache[_Controlled]
    task: asyncio.Task[None]


class PodOwners:
    """One cache for each resource (and namespace, if the scaler is limited to some)."""

    def __init__(
        self,
        client: Watcher,
        mapper: RestMapper,
        namespaces: Sequence[str],
        start: Start,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: those that the scaler is limited to; empty for all."""
        self._client = client
        self._mapper = mapper
        self._is_limited = bool(namespaces)
        self._start = start
        self._monotonic = monotonic
        self._watches: dict[str, _Watch] = {}
        """By path."""
        self._others = OwnerShares()
        """All that are watched but ReplicaSets, which are in any case."""
        self._released_at_seconds = monotonic()

    async def listed(self, autoscaler: Autoscaler, target_uid: str, pods: Sequence[Pod]) -> Owners:
        """Like `of`, after a moment for the first LIST of every kind that it needs. Others have their turn in between."""
        found = await self._in_turns(autoscaler, target_uid, pods)
        for _ in range(OWNERS_MAX):
            if not found.problem:
                break
            before = set(self._watches)
            caches = [each.cache for each in self._watches.values()]
            waiting = [each.attempted() for each in caches if not each.is_synced]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LIST_SECONDS):
                    await asyncio.gather(*waiting)
            found = await self._in_turns(autoscaler, target_uid, pods)
            if self._watches.keys() == before:
                break
        return found

    def of(self, autoscaler: Autoscaler, target_uid: str, pods: Sequence[Pod]) -> Owners:
        """The owners of these pods, as far as they may lead to the target with this uid."""
        *_, found = self._in_slices(autoscaler, target_uid, pods)
        return found

    async def _in_turns(
        self, autoscaler: Autoscaler, target_uid: str, pods: Sequence[Pod]
    ) -> Owners:
        found = Owners(target_uid=target_uid)
        for found in self._in_slices(autoscaler, target_uid, pods):  # noqa: B007 - the last one
            await asyncio.sleep(0)
        return found

    def _in_slices(
        self, autoscaler: Autoscaler, target_uid: str, pods: Sequence[Pod]
    ) -> Iterator[Owners]:
        """What is found after each slice of controllers; the last one is complete."""
        self._release()
        reference = autoscaler.spec.scale_target_ref
        kind = _kind(reference.api_version, reference.kind)
        chains = _Chains(
            _Target(kind, target_uid), partial(self._source, autoscaler.metadata.namespace)
        )
        for number, (first, has_live_pod) in enumerate(_controllers(pods), 1):
            chains.follow(first, has_live_pod=has_live_pod)
            if number % SLICE == 0:
                yield chains.owners
        yield chains.owners

    def _source(self, namespace: str, api_version: str, kind: str) -> "_Source | str":
        """Where the objects of a kind are found, or why they are not known."""
        try:
            resource = self._mapper.resources_for_kind(*_kind(api_version, kind))[0]
        except (NoMatchError, AmbiguousError) as error:
            return str(error)
        cache = self._cache(resource, namespace)
        if cache is None:
            return (
                f"pods have owners of more than {NAMESPACE_RESOURCES_MAX} kinds other than ReplicaSet, or of more than "
                f"{RESOURCES_MAX} in all namespaces"
            )
        if not cache.is_synced:
            reason = cache.last_error or "the first LIST is in progress"
            return (
                f"{cache.path} has not been listed yet: {reason}. The scaler needs permission to list and watch it:"
                " set rbac.podOwners in its chart"
            )
        if cache.age_seconds > COPY_AGE_SECONDS_MAX:
            return f"{cache.path} was last confirmed by the API server more than {COPY_AGE_SECONDS_MAX / 60:g} minutes ago"
        return _Source(cache, namespace if resource.namespaced else "")

    def _cache(self, resource: Resource, namespace: str) -> WatchCache[_Controlled] | None:
        """None if it may not be watched."""
        name = (resource.group, resource.name)
        if name != _REPLICA_SETS:
            is_new = name not in self._others
            if not self._others.use(name, namespace, self._monotonic()):
                return None
            if is_new:
                self._end_given_up()
        path = resource.path(namespace if self._is_limited else "")
        watch = self._watches.get(path)
        if watch is None:
            watch = self._watches[path] = self._started(name, path)
        return watch.cache

    def _started(self, name: ResourceName, path: str) -> _Watch:
        cache = WatchCache(
            self._client,
            path,
            _Controlled,
            metadata_only=True,
            convert=_small,
            monotonic=self._monotonic,
        )
        return _Watch(name, cache, self._start(cache.run(), f"watch owners {path}"))

    def _release(self) -> None:
        """End the watches of what no autoscaler needs any more."""
        now_seconds = self._monotonic()
        if now_seconds - self._released_at_seconds >= RELEASE_SECONDS:
            self._released_at_seconds = now_seconds
            self._others.release(now_seconds)
            self._end_given_up()

    def _end_given_up(self) -> None:
        for path, watch in list(self._watches.items()):
            if watch.resource not in self._others and watch.resource != _REPLICA_SETS:
                del self._watches[path]
                watch.task.cancel()


class _Source(msgspec.Struct, frozen=True):
    """The objects of a kind that may be owners in a namespace."""

    cache: WatchCache[_Controlled]
    namespace: str
    """Empty for a kind without namespaces."""


class _Chains:
    """The chains of controllers from pods to a target, as far as they were followed. A kind is looked for once."""

    def __init__(self, target: _Target, source: Callable[[str, str], _Source | str]) -> None:
        """`source`: by apiVersion and kind."""
        self._target = target
        self._source = source
        self._sources: dict[tuple[str, str], _Source | str | None] = {}
        """None for kinds that the target does not control."""
        self._known: dict[str, str] = {}
        self._problem = ""

    @property
    def owners(self) -> Owners:
        """What is known by now."""
        return Owners(target_uid=self._target.uid, controllers=self._known, problem=self._problem)

    def follow(self, first: OwnerReference, *, has_live_pod: bool) -> None:
        """Add what controls an object, up to the target."""
        problem = self._followed(first)
        if has_live_pod and problem:
            self._problem = self._problem or problem

    def _followed(self, first: OwnerReference) -> str:
        """Returns why the chain is not known up to the target, if so."""
        current: OwnerReference | None = first
        for _ in range(OWNERS_MAX):
            if current is None or current.uid == self._target.uid or current.uid in self._known:
                break
            source = self._source_of(current)
            if source is None:
                break
            if isinstance(source, str):
                return source
            found = source.cache.get(source.namespace, current.name)
            if found is None or found.metadata.uid != current.uid:
                return f"there is no {current.kind} {current.name} with the uid {current.uid}, which controls a pod"
            following = controller_of(found.metadata.owner_references)
            self._known[current.uid] = following.uid if following else ""
            current = following
        return ""

    def _source_of(self, reference: OwnerReference) -> _Source | str | None:
        of = (reference.api_version, reference.kind)
        if of not in self._sources:
            leads = _may_lead_to(self._target.kind, _kind(*of))
            self._sources[of] = self._source(*of) if leads else None
        return self._sources[of]


def _kind(api_version: str, kind: str) -> Kind:
    """Not checked: discovery has no kind with an invalid one."""
    group, slash, _ = api_version.partition("/")
    return group if slash else "", kind


def _may_lead_to(target: Kind, kind: Kind) -> bool:
    """Whether an object of this kind may be controlled by a target of that one."""
    between = _BETWEEN.get(target)
    return kind != target if between is None else kind in between


def _small(found: _Controlled) -> _Controlled:
    """Without owners that do not control it."""
    controller = controller_of(found.metadata.owner_references)
    references = () if controller is None else (controller,)
    return _Controlled(msgspec.structs.replace(found.metadata, owner_references=references))


def _controllers(pods: Sequence[Pod]) -> Iterator[tuple[OwnerReference, bool]]:
    """Each controller of a pod once, and whether one of its pods is live; those with live pods first."""
    found: dict[str, tuple[OwnerReference, bool]] = {}
    for pod in pods:
        reference = controller_of(pod.metadata.owner_references)
        if reference is not None:
            _, is_known_live = found.get(reference.uid, (reference, False))
            found[reference.uid] = (reference, is_known_live or pod.is_live)
    yield from sorted(found.values(), key=lambda each: not each[1])
