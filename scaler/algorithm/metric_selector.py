"""The label selector of a metric."""

from scaler.algorithm.unusable import MetricUnusable
from scaler.api.autoscaler import MetricIdentifier
from wire.api.labels import Selector, from_label_selector


def metric_selector(metric: MetricIdentifier) -> Selector | None:
    """The labels that a metric's series must have; None means all of them. Raises MetricUnusable."""
    try:
        return None if metric.selector is None else from_label_selector(metric.selector)
    except ValueError as error:
        raise MetricUnusable(str(error)) from None
