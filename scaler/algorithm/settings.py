"""The controller's flags and feature gates; the defaults are kube-controller-manager's."""

from typing import Any

import msgspec

from scaler.algorithm.extension import Extension
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every autoscaler of one kind."""

    kind: WatchedKind = HORIZONTAL_POD_AUTOSCALERS
    sync_period_seconds: float = 15.0
    tolerance: float = 0.1
    downscale_stabilization_seconds: float = 300.0
    cpu_initialization_period_seconds: float = 300.0
    initial_readiness_delay_seconds: float = 30.0
    metric_status_max_age_seconds: float = 0.0
    """How long the status may have a metric value that has moved a little since; 0: not at all, as upstream."""
    scale_to_zero: bool = False
    """HPAScaleToZero: off for HorizontalPodAutoscalers, as upstream's gate; on for LoadAutoscalers."""
    configurable_tolerance: bool = True
    """HPAConfigurableTolerance: `behavior.*.tolerance` counts."""
    pod_level_resources: bool = True
    """PodLevelResources: requests of the whole pod count."""
    extensions: tuple[Extension[Any, Any], ...] = ()
    """What a LoadAutoscaler has beyond an HPA, in the order in which it applies; an HPA has nothing."""
