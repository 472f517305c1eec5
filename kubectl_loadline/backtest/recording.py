"""What was recorded about one autoscaler and its target."""

from collections.abc import Mapping

import msgspec

from kubectl_loadline.backtest.series import Series
from scaler.api.autoscaler import MetricSpec

REPLICAS = "replicas"
READY_REPLICAS = "ready_replicas"
COMPLETIONS = "/completions"
"""What follows a queue's name in the name of the series with its completions per second."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """Series by name: `replicas`, `ready_replicas`, and one for each metric.

    The series of a metric has the value as it could be read at each time: of the whole target, so the sum over all pods.
    """

    step_seconds: int
    series: Mapping[str, Series]
    sources: Mapping[str, str] = {}
    """Where each series was read, in words."""

    @property
    def replicas(self) -> Series | None:
        """The replicas that were requested."""
        return self.series.get(REPLICAS)

    @property
    def ready(self) -> Series | None:
        """The ready replicas, or else those that were requested."""
        return self.series.get(READY_REPLICAS) or self.series.get(REPLICAS)

    def column_of(self, metric: MetricSpec) -> str | None:
        """The name of the series of a metric."""
        return next((name for name in columns_of(metric) if name in self.series), None)


def columns_of(metric: MetricSpec) -> tuple[str, ...]:
    """The names that the series of a metric may have: its own name, or that of the metric or resource."""
    named = metric.external or metric.object or metric.pods
    names = [metric.name]
    if named is not None:
        names.append(named.metric.name)
    if metric.resource is not None:
        names.append(metric.resource.name)
    if metric.container_resource is not None:
        source = metric.container_resource
        names += [f"{source.container}/{source.name}", source.name]
    return tuple(name for name in names if name)
