"""An AverageValue within the tolerance keeps the replicas of the status, not of the spec, as all released controllers do.

Upstream may change that (kubernetes/kubernetes #141134). See `status-not-spec` in docs/deviations.md.
"""

import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, ObjectValue
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Behavior
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.extensions import extensions_of
from tests.unit.scaler.objects import (
    average,
    decided,
    external,
    observed,
    of_object,
    rules,
    spec,
)

FREE = Behavior(scale_up=rules(), scale_down=rules())


@pytest.mark.deviation("status-not-spec")
@pytest.mark.parametrize(
    "kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS], ids=lambda kind: kind.kind
)
@pytest.mark.parametrize(
    ("metric", "reading"),
    [
        pytest.param(external(average("10")), ExternalValues((100_000,)), id="External"),
        pytest.param(of_object(average("10")), ObjectValue(100_000), id="Object"),
    ],
)
@pytest.mark.parametrize(
    ("spec_replicas", "status_replicas", "expected"),
    [
        pytest.param(8, 10, 10, id="more pods than wanted: the ratio is 1 for 10"),
        pytest.param(10, 8, 10, id="fewer pods than wanted: the ratio is 1.25"),
        pytest.param(12, 10, 10, id="fewer pods than wanted, enough for the load"),
    ],
)
def test_the_count_that_is_kept_is_the_one_that_the_ratio_is_of(
    kind, metric, reading, spec_replicas, status_replicas, expected
):
    found = decided(
        observed(
            spec(metric, behavior=FREE), replicas=spec_replicas, status_replicas=status_replicas
        ),
        (reading,),
        memory=Memory(recommendations=()),
        settings=Settings(extensions=extensions_of(kind), kind=kind),
    )
    assert found.desired_replicas == expected
