"""More than 20,000 random inputs, answered by the HPA controller's own code and by ours.

`python -m testbed.oracle.scaler.record` makes the vectors anew; with `--check --seed=N` it asks others.
"""

from collections import Counter

import pytest

from testbed.oracle.scaler.questions import Vector
from testbed.oracle.scaler.record import VECTORS, inputs, read
from testbed.oracle.scaler.replay import difference


@pytest.fixture(scope="module")
def vectors() -> list[Vector]:
    return read(VECTORS)


def test_the_core_answers_as_the_controller_did(vectors):
    differences = [found for vector in vectors if (found := difference(vector)) is not None]
    assert differences[:1] == [], f"{len(differences)} differences"


def test_there_are_more_than_twenty_thousand_inputs(vectors):
    assert inputs(vectors) > 20_000


def test_every_reason_was_met(vectors):
    """Vectors that never reach a branch would prove nothing about it."""
    reasons = Counter(
        condition.reason
        for vector in vectors
        for step in vector.steps
        for condition in step.status.conditions or ()
    )
    assert {
        "SucceededGetScale", "FailedGetScale", "SucceededRescale", "FailedUpdateScale",
        "ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized",
        "ValidMetricFound", "ScalingDisabled", "InvalidSelector", "AmbiguousSelector",
        "FailedGetObjectMetric", "FailedGetPodsMetric", "FailedGetResourceMetric",
        "FailedGetContainerResourceMetric", "FailedGetExternalMetric",
        "ScaleUpLimit", "ScaleDownLimit", "TooManyReplicas", "TooFewReplicas", "DesiredWithinRange",
        "ScaledToZero", "NotScaledToZero",
    } == set(reasons)  # fmt: skip
