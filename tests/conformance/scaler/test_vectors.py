"""The core answers as the HPA controller's own code does: its own test cases, and more than 20,000 random inputs.

README.md describes the vectors and how to record them again.
"""

from collections import Counter

import pytest

from testbed.oracle.scaler.cases import Vector
from testbed.oracle.scaler.record import RANDOM_VECTORS, UPSTREAM_VECTORS, inputs, read
from testbed.oracle.scaler.replay import difference


@pytest.fixture(scope="module")
def random_vectors() -> list[Vector]:
    return read(RANDOM_VECTORS)


@pytest.fixture(scope="module")
def upstream_vectors() -> list[Vector]:
    return read(UPSTREAM_VECTORS)


@pytest.mark.parametrize("vectors", ["random_vectors", "upstream_vectors"])
def test_the_core_answers_as_the_controller_did(vectors, request):
    found = [
        text for each in request.getfixturevalue(vectors) if (text := difference(each)) is not None
    ]
    assert found[:1] == [], f"{len(found)} differences"


def test_there_are_more_than_twenty_thousand_random_inputs(random_vectors):
    assert inputs(random_vectors) > 20_000


def test_upstreams_cases_are_of_every_mode(upstream_vectors):
    """A test that waits for a second reconcile may record one more or less, so these are minimums."""
    modes = Counter(vector.case.mode for vector in upstream_vectors)
    assert modes["reconcile"] >= 150
    assert modes["metrics"] >= 77
    assert modes["normalize"] >= 56


def test_every_reason_was_met(random_vectors):
    """Vectors that never reach a branch would prove nothing about it."""
    reasons = Counter(
        condition.reason
        for vector in random_vectors
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
