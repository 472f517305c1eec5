"""Everything that a reconcile reads from or writes to."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from scaler.api.autoscaler import Autoscaler
from scaler.cluster.metrics.followers import Followers
from scaler.cluster.ports import Autoscalers, DecisionObserver, EventSink, Measurements, Pods
from scaler.cluster.rivals import Selectors, Targets
from scaler.cluster.scales import Scales
from scaler.cluster.telemetry import Telemetry
from scaler.control.memories import Histories
from wire.kube.requests import Writer


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """One for each port."""

    kube: Writer
    scales: Scales
    autoscalers: Autoscalers
    pods: Pods
    selectors: Selectors
    rivals: Targets
    measurements: Measurements
    events: EventSink
    telemetry: Telemetry
    followers: Followers = msgspec.field(default_factory=Followers)
    """Which autoscalers a changed metric concerns."""
    outdated: Callable[[str], str] = lambda _: ""
    """Why the cached objects of a namespace may be out of date; empty while they are not."""
    histories: Histories | None = None
    """Where the memories of HPAs are stored."""
    observers: tuple[DecisionObserver, ...] = ()
    """What goes on beside the reconciles."""
    inputs: Callable[[Autoscaler], Mapping[str, Any]] = lambda _: {}
    """What was read for extensions, by their names."""
