"""When metric values have moved by so little that they need not be written."""

import pytest

from scaler.algorithm.metric_changes import moved_little
from scaler.api.autoscaler import (
    ExternalMetricStatus,
    MetricIdentifier,
    MetricStatus,
    MetricValueStatus,
    ResourceMetricStatus,
)


def queue(average: str, name: str = "queue") -> MetricStatus:
    current = MetricValueStatus(average_value=average)
    metric = MetricIdentifier(name=name)
    return MetricStatus(
        type="External", external=ExternalMetricStatus(metric=metric, current=current)
    )


def cpu(percent: int, average: str) -> MetricStatus:
    current = MetricValueStatus(average_utilization=percent, average_value=average)
    return MetricStatus(type="Resource", resource=ResourceMetricStatus(name="cpu", current=current))


FAILED = MetricStatus(type="")


@pytest.mark.parametrize(
    ("written", "new", "little"),
    [
        pytest.param([queue("10")], [queue("11")], True, id="a tenth"),
        pytest.param([queue("10")], [queue("8999m")], False, id="more than a tenth, down"),
        pytest.param([queue("0")], [queue("1m")], False, id="from zero"),
        pytest.param([queue("10")], [queue("10", "other")], False, id="another metric"),
        pytest.param([queue("10")], [FAILED], False, id="it fails"),
        pytest.param([FAILED], [FAILED], True, id="it still fails"),
        pytest.param([queue("10")], [queue("10"), queue("10")], False, id="one more"),
        pytest.param([queue("much")], [queue("more")], False, id="not a quantity"),
        pytest.param([cpu(50, "500m")], [cpu(54, "540m")], True, id="both values of a resource"),
        pytest.param([cpu(50, "500m")], [cpu(50, "600m")], False, id="one value of a resource"),
    ],
)
def test_values_have_moved_little(written, new, little):
    assert moved_little(written, new) is little
