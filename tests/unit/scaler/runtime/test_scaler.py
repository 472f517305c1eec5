"""What the running scaler derives from its options."""

import pytest

from scaler.cluster.lease import LeaseTimes
from scaler.runtime.clients import own_namespace
from scaler.runtime.scaler import drain_seconds


@pytest.mark.parametrize(
    ("lease_seconds", "renew_deadline_seconds", "expected"),
    [
        pytest.param(15, 10, 3.0, id="the defaults"),
        pytest.param(60, 30, 18.0, id="long leases"),
        pytest.param(4, 3, 0.6, id="short leases"),
    ],
)
def test_reconciles_have_ended_before_another_replica_can_take_over(
    lease_seconds, renew_deadline_seconds, expected
):
    times = LeaseTimes(
        lease_seconds=lease_seconds, renew_deadline_seconds=renew_deadline_seconds, retry_seconds=1
    )
    assert drain_seconds(times) == pytest.approx(expected)
    assert renew_deadline_seconds + drain_seconds(times) < lease_seconds


def test_the_namespace_is_that_of_the_pod_or_kube_system(tmp_path):
    assert own_namespace(tmp_path) == "kube-system"
    (tmp_path / "namespace").write_text("monitoring\n")
    assert own_namespace(tmp_path) == "monitoring"
