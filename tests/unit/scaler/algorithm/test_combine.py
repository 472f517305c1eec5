"""Which metric wins, and what a failed one prevents."""

import pytest

from scaler.algorithm.combine import combine
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import ExternalValues, MetricFailed
from tests.unit.scaler.objects import average, external, spec, workload

GONE = MetricFailed("no metrics returned from external metrics API")


def combined(*wanted, replicas=4):
    """External metrics with a target of 1 each; None is one that failed."""
    metrics = [external(average("1"), name=f"m{index}") for index in range(len(wanted))]
    readings = [GONE if each is None else ExternalValues((each * 1000,)) for each in wanted]
    target = workload(spec(*metrics), replicas=replicas)
    pairs = zip(metrics, readings, strict=True)
    return combine(tuple(propose(*each, target) for each in pairs), replicas)


@pytest.mark.parametrize(
    ("wanted", "replicas", "winner"),
    [
        pytest.param((3, 9, 6), 9, 1, id="the largest"),
        pytest.param((9, 9), 9, 0, id="the first of equals"),
        pytest.param((0, 0), 0, 1, id="while the best is 0, a later one replaces it"),
        pytest.param((9, None), 9, 0, id="one failed, the other scales up"),
        pytest.param((None, 4), 4, 1, id="one failed, the other stays"),
    ],
)
def test_the_largest_proposal_wins(wanted, replicas, winner):
    found = combined(*wanted)
    assert (found.replicas, found.winner) == (replicas, winner)


@pytest.mark.parametrize(
    "wanted",
    [(3, None), (None, 3), (None,), (None, None)],
    ids=["would scale down", "likewise", "all", "both"],
)
def test_a_failed_metric_prevents_scaling_down(wanted):
    found = combined(*wanted)
    assert found.replicas is None
    assert found.blocking is not None


def test_the_first_failure_is_the_one_that_is_reported():
    found = combined(None, 9, None)
    assert found.error == (
        "invalid metrics (2 invalid out of 3), first error is: failed to get m0 external metric value: "
        "failed to get m0 external metric: unable to get external metric shop/m0/nil: "
        "no metrics returned from external metrics API"
    )


def test_a_failed_metric_keeps_its_place_among_the_statuses():
    assert [each.status.type for each in combined(None, 9).proposals] == ["", "External"]
