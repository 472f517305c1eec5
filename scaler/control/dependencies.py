"""Everything that a reconcile reads from or writes to."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.policy import Policy
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.autoscalers import WatchedAutoscalers
from scaler.cluster.events.autoscaler_events import Events
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.metrics.followers import Followers
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.metrics.metric_requests import MetricRequest
from scaler.cluster.pod_owners import PodOwners
from scaler.cluster.pods import WatchedPods
from scaler.cluster.rivals import Rivals
from scaler.cluster.scales import Scales, none_listed
from scaler.cluster.selectors import Selectors
from scaler.cluster.telemetry import Telemetry
from wire.kube.requests import Writer


class DecisionObserver(Protocol):
    """What goes on beside the reconciles, from what they leave. Nothing waits or raises."""

    def decided(self, autoscaler: Autoscaler, policy: Policy, memory: Memory) -> None:
        """A reconcile has ended with this memory; not called while another process' is not continued yet."""
        ...

    def forget(self, key: str) -> None:
        """The autoscaler was deleted, or another process reconciles it from now on."""
        ...


async def _at_once(_: str) -> None:
    """Nothing else is scaled now."""


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Of all reconciles of one kind."""

    kube: Writer
    scales: Scales
    autoscalers: WatchedAutoscalers
    pods: WatchedPods
    selectors: Selectors
    rivals: Rivals
    measurements: Measurements
    events: Events
    telemetry: Telemetry
    settings: Callable[[], Settings]
    """The settings of the algorithm as of now, the same object until they change."""
    followers: Followers[MetricRequest] = msgspec.field(default_factory=Followers)
    """Which autoscalers a changed metric concerns."""
    owners: PodOwners | None = None
    """Of pods, for `podSelection: Owned`."""
    outdated: Callable[[str], str | None] = lambda _: None
    """Why the cached objects of a namespace may be out of date; None while they are not."""
    is_brought_forward: Callable[[str], bool] = lambda _: False
    """Whether the reconcile of an autoscaler began before the end of its period, because a metric has changed."""
    scales_first: Callable[[str], Awaitable[None]] = _at_once
    """After the scale of an autoscaler was written: wait with its status until others are scaled that have to be now."""
    listed_memory: Callable[[Autoscaler], Awaitable[StoredMemory | None]] = none_listed
    """What a LIST has shown as stored in the status of a LoadAutoscaler; None if it must be read."""
    memory_store: MemoryStore | None = None
    """Where the memories of HPAs are stored."""
    observers: tuple[DecisionObserver, ...] = ()
    """What goes on beside the reconciles."""
    inputs: Callable[[Autoscaler], Mapping[str, Any]] = lambda _: {}
    """What was read for extensions, by their names."""
