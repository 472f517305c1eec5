"""The zeros that the scaler has set for autoscalers which were deleted since.

Who has set a zero is in the memory of an autoscaler, and deleted with it. Here it is kept for the next autoscaler of the target,
which would take the zero for a user's. The generation of the target shows that no user has changed the replicas meanwhile: every
change of its spec changes it. Where no watch shows it, or something else in the spec has changed, the zero is a user's.

A process that is started later does not know them.
"""

from typing import Final

from cachetools import LRUCache

from scaler.algorithm.memory import remembered
from scaler.algorithm.observed import ScaleUnavailable
from scaler.cluster.scales import Scales
from scaler.cluster.target_scale import TargetScale
from scaler.control.record import Record

ZEROS_MAX: Final = 10_000


class LeftZeros:
    """The generations that targets had at such a zero, by the uid of the target."""

    def __init__(self, scales: Scales) -> None:
        self._scales = scales
        self._generations: LRUCache[str, int] = LRUCache(ZEROS_MAX)

    def leave(self, record: Record) -> None:
        """The autoscaler of this record was deleted: if it was at a zero of the scaler, its target still is."""
        target, kept = record.target, record.memory
        if target is None or kept is None or not remembered(kept.memory).scaled_to_zero:
            return
        watched = self._scales.watched(target)
        if target.uid and watched is not None and watched.generation:
            self._generations[target.uid] = watched.generation

    def has(self, target: TargetScale | ScaleUnavailable) -> bool:
        """Whether the target, as it was read, is at such a zero."""
        if isinstance(target, ScaleUnavailable) or target.view.spec_replicas:
            return False
        generation = self._generations.get(target.uid)
        watched = self._scales.watched(target) if generation is not None else None
        return (
            watched is not None
            and watched.resource_version == target.view.resource_version
            and watched.generation == generation
        )
