"""The Scales of all targets: read from the API server, and kept while a watch shows that the target did not change.

kube-controller-manager reads the Scale in every reconcile. Here a Scale is read again when the resourceVersion of
its object has changed, when that is not known, or after the scaler itself wrote it. A write on the basis of a copy has
its resourceVersion, so it fails if the watch is behind.
"""

from collections.abc import Awaitable, Callable

import msgspec

from scaler.algorithm.observed import ScaleUnavailable
from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference
from scaler.cluster.target_scale import TargetScale, decoded_scale, read_scale_by
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader


class WatchedVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """What a watch shows of a target. `generation` changes with its spec, and so with its replicas; 0 if it has none."""

    resource_version: str = ""
    generation: int = 0


Version = Callable[[], WatchedVersion | None]
"""The version of one object now; None while it is not known for certain."""
Follow = Callable[[str], Version]
"""Of the object whose Scale has this path."""
Listed = Callable[[str], Awaitable[TargetScale | None]]
"""The Scale at a path, as a LIST of its targets has shown it; None if none has."""


async def none_listed(_: object) -> None:
    """Every Scale, or every memory, is read by a request of its own."""


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

    def __init__(
        self,
        kube: Reader,
        mapper: RestMapper,
        follow: Follow | None = None,
        listed: Listed = none_listed,
    ) -> None:
        """Without `follow` every Scale is read from the API server."""
        self._kube = kube
        self._mapper = mapper
        self._follow = follow
        self._listed = listed

    async def read(
        self, autoscaler: Autoscaler
    ) -> tuple[TargetScale | ScaleUnavailable, ScaleCopy | None]:
        """The target's Scale, as listed or from the API server, and the copy of it to keep, if a watch follows the target."""
        target = await read_scale_by(self._read, self._mapper, autoscaler)
        if self._follow is None or isinstance(target, ScaleUnavailable):
            return target, None
        reference = autoscaler.spec.scale_target_ref
        version = self._follow(target.path)
        return target, ScaleCopy(reference, msgspec.structs.replace(target, is_copy=True), version)

    def watched(self, target: TargetScale) -> WatchedVersion | None:
        """The version of a target now; None if no watch shows it for certain."""
        return self._follow(target.path)() if self._follow is not None else None

    async def _read(self, path: str) -> TargetScale:
        """From a LIST, if the watch shows the version that was listed; or else by a request."""
        listed = await self._listed(path)
        if listed is not None and self._follow is not None:
            version = self._follow(path)()
            if version and version.resource_version == listed.view.resource_version:
                return msgspec.structs.replace(listed, is_copy=True)
        return decoded_scale(path, await self._kube.get(path))
