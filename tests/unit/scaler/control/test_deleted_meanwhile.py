"""An autoscaler that is deleted during its reconcile scales nothing any more."""

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import upstream_of
from tests.unit.scaler.control.world import KEY, SCALE_PATH, World
from wire.api.status import not_found


async def deleted_after_the_scale_was_read(kind, minor=37):
    """A world in which the target would be scaled up."""
    world = World(kind=kind, upstream=upstream_of(minor))
    read = world.kube.get

    async def get(path, params=None, *, accept=""):
        body = await read(path, params, accept=accept)
        if path == SCALE_PATH:
            world.selectors.disappear(KEY)
            world.deleted()
            world.kube.put_answers = [] if minor < 37 else [not_found("it is gone")]
        return body

    world.kube.get = get
    await world.reconcile()
    return world


@pytest.mark.parametrize(
    ("kind", "name"),
    [(HORIZONTAL_POD_AUTOSCALERS, "HPA"), (LOAD_AUTOSCALERS, "LoadAutoscaler")],
)
async def test_nothing_is_scaled_and_the_event_says_why(kind, name):
    world = await deleted_after_the_scale_was_read(kind)
    assert [path for path, _ in world.kube.put] == [kind.object("shop", "web") + "/status"]
    message = f"{name} shop/web was deleted during reconciliation"
    assert [each[1] for each in world.reported()] == [
        "FailedUpdateStatus",
        "FailedComputeMetricsReplicas",
    ]
    assert world.reported()[-1][2] == message
    assert world.status()["currentMetrics"] == []
    assert set(world.conditions()) == {"AbleToScale"}


async def test_before_1_37_it_scales_once_more():
    world = await deleted_after_the_scale_was_read(HORIZONTAL_POD_AUTOSCALERS, 36)
    assert SCALE_PATH in [path for path, _ in world.kube.put]
