"""PURE  How users refer to a metric of the spec."""

from scaler.api.autoscaler import MetricSpec


def names_of(metric: MetricSpec) -> tuple[str, ...]:
    """The names by which a user may refer to it: its own, then that of the metric or resource."""
    sources = (metric.external, metric.object, metric.pods)
    found = [metric.name, *(each.metric.name for each in sources if each is not None)]
    found += [each.name for each in (metric.resource, metric.container_resource) if each]
    return tuple(dict.fromkeys(name for name in found if name))
