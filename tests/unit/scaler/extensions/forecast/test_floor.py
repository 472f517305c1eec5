"""The replicas that a forecast adds."""

import pytest

from scaler.extensions.forecast.floor import Floor, lifted

INT32_MAX = 2**31 - 1


def test_a_floor_never_has_more_replicas_than_a_status_can_hold():
    """`status.forecast.replicas` is an int32, and kube-apiserver would refuse every status with a larger one."""
    assert lifted(INT32_MAX - 1, Floor(needed=1e12), 1) == INT32_MAX


@pytest.mark.parametrize(
    ("replicas", "min_replicas", "expected"),
    [
        pytest.param(0, 1, 7, id="no load now, but soon"),
        pytest.param(2, 5, 7, id="the metrics want fewer than the minimum"),
        pytest.param(2, 0, 7, id="a target that may be at zero, and is not"),
        pytest.param(0, 0, 0, id="and one that is"),
    ],
)
def test_what_is_added_counts_from_the_minimum(replicas, min_replicas, expected):
    """`present` is what there is without the forecast: at least the minimum."""
    floor = Floor(needed=7.0, present=float(max(replicas, min_replicas)))
    assert lifted(replicas, floor, min_replicas) == expected
