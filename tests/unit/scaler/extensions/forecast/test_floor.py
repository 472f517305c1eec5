"""The replicas that a forecast adds."""

from scaler.extensions.forecast.floor import Floor, lifted

INT32_MAX = 2**31 - 1


def test_a_floor_never_has_more_replicas_than_a_status_can_hold():
    """`status.forecast.replicas` is an int32, and kube-apiserver would refuse every status with a larger one."""
    assert lifted(INT32_MAX - 1, Floor(needed=1e12)) == INT32_MAX
