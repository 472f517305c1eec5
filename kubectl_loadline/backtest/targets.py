"""An autoscaler with other targets."""

import msgspec

from scaler.algorithm.amounts import milli
from scaler.api.autoscaler import Autoscaler, MetricSpec, MetricTarget, metrics_of

_SOURCES = ("external", "object", "pods", "resource", "container_resource", "formula")


def with_targets_times(autoscaler: Autoscaler, factor: float) -> Autoscaler:
    """All its targets times a factor, at least 1% or a thousandth."""
    metrics = tuple(_metric(each, factor) for each in metrics_of(autoscaler.spec))
    spec = msgspec.structs.replace(autoscaler.spec, metrics=metrics)
    return msgspec.structs.replace(autoscaler, spec=spec)


def _metric(metric: MetricSpec, factor: float) -> MetricSpec:
    for name in _SOURCES:
        source = getattr(metric, name)
        if source is not None:
            changed = msgspec.structs.replace(source, target=_target(source.target, factor))
            return msgspec.structs.replace(metric, **{name: changed})
    return metric


def _target(target: MetricTarget, factor: float) -> MetricTarget:
    changes: dict[str, str | int] = {}
    for field in ("value", "average_value"):
        amount = getattr(target, field)
        if amount is not None:
            changes[field] = f"{max(1, round(milli(amount) * factor))}m"
    if target.average_utilization is not None:
        changes["average_utilization"] = max(1, round(target.average_utilization * factor))
    return msgspec.structs.replace(target, **changes)
