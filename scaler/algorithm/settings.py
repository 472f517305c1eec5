"""The controller's flags and feature gates; the defaults are kube-controller-manager's."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scaler.algorithm.extension import Extension
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind
from scaler.api.upstream import NEWEST, Upstream


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every autoscaler of one kind."""

    kind: WatchedKind = HORIZONTAL_POD_AUTOSCALERS
    upstream: Upstream = NEWEST
    """Whose HPA controller to equal: for HorizontalPodAutoscalers that of the API server, for LoadAutoscalers the newest."""
    gated_traits: Mapping[str, bool] = {}
    """Traits of `upstream` that feature gates set, whatever the version has by default."""
    sync_period_seconds: float = 15.0
    tolerance: float = 0.1
    downscale_stabilization_seconds: float = 300.0
    cpu_initialization_period_seconds: float = 300.0
    initial_readiness_delay_seconds: float = 30.0
    metric_status_max_age_seconds: float = 0.0
    """How long the status may have a metric value that has moved a little since; 0: not at all, as upstream."""
    scale_to_zero: bool | None = None
    """HPAScaleToZero, if a feature gate says it; None: as `upstream` has it by default."""
    configurable_tolerance: bool = True
    """HPAConfigurableTolerance: `behavior.*.tolerance` counts."""
    pod_level_resources: bool = True
    """PodLevelResources: requests of the whole pod count."""
    extensions: tuple[Extension[Any, Any], ...] = ()
    """What a LoadAutoscaler has beyond an HPA, in the order in which it applies; an HPA has nothing."""

    @property
    def scales_to_zero(self) -> bool:
        """HPAScaleToZero."""
        return self.upstream.scales_to_zero if self.scale_to_zero is None else self.scale_to_zero

    def of_version(self, upstream: Upstream) -> "Settings":
        """The same settings with the controller of another version; what feature gates say stays."""
        gated = msgspec.structs.replace(upstream, **self.gated_traits)
        return msgspec.structs.replace(self, upstream=gated)
