"""What the observers of decisions get, and when they get nothing."""

import pytest

from scaler.cluster.forecast.warm_starts import WarmStarts
from scaler.cluster.metrics.measurements import TimedReading
from scaler.cluster.telemetry import Telemetry
from tests.fakes.scaler import FakeReads
from tests.unit.scaler.control.world import KEY, POD, SCALE_PATH, SPEC, World, autoscaler
from wire.api.labels import parse

METRIC = {**SPEC["metrics"][0], "name": "load"}
FORECAST = {**SPEC, "metrics": [METRIC], "forecast": {"metric": "load", "mode": "Add"}}


async def no_query(namespace, metric):
    """The recorded load is not read here."""
    raise AssertionError


async def test_a_forecast_of_another_process_waits_until_the_scale_can_be_read():
    """What another process has learned is decoded only then."""
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


@pytest.mark.parametrize("how", ["given up", "deleted", "led by another process"])
@pytest.mark.parametrize("in_progress", [False, True])
async def test_an_autoscaler_that_this_process_stops_to_reconcile_is_in_no_index(how, in_progress):
    """Its selector may change without this process: another autoscaler on the pods would be refused by the old one."""
    world = World()
    found = world.autoscalers.by_key[KEY]
    reconciler, followers = world.reconciler, world.reconciler._with.followers

    def stop():
        match how:
            case "given up":
                reconciler.forget()
            case "deleted":
                reconciler.deleted(found)
            case _:
                reconciler.leave()

    async def read():
        if in_progress:
            stop()
        return tuple(TimedReading(each, 0.0) for each in world.measurements.readings)

    world.measurements.requests = ("a request",)
    reads = FakeReads(world.measurements, ())
    reads.read = read
    world.measurements.reads = lambda *_, **__: reads
    await world.reconcile()
    if not in_progress:
        assert followers.of("a request")
        assert world.selectors.controllers_of("shop", parse("app=web"), (POD,)) == (KEY,)
        stop()
    assert not followers.of("a request")
    assert world.selectors.controllers_of("shop", parse("app=web"), (POD,)) == ()
