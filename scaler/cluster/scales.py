"""The Scales of all targets: read from the API server, and kept while a watch shows that the target did not change.

kube-controller-manager reads the Scale in every reconcile. Here a Scale is read again when the resourceVersion of
its object has changed, when that is not known, or after the scaler itself wrote it. A write on the basis of a copy has
its resourceVersion, so it fails if the watch is behind.
"""

from collections.abc import Callable

import msgspec

from scaler.algorithm.observed import ScaleUnavailable
from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference
from scaler.cluster.target_scale import TargetScale, read_scale
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader


class WatchedVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a watch shows of a target. `generation` changes with its spec, and so with its replicas; 0 if it has none."""

    resource_version: str = ""
    generation: int = 0


Version = Callable[[], WatchedVersion | None]
"""The version of one object now; None while it is not known for certain."""
Follow = Callable[[str], Version]
"""Of the object whose Scale has this path."""


class ScaleCopy(msgspec.Struct, frozen=True):
    """A Scale that was read earlier, and the version that the watch shows of its target."""

    reference: CrossVersionObjectReference
    target: TargetScale
    version: Version

    def current(self, autoscaler: Autoscaler) -> TargetScale | None:
        """The same object each time; None if the target may have changed since."""
        version = self.version()
        is_current = (
            version is not None
            and version.resource_version == self.target.view.resource_version
            and self.reference == autoscaler.spec.scale_target_ref
        )
        return self.target if is_current else None


class Scales:
    """Reads Scales. What it has read is kept in the record of the autoscaler."""

    def __init__(self, kube: Reader, mapper: RestMapper, follow: Follow | None = None) -> None:
        """Without `follow` every Scale is read from the API server."""
        self._kube = kube
        self._mapper = mapper
        self._follow = follow

    async def read(
        self, autoscaler: Autoscaler
    ) -> tuple[TargetScale | ScaleUnavailable, ScaleCopy | None]:
        """The target's Scale from the API server, and the copy of it to keep, if a watch follows the target."""
        target = await read_scale(self._kube, self._mapper, autoscaler)
        if self._follow is None or isinstance(target, ScaleUnavailable):
            return target, None
        reference = autoscaler.spec.scale_target_ref
        version = self._follow(target.path)
        return target, ScaleCopy(reference, msgspec.structs.replace(target, is_copy=True), version)

    def watched(self, target: TargetScale) -> WatchedVersion | None:
        """The version of a target now; None if no watch shows it for certain."""
        return self._follow(target.path)() if self._follow is not None else None
