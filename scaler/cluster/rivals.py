"""Other autoscalers that name the same target, of either kind.

Only LoadAutoscalers have this check. kube-controller-manager does not see a LoadAutoscaler, so a LoadAutoscaler yields.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference
from wire.api.meta import NameAndVersion

RIVALS_SHOWN_MAX: Final = 3
"""A user may let thousands name one target; with all of their names in each status, they would fill etcd."""

_Target = tuple[str, str, str, str]
"""Namespace, group, kind and name: what decides which object is scaled."""


class _HpaSpec(msgspec.Struct, frozen=True, rename="camel"):
    scale_target_ref: CrossVersionObjectReference


class TargetOfHpa(msgspec.Struct, frozen=True, gc=False):
    """What is kept of an HPA that another controller reconciles: a hundredth of a large one."""

    metadata: NameAndVersion
    spec: _HpaSpec

    @property
    def is_dry_run(self) -> bool:
        """An HPA always scales its target."""
        return False


NamesTarget = Autoscaler | TargetOfHpa


class Rivals:
    """Which autoscalers of either kind name which target; without those in mode DryRun, which scale nothing."""

    def __init__(self) -> None:
        self._autoscalers: dict[_Target, list[tuple[str, str]]] = {}
        """By kind and name, sorted."""

    def follow(self, kind: str) -> Callable[[NamesTarget | None, NamesTarget | None], None]:
        """What to call with every change (old and new) of an autoscaler of this kind."""

        def change(old: NamesTarget | None, new: NamesTarget | None) -> None:
            if old is not None:
                self._remove(_target(old), (kind, old.metadata.name))
            if new is not None and not new.is_dry_run:
                self._add(_target(new), (kind, new.metadata.name))

        return change

    def of(self, autoscaler: Autoscaler, kind: str) -> tuple[str, ...]:
        """The first other autoscalers on the same target, as `Kind namespace/name`, and the word others if there are more."""
        namespace, itself = autoscaler.metadata.namespace, (kind, autoscaler.metadata.name)
        named = self._autoscalers.get(_target(autoscaler), [])
        first = [each for each in named[: RIVALS_SHOWN_MAX + 2] if each != itself]
        shown = tuple(f"{of} {namespace}/{name}" for of, name in first[:RIVALS_SHOWN_MAX])
        return (*shown, "others") if len(first) > RIVALS_SHOWN_MAX else shown

    def _add(self, target: _Target, autoscaler: tuple[str, str]) -> None:
        named = self._autoscalers.setdefault(target, [])
        place = bisect_left(named, autoscaler)
        if named[place : place + 1] != [autoscaler]:
            named.insert(place, autoscaler)

    def _remove(self, target: _Target, autoscaler: tuple[str, str]) -> None:
        named = self._autoscalers.get(target, [])
        place = bisect_left(named, autoscaler)
        if named[place : place + 1] == [autoscaler]:
            del named[place]
        if not named:
            self._autoscalers.pop(target, None)


def _target(autoscaler: NamesTarget) -> _Target:
    ref = autoscaler.spec.scale_target_ref
    group, slash, _ = ref.api_version.partition("/")
    return autoscaler.metadata.namespace, group if slash else "", ref.kind, ref.name
