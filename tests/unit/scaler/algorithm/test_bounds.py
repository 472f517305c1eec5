"""The last step: which of rate, maximum and minimum changes the count, and its reason."""

import pytest

from scaler.algorithm.bounds import bound, bound_with_behavior
from scaler.algorithm.derivation import Rate


@pytest.mark.parametrize(
    ("desired", "current", "low", "high", "after", "reason"),
    [
        pytest.param(5, 4, 1, 10, 5, "DesiredWithinRange", id="inside"),
        pytest.param(9, 4, 1, 10, 8, "ScaleUpLimit", id="more than double"),
        pytest.param(9, 1, 1, 10, 4, "ScaleUpLimit", id="4 is always allowed"),
        pytest.param(12, 6, 1, 10, 10, "TooManyReplicas", id="the maximum"),
        pytest.param(12, 5, 1, 10, 10, "TooManyReplicas", id="the maximum is exactly the double"),
        pytest.param(0, 4, 1, 10, 1, "TooFewReplicas", id="the minimum"),
        pytest.param(0, 4, 0, 10, 0, "DesiredWithinRange", id="a minimum of zero"),
        pytest.param(
            3, 1, 6, 10, 6, "TooFewReplicas", id="the minimum takes precedence over the rate"
        ),
        pytest.param(1, 9, 1, 10, 1, "DesiredWithinRange", id="no limit downwards"),
    ],
)
def test_without_behavior(desired, current, low, high, after, reason):
    found = bound(desired, current=current, min_replicas=low, max_replicas=high)
    assert (found.after, found.reason) == (after, reason)


@pytest.mark.parametrize(
    ("desired", "current", "limit", "after", "reason"),
    [
        pytest.param(7, 4, 8, 7, "DesiredWithinRange", id="up, inside"),
        pytest.param(9, 4, 8, 8, "ScaleUpLimit", id="up, the rate"),
        pytest.param(12, 4, 11, 10, "TooManyReplicas", id="up, the maximum"),
        pytest.param(
            12, 4, 10, 10, "TooManyReplicas", id="up, rate and maximum alike: the maximum"
        ),
        pytest.param(3, 4, 3, 3, "DesiredWithinRange", id="down, inside"),
        pytest.param(2, 4, 3, 3, "ScaleDownLimit", id="down, the rate"),
        pytest.param(0, 4, 1, 2, "TooFewReplicas", id="down, the minimum"),
        pytest.param(0, 4, 2, 2, "TooFewReplicas", id="down, rate and minimum alike: the minimum"),
        pytest.param(4, 4, None, 4, "DesiredWithinRange", id="no change"),
    ],
)
def test_with_behavior(desired, current, limit, after, reason):
    rate = None if limit is None else Rate(direction="any", limit=limit)
    found = bound_with_behavior(
        desired, current=current, min_replicas=2, max_replicas=10, rate=rate
    )
    assert (found.after, found.reason) == (after, reason)
