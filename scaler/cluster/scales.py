"""The Scales of all targets: read from the API server, and kept while a watch shows that the target did not change.

kube-controller-manager reads the Scale in every reconcile. Here a Scale is read again when the resourceVersion of
its object has changed, when that is not known, or after the scaler itself wrote it. `read(newest=True)` always reads
it. A write on the basis of a copy has its resourceVersion, so it fails if the watch is behind.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from scaler.algorithm.observed import ScaleUnavailable
from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference
from scaler.cluster.ports import Mapper, TargetScale
from scaler.cluster.target_scale import read_scale
from wire.kube.requests import Reader

Version = Callable[[], str]
"""The resourceVersion of one object now; empty while it is not known for certain."""


class Versions(Protocol):
    """Follows the versions of the targets."""

    def follow(self, scale_path: str) -> Version:
        """Of the object whose Scale has this path."""
        ...


class _Kept(msgspec.Struct, frozen=True):
    reference: CrossVersionObjectReference
    target: TargetScale
    version: Version


class Scales:
    """One Scale per autoscaler, by `namespace/name`."""

    def __init__(self, kube: Reader, mapper: Mapper, versions: Versions | None = None) -> None:
        """Without `versions` every Scale is read from the API server."""
        self._kube = kube
        self._mapper = mapper
        self._versions = versions
        self._kept: dict[str, _Kept] = {}

    async def read(
        self, autoscaler: Autoscaler, *, newest: bool = False
    ) -> TargetScale | ScaleUnavailable:
        """The target's Scale; a copy has `is_copy`."""
        copy = None if newest else self.copy_of(autoscaler)
        if copy is not None:
            return copy
        target = await read_scale(self._kube, self._mapper, autoscaler)
        if self._versions is None or isinstance(target, ScaleUnavailable):
            self.forget(autoscaler.key)
            return target
        reference = autoscaler.spec.scale_target_ref
        version = self._versions.follow(target.path)
        kept = msgspec.structs.replace(target, is_copy=True)
        self._kept[autoscaler.key] = _Kept(reference, kept, version)
        return target

    def copy_of(self, autoscaler: Autoscaler) -> TargetScale | None:
        """The Scale that was read last, the same object each time; None if the target may have changed since."""
        kept = self._kept.get(autoscaler.key)
        return kept.target if kept is not None and _is_current(kept, autoscaler) else None

    def forget(self, key: str) -> None:
        """The autoscaler was deleted, or the scaler wrote this Scale: read it again."""
        self._kept.pop(key, None)

    def clear(self, includes: Callable[[str], bool]) -> None:
        """Forget those of these keys."""
        for key in [key for key in self._kept if includes(key)]:
            del self._kept[key]


def _is_current(kept: _Kept, autoscaler: Autoscaler) -> bool:
    version = kept.version()
    return (
        version != ""
        and version == kept.target.view.resource_version
        and kept.reference == autoscaler.spec.scale_target_ref
    )
