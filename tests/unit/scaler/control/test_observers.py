"""What the observers of decisions get when a reconcile could not read the Scale."""

from scaler.cluster.forecast.warm_starts import WarmStarts
from scaler.cluster.telemetry import Telemetry
from tests.unit.scaler.control.world import SCALE_PATH, SPEC, World, autoscaler

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
