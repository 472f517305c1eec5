"""A reconcile waits until the watch has delivered the status that the last one wrote."""

import msgspec
import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import upstream_of
from scaler.control.record import Record
from tests.unit.scaler.control.world import World

SKIPS = "loadline_scaler_stale_sync_skips_total"
WRITTEN = b'{"metadata": {"resourceVersion": "10"}}'


@pytest.mark.parametrize(
    ("written", "known", "misses"),
    [
        pytest.param("5", "1", True, id="before"),
        pytest.param("5", "5", False, id="the write itself"),
        pytest.param("10", "9", True, id="as numbers, not as texts"),
        pytest.param("5", "x", False, id="a version that is not a number"),
        pytest.param("5", "", False, id="nothing was listed"),
        pytest.param("", "1", False, id="nothing was written"),
    ],
)
def test_a_write_is_missed_while_the_watch_is_before_it(written, known, misses):
    record = Record(uid="u1", written_version=written)
    assert record.waits_for_own_write(known, None) is misses
    # What was delivered once is not waited for again.
    assert (record.written_version == written) is (misses or not written)


def skips(world):
    labels = {"group": world.kind.group, "resource": world.kind.plural}
    return world.telemetry.registry.get_sample_value(SKIPS, labels) or 0.0


async def written(kind, minor=37):
    """A world in which a reconcile has just written the status as version 10, which the watch has not delivered."""
    world = World(kind=kind, upstream=upstream_of(minor))
    world.kube.put_answers = [b"{}", WRITTEN]
    world.autoscalers.watched_version = "9"
    await world.reconcile()
    assert world.kube.put[-1][0].endswith("/status")
    world.passes(15)
    return world


@pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
async def test_nothing_is_sent_until_the_watch_has_delivered_the_status(kind):
    world = await written(kind)
    before = len(world.kube.requested), len(world.kube.put), len(world.events.emitted)
    for _ in range(3):
        assert await world.reconcile()
    assert (len(world.kube.requested), len(world.kube.put), len(world.events.emitted)) == before
    assert skips(world) == 3
    # With a longer period of its own, it does not wait for the end of that.
    assert world.reconciler.has_failed("shop/web")
    world.autoscalers.watched_version = "10"
    await world.reconcile()
    assert len(world.kube.requested) > before[0]
    assert skips(world) == 3


@pytest.mark.deviation("own-status-hangs")
@pytest.mark.parametrize(
    ("kind", "scales_on"), [(HORIZONTAL_POD_AUTOSCALERS, False), (LOAD_AUTOSCALERS, True)]
)
async def test_while_the_watch_hangs_a_load_autoscaler_scales_up_after_a_minute_and_an_hpa_does_not(
    kind, scales_on
):
    world = await written(kind)
    for _ in range(4):
        await world.sync(80)
    assert world.replicas == 1
    await world.sync(80)
    assert (world.replicas > 1) is scales_on
    assert skips(world) == (4 if scales_on else 5)


@pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
async def test_a_list_that_began_after_the_write_ends_the_wait(kind):
    """The status was lost with a restore of etcd: the versions may be earlier than its own for hours."""
    world = await written(kind)
    world.autoscalers.listed_seconds = world.monotonic_seconds - 16
    await world.sync(80)
    assert world.replicas == 1, "the list may be of before the write"
    world.autoscalers.listed_seconds = world.monotonic_seconds - 1
    await world.sync(80)
    assert world.replicas > 1


async def test_before_1_37_the_next_reconcile_does_not_wait():
    world = await written(HORIZONTAL_POD_AUTOSCALERS, 36)
    before = len(world.kube.requested)
    await world.reconcile()
    assert len(world.kube.requested) > before
    assert skips(world) == 0


async def test_an_autoscaler_that_was_created_again_does_not_wait_for_the_status_of_the_former_one():
    world = await written(HORIZONTAL_POD_AUTOSCALERS)
    found = world.autoscalers.by_key["shop/web"]
    metadata = msgspec.structs.replace(found.metadata, uid="u10")
    world.deleted()
    world.created(msgspec.structs.replace(found, metadata=metadata))
    before = len(world.kube.requested)
    await world.reconcile()
    assert len(world.kube.requested) > before
