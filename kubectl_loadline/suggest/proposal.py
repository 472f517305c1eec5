"""A proposed autoscaler: the choices of which it consists, and the manifest that has them."""

import math
import re
from typing import Any

import msgspec

from kubectl_loadline.suggest.series_choice import CPU
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerSpec,
    Behavior,
    CrossVersionObjectReference,
    ExternalMetricSource,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    PodsMetricSource,
    ResourceMetricSource,
    ScaleDownRules,
    ScaleUpRules,
    ScalingPolicy,
)
from scaler.api.extension_spec import Mode
from scaler.api.forecast import ForecastSpec
from wire.api.loadline import API_VERSION
from wire.api.meta import ObjectMeta

_NAME_MAX = 63
FAST_UP = "100% per 15 s"
NO_LIMIT_UP = "the default"


class Choices(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that a proposal decides. `share` is the target as a share of the load that a full replica has.

    `is_external`: whether the metric is of the whole target, and not of each pod.
    """

    metric: str
    is_external: bool = False
    share: float
    target: float
    min_replicas: int
    max_replicas: int
    tolerance: float = 0.1
    scale_down_window_seconds: int = 300
    scale_up: str = NO_LIMIT_UP
    forecast: bool = False


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The target of the proposal. `lead_seconds`: how far a forecast must be ahead."""

    namespace: str
    name: str
    kind: str
    api_version: str
    lead_seconds: int


def autoscaler_of(choices: Choices, workload: Workload) -> Autoscaler:
    """A LoadAutoscaler in DryRun."""
    forecast = ForecastSpec(
        metric=entry_name(choices.metric), mode="Add", lead_seconds=workload.lead_seconds
    )
    return Autoscaler(
        api_version=API_VERSION,
        kind="LoadAutoscaler",
        metadata=ObjectMeta(name=workload.name, namespace=workload.namespace),
        spec=AutoscalerSpec(
            scale_target_ref=CrossVersionObjectReference(
                kind=workload.kind, name=workload.name, api_version=workload.api_version
            ),
            min_replicas=choices.min_replicas,
            max_replicas=choices.max_replicas,
            metrics=(_metric(choices),),
            behavior=_behavior(choices),
            mode=Mode.DRY_RUN,
            forecast=forecast if choices.forecast else None,
        ),
    )


def manifest_of(choices: Choices, workload: Workload) -> dict[str, Any]:
    """Its manifest."""
    found: dict[str, Any] = msgspec.to_builtins(autoscaler_of(choices, workload))
    return found


def entry_name(metric: str) -> str:
    """The name of the entry in `spec.metrics`: `http-requests-per-second`, of at most 63 lower-case letters, digits and `-`."""
    return re.sub("[^a-z0-9]+", "-", metric.lower())[:_NAME_MAX].strip("-")


def quantity_of(amount: float) -> str:
    """With three digits, rounded down: `350m`, `1250`."""
    milli = amount * 1000
    digits = max(0, math.floor(math.log10(milli)) - 2) if milli >= 1 else 0
    rounded = max(1, math.floor(milli / 10**digits) * 10**digits)
    return str(rounded // 1000) if rounded % 1000 == 0 else f"{rounded}m"


def _metric(choices: Choices) -> MetricSpec:
    target = MetricTarget(type="AverageValue", average_value=quantity_of(choices.target))
    if choices.metric == CPU:
        return MetricSpec(
            type="Resource", name=CPU, resource=ResourceMetricSource(name="cpu", target=target)
        )
    identifier = MetricIdentifier(name=choices.metric)
    if choices.is_external:
        external = ExternalMetricSource(metric=identifier, target=target)
        return MetricSpec(type="External", name=entry_name(choices.metric), external=external)
    source = PodsMetricSource(metric=identifier, target=target)
    return MetricSpec(type="Pods", name=entry_name(choices.metric), pods=source)


def _behavior(choices: Choices) -> Behavior | None:
    up: dict[str, Any] = {}
    down: dict[str, Any] = {}
    if choices.tolerance != 0.1:
        up["tolerance"] = down["tolerance"] = f"{choices.tolerance:g}"
    if choices.scale_up == FAST_UP:
        up["policies"] = (ScalingPolicy(type="Percent", value=100, period_seconds=15),)
    if choices.scale_down_window_seconds != 300:
        down["stabilization_window_seconds"] = choices.scale_down_window_seconds
    if not up and not down:
        return None
    return Behavior(
        scale_up=ScaleUpRules(**up) if up else None,
        scale_down=ScaleDownRules(**down) if down else None,
    )
