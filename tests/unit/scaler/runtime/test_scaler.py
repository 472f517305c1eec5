"""What the running scaler derives from its options."""

import pytest

from scaler.cluster.events.event_queue import EventQueueLimits
from scaler.cluster.lease import LeaseTimes
from scaler.runtime.clients import Clients, own_namespace
from scaler.runtime.run import parse
from scaler.runtime.scaler import Scaler, drain_seconds
from wire.api.meta import ObjectReference
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection


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


class Nowhere:
    """A cluster that does not respond."""

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(server="http://127.0.0.1:1")


@pytest.fixture
async def started():
    """`started(*arguments)`: the parts of a scaler that runs nothing yet."""
    made: list[Clients] = []

    async def start(*arguments: str) -> Scaler:
        connection = Connection(Nowhere(), await Nowhere().read(), user_agent="test")
        made.append(Clients.over(connection))
        return Scaler(parse(arguments), made[-1], version="1")

    yield start
    for clients in made:
        await clients.close()


@pytest.mark.parametrize(
    ("arguments", "are_exported"),
    [([], True), (["--autoscaler-metrics=false"], False)],
    ids=["default", "off"],
)
async def test_metrics_of_each_autoscaler_are_exported_unless_they_are_off(
    started, arguments, are_exported
):
    scaler = await started(*arguments)
    names = [each.name for each in scaler._autoscaler_metrics()()]
    assert ("loadline_scaler_autoscaler_spec_max_replicas" in names) is are_exported


async def test_events_that_find_no_space_are_counted(started):
    """Nothing writes them here."""
    scaler = await started()
    space = EventQueueLimits().warning
    for number in range(space + 3):
        about = ObjectReference(
            kind="LoadAutoscaler", namespace="shop", name=f"web-{number}", uid=f"{number}"
        )
        scaler._recorder.event(about, "Warning", "FailedGetExternalMetric", "text")
    dropped = scaler._telemetry.registry.get_sample_value(
        "loadline_scaler_events_dropped_total", {"type": "Warning", "reason": "queue_full"}
    )
    assert dropped == 3


async def test_memories_of_a_namespace_that_cannot_be_listed_are_not_taken_for_those_of_deleted_hpas(
    started,
):
    scaler = await started("--watch=horizontalpodautoscalers", "--namespace=shop,bank")
    assert scaler._store is not None
    for each in scaler._watches.caches:
        if "/shop/" in each.path:
            each._synced.set()
    assert scaler._store._watches("shop")
    assert not scaler._store._watches("bank")
    assert not scaler._store._watches("other")
