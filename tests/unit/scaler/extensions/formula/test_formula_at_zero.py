"""A formula that starts a target, and lets it go to zero."""

import pytest

from scaler.algorithm.readings import ComputedFrom
from scaler.api.autoscaler import FormulaMetricSource, MetricSpec
from tests.unit.scaler.extensions.scaled_to_zero import (
    AT_ZERO,
    desired,
    inactive,
    of_queue,
    queue,
)
from tests.unit.scaler.objects import average, external, named


@pytest.mark.parametrize(
    ("length", "replicas", "expected"),
    [
        pytest.param(50, 0, 5, id="above its activation value, a formula starts the target"),
        pytest.param(4, 0, 0, id="not above it"),
        pytest.param(4, 3, 0, id="after the cooldown, the target goes to zero"),
        pytest.param(50, 3, 5, id="active"),
    ],
)
def test_the_activity_of_a_formula_is_that_of_its_value(length, replicas, expected):
    """As with KEDA's scalingModifiers, its inputs do not count."""
    source = FormulaMetricSource(expression="queue / 10", target=average("1"))
    load = MetricSpec(type="Formula", name="load", formula=source, activation_value="500m")
    of_input = named(external(average("1")), "queue", use="Input")
    memory = AT_ZERO if replicas == 0 else inactive(999)
    found = desired(
        of_queue(of_input, load), queue(length), ComputedFrom(), memory=memory, replicas=replicas
    )
    assert found.desired_replicas == expected
