"""An HPA and a LoadAutoscaler beside it agree if both would set the same count."""

import pytest

from kubectl_loadline.migration import compare

ACTIVE = [{"type": "ScalingActive", "status": "True"}]
ZERO = [{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled", "message": ""}]
FAILED = [
    {"type": "ScalingActive", "status": "False", "reason": "FailedGetPodsMetric", "message": "no"}
]


def autoscaler(conditions, desired=None):
    status = {"conditions": conditions} | ({} if desired is None else {"desiredReplicas": desired})
    return {"metadata": {"namespace": "shop", "name": "web"}, "status": status}


@pytest.mark.parametrize(
    ("hpa", "own", "agrees", "reason"),
    [
        pytest.param(autoscaler(ACTIVE, 4), autoscaler(ACTIVE, 4), True, None, id="the same count"),
        pytest.param(autoscaler(ACTIVE, 4), autoscaler(ACTIVE, 5), False, None, id="another count"),
        pytest.param(autoscaler(ZERO), autoscaler(ACTIVE, 0), True, None, id="both at zero"),
        pytest.param(
            autoscaler(FAILED, 4), autoscaler(FAILED, 4), False, "FailedGetPodsMetric", id="no value"
        ),
        pytest.param(
            autoscaler(ACTIVE, 4), autoscaler([]), False, "the LoadAutoscaler: not reconciled yet", id="too early"
        ),
    ],
)  # fmt: skip
def test_they_agree_only_if_both_have_decided_on_the_same_count(hpa, own, agrees, reason):
    comparison = compare(hpa, own)
    assert comparison.name == "shop/web"
    assert comparison.agrees is agrees
    assert comparison.reason is None if reason is None else reason in comparison.reason


def test_a_failure_of_both_is_named_once_and_two_failures_apart():
    both = compare(autoscaler(FAILED), autoscaler(FAILED))
    assert both.reason == "both: FailedGetPodsMetric: no"
    other = [{**FAILED[0], "message": "none"}]
    assert compare(autoscaler(FAILED), autoscaler(other)).reason == (
        "the HPA: FailedGetPodsMetric: no; the LoadAutoscaler: FailedGetPodsMetric: none"
    )
    assert compare(autoscaler([]), autoscaler([])).reason == "both: not reconciled yet"
