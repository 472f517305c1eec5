"""Pure: one slider per metric of an autoscaler, from its last decision."""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import Derivation, MetricDerivation
from scaler.algorithm.why import is_in_bytes
from scaler.api.autoscaler import MetricSourceType, MetricSpec, MetricTarget
from scaler.api.metric_references import names_of

RANGE_OF_TARGET = 3
RANGE_OF_VALUE = 2
_PER_POD = (
    MetricSourceType.PODS,
    MetricSourceType.RESOURCE,
    MetricSourceType.CONTAINER_RESOURCE,
)


class Slider(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of `simulate --metric`; amounts are thousandths. `value` is None while the metric has none."""

    name: str
    title: str
    value_milli: int | None
    target_milli: int
    max_milli: int
    is_in_bytes: bool


def sliders(metrics: Sequence[MetricSpec], derivation: Derivation) -> tuple[Slider, ...]:
    """One for each metric that `simulate` can set: a formula is computed, and a name may be that of several metrics."""
    found = []
    for index, metric in enumerate(metrics):
        name = next(iter(names_of(metric)), "")
        if metric.type == MetricSourceType.FORMULA or not _is_unique(name, metrics):
            continue
        step = derivation.metrics[index] if index < len(derivation.metrics) else None
        found.append(_slider(metric, name, step, derivation.current_replicas or 1))
    return tuple(found)


def _is_unique(name: str, metrics: Sequence[MetricSpec]) -> bool:
    """Whether `simulate` finds one metric by this name, as it searches for it."""
    named = [each for each in metrics if each.name == name]
    return len(named or [each for each in metrics if name in names_of(each)]) == 1


def _slider(metric: MetricSpec, name: str, step: MetricDerivation | None, replicas: int) -> Slider:
    per_pod = metric.type in _PER_POD
    value = _value(step)
    target = _target(metric, step, value, 1 if per_pod else replicas)
    most = max(RANGE_OF_TARGET * target, RANGE_OF_VALUE * (value or 0), 1)
    return Slider(
        name=name,
        title=f"{name}, per pod" if per_pod else name,
        value_milli=value,
        target_milli=target,
        max_milli=most,
        is_in_bytes=_is_in_bytes(metric),
    )


def _is_in_bytes(metric: MetricSpec) -> bool:
    """As `why` writes its amounts, also while the metric fails."""
    source, target = metric.resource or metric.container_resource, _target_of(metric)
    amount = str((target.average_value or target.value or "") if target is not None else "")
    is_memory = source is not None and source.name == "memory"
    return is_in_bytes(amount, is_memory=is_memory)


def _value(step: MetricDerivation | None) -> int | None:
    if step is None:
        return None
    return step.average_milli if step.value_milli is None else step.value_milli


def _target(
    metric: MetricSpec, step: MetricDerivation | None, value: int | None, replicas: int
) -> int:
    """The value at which the count would stay: from the ratio, or from the spec if there is none."""
    if step is not None and step.usage_ratio and value:
        return max(1, round(value / step.usage_ratio))
    wanted = _target_of(metric)
    if wanted is not None and wanted.value is not None:
        return max(1, milli(wanted.value))
    if wanted is not None and wanted.average_value is not None:
        return max(1, milli(wanted.average_value) * replicas)
    return 1000


def _target_of(metric: MetricSpec) -> MetricTarget | None:
    sources = (
        metric.external,
        metric.object,
        metric.pods,
        metric.resource,
        metric.container_resource,
    )
    return next((each.target for each in sources if each is not None), None)
