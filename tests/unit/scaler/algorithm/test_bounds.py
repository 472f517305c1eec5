"""The last step: which of rate, maximum and minimum changes the count, and its reason."""

import pytest

from scaler.algorithm.bounds import bound, bound_with_behavior, is_limited_for_now
from scaler.algorithm.derivation import Derivation, Rate
from scaler.algorithm.go_numbers import INT32_MAX, INT32_MIN


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
        pytest.param(
            2**30,
            2**30,
            1,
            INT32_MAX,
            INT32_MIN,
            "ScaleUpLimit",
            id="the double does not fit: a count that the API server refuses, and not zero",
        ),
    ],
)
def test_without_behavior(desired, current, low, high, after, reason):
    found = bound(desired, current=current, min_replicas=low, max_replicas=high)
    assert (found.after, found.reason) == (after, reason)


@pytest.mark.parametrize(
    ("current", "period_replicas", "after"),
    [
        pytest.param(6, None, 12, id="the first reconcile of a period"),
        pytest.param(6, 6, 12, id="nothing was added in it"),
        pytest.param(6, 4, 8, id="some were added"),
        pytest.param(6, 3, 6, id="as many as possible were added"),
        pytest.param(6, 1, 6, id="a user has added more"),
        pytest.param(3, 6, 6, id="some were removed"),
        pytest.param(0, 0, 4, id="at zero"),
        pytest.param(2, 0, 4, id="it has left zero"),
    ],
)
def test_without_behavior_all_reconciles_of_a_period_have_one_limit(
    current, period_replicas, after
):
    found = bound(
        100, current=current, min_replicas=0, max_replicas=1000, period_replicas=period_replicas
    )
    assert (found.after, found.reason) == (after, "ScaleUpLimit")


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


def limited(desired, *, current=3, base=None, result, max_replicas=500, **changes):
    """A decision with this limit, whose result is `result`."""
    found = bound(
        desired, current=current, min_replicas=1, max_replicas=max_replicas, period_replicas=base
    )
    return Derivation(
        autoscaler="shop/web",
        made_at_unix_seconds=0.0,
        branch="metrics",
        current_replicas=current,
        bound=found,
        desired_replicas=result,
        **changes,
    )


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        pytest.param(limited(100, result=6), True, id="twice the count"),
        pytest.param(limited(100, current=6, base=3, result=6), True, id="it was doubled before"),
        pytest.param(limited(6, result=6), False, id="no more is needed"),
        pytest.param(limited(100, result=5, max_replicas=5), False, id="the maximum"),
        pytest.param(limited(100, result=3), False, id="something else holds it"),
        pytest.param(limited(100, current=0, result=None), False, id="no result"),
        pytest.param(limited(100, result=6, is_dry_run=True), False, id="a dry run"),
    ],
)
def test_a_period_limits_only_what_the_next_one_may_add(decision, expected):
    assert is_limited_for_now(decision) is expected
