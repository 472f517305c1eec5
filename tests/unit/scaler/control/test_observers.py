"""What the observers of decisions get, and when they get nothing."""

import pytest

from scaler.cluster.forecast.warm_starts import WarmStarts
from scaler.cluster.telemetry import Telemetry
from tests.unit.scaler.control.world import KEY, SCALE_PATH, SPEC, World, autoscaler

METRIC = {**SPEC["metrics"][0], "name": "load"}
FORECAST = {**SPEC, "metrics": [METRIC], "forecast": {"metric": "load", "mode": "Add"}}


async def no_query(namespace, metric):
    """The recorded load is not read here."""
    raise AssertionError


async def test_a_forecast_of_another_process_waits_until_the_scale_can_be_read():
    """What another process has learnt is decoded only then."""
    warm_starts = WarmStarts(no_query, None, Telemetry())
    world = World(object=autoscaler(spec=FORECAST), observers=(warm_starts,))
    for _ in range(10):
        await world.sync(30, elapsed=60)
    before = world.status()["history"]
    assert before["forecast"]
    world.restart()
    scale = world.kube.answers.pop(SCALE_PATH)
    await world.sync(30)
    assert world.conditions()["AbleToScale"] == ("False", "FailedGetScale")
    assert world.status()["history"] == before
    world.kube.answers[SCALE_PATH] = scale
    await world.sync(30)
    assert world.conditions()["AbleToScale"][0] == "True"
    assert world.status()["history"]["forecast"]


class Known:
    """The keys that an observer knows."""

    def __init__(self):
        self.keys = set()

    def decided(self, autoscaler, policy, memory):
        self.keys.add(autoscaler.key)

    def forget(self, key):
        self.keys.discard(key)


@pytest.mark.parametrize("is_left", [False, True])
async def test_a_reconcile_in_progress_leaves_nothing_behind_with_the_observers(is_left):
    """It goes on after this process has stopped to reconcile the autoscaler."""
    known = Known()
    world = World(observers=(known,))

    def version():
        if is_left:
            world.reconciler.leave()
        return "5"

    world.kube.versions[f"{world.kind.object('shop', 'web')}/status"] = version
    await world.reconcile()
    assert known.keys == (set() if is_left else {KEY})
