"""Readings to signals: one per metric of the spec, in its order, each usable by the metric's calculation or a failure.

A calculation after this stage never meets a value that is missing or of another metric's form. What decides how a
failure, an old or a small value is treated belongs here, before any calculation runs.
"""

from collections.abc import Sequence

from scaler.algorithm.readings import (
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSamples,
    Reading,
    Signal,
)
from scaler.api.autoscaler import MetricSourceType, MetricSpec

_FORMS: dict[str, type[Reading]] = {
    MetricSourceType.OBJECT: ObjectValue,
    MetricSourceType.PODS: PodSamples,
    MetricSourceType.RESOURCE: PodSamples,
    MetricSourceType.CONTAINER_RESOURCE: PodSamples,
    MetricSourceType.EXTERNAL: ExternalValues,
}
_NOT_MEASURED = MetricFailed("it was not measured")


def signal(metrics: Sequence[MetricSpec], readings: Sequence[Reading]) -> tuple[Signal, ...]:
    """Pair each metric with its reading; a reading that is absent or of the wrong form is a failure."""
    if len(readings) > len(metrics):
        raise ValueError(f"{len(readings)} readings for {len(metrics)} metrics")
    measured = len(readings)
    return tuple(
        Signal(metric, _fitting(metric, readings[index]) if index < measured else _NOT_MEASURED)
        for index, metric in enumerate(metrics)
    )


def _fitting(metric: MetricSpec, reading: Reading) -> Reading:
    form = _FORMS.get(metric.type)
    if form is None or isinstance(reading, (form, MetricFailed)):
        return reading
    return MetricFailed(f"expected {form.__name__}, got {type(reading).__name__}")
