"""Which autoscalers are reconciled early because a metric has changed."""

import asyncio
import math

import pytest

from scaler.cluster.telemetry import Telemetry
from scaler.cluster.work import STEP_SECONDS_MAX, counted
from scaler.control.reaction import BUSY_RATIO, Reaction
from tests.fakes import virtual_time
from wire.process.crashes import Crashes


class World:
    """Autoscalers by path, and whether each of them would scale. A decision takes `decision_seconds`, a response to decode
    `decoding_seconds`.

    `limited`: until when the limit of a period holds an autoscaler back.
    """

    def __init__(self, followers, rescaling=(), decision_seconds=0.0, decoding_seconds=0.0):
        self.followers, self.rescaling = followers, set(rescaling)
        self.limited = {}
        self.decision_seconds, self.decoding_seconds = decision_seconds, decoding_seconds
        self.telemetry = Telemetry()
        self.decided, self.forward, self.seconds = [], [], 0.0
        self.reaction = Reaction(
            self.followers_of,
            self.rescale_due,
            self.bring_forward,
            Crashes(self.telemetry.crashes_total.inc),
            monotonic=lambda: self.seconds,
            sleep=self.sleep,
        )
        self.slept_seconds = 0.0

    def crashes(self):
        return self.telemetry.registry.get_sample_value("loadline_scaler_crashes_total")

    async def followers_of(self, path):
        await asyncio.create_task(counted(self.decode()))
        return self.followers.get(path, ())

    async def decode(self):
        await asyncio.sleep(0)
        self.seconds += self.decoding_seconds

    def rescale_due(self, key):
        self.seconds += self.decision_seconds
        self.decided.append(key)
        return -math.inf if key in self.rescaling else self.limited.get(key, math.inf)

    def bring_forward(self, key, to_seconds):
        assert to_seconds == self.limited.get(key, -math.inf)
        self.forward.append(key)

    async def sleep(self, seconds):
        self.slept_seconds += seconds
        self.seconds += seconds
        await asyncio.sleep(0)

    def react(self, *paths):
        async def scenario():
            running = asyncio.create_task(self.reaction.run())
            for path in paths:
                self.reaction.changed(path)
            await virtual_time.passes(1.0)
            running.cancel()

        virtual_time.run(scenario())


def test_only_autoscalers_that_would_scale_are_brought_forward():
    world = World({"/a": ("ns/1", "ns/2"), "/b": ("ns/3",)}, rescaling=["ns/2", "ns/3"])
    world.react("/a")
    assert world.decided == ["ns/1", "ns/2"]
    assert world.forward == ["ns/2"]


def test_an_autoscaler_that_a_limit_holds_back_is_brought_forward_to_its_end():
    world = World({"/a": ("ns/1", "ns/2")})
    world.limited = {"ns/1": 15.0}
    world.react("/a")
    assert world.forward == ["ns/1"]


def test_a_path_that_changes_several_times_meanwhile_is_decided_once():
    world = World({"/a": ("ns/1",)}, rescaling=["ns/1"])
    world.react("/a", "/a", "/a", "/unknown")
    assert world.forward == ["ns/1"]


@pytest.mark.parametrize("count", [1000])
def test_many_decisions_leave_time_for_everything_else(count):
    keys = tuple(f"ns/{number}" for number in range(count))
    world = World({"/a": keys}, decision_seconds=0.001)
    world.react("/a")
    assert len(world.decided) == count
    busy_seconds = count * 0.001
    assert busy_seconds / world.seconds == pytest.approx(BUSY_RATIO, rel=0.02)


def test_decisions_on_many_metrics_leave_as_much_time_as_those_on_one():
    paths = {f"/{number}": (f"ns/{number}",) for number in range(1000)}
    world = World(paths, decision_seconds=0.004)
    world.react(*paths)
    assert len(world.decided) == 1000
    assert 1000 * 0.004 / world.seconds == pytest.approx(BUSY_RATIO, rel=0.02)


@pytest.mark.parametrize("is_followed", [True, False])
def test_the_decoding_of_responses_leaves_as_much_time_as_decisions(is_followed):
    paths = {f"/{number}": (f"ns/{number}",) if is_followed else () for number in range(1000)}
    world = World(paths, decoding_seconds=0.004)
    world.react(*paths)
    assert 1000 * 0.004 / world.seconds == pytest.approx(BUSY_RATIO, rel=0.02)


def test_it_does_not_pause_for_as_long_as_the_process_was_suspended():
    world = World({"/a": ("ns/1",)}, decision_seconds=600.0)
    world.react("/a")
    assert world.slept_seconds <= STEP_SECONDS_MAX / BUSY_RATIO


class CrashingWorld(World):
    """One autoscaler cannot be decided, and the followers of one path cannot be found."""

    def rescale_due(self, key):
        if key == "ns/broken":
            raise ZeroDivisionError
        return super().rescale_due(key)

    async def followers_of(self, path):
        if path == "/broken":
            raise KeyError(path)
        return await super().followers_of(path)


def test_an_autoscaler_whose_decision_crashes_holds_back_no_other_one(caplog):
    """Nor does a response that cannot be decoded; each of both is logged once."""
    world = CrashingWorld({"/a": ("ns/broken", "ns/1"), "/b": ("ns/2",)}, ["ns/1", "ns/2"])
    for path in ("/a", "/broken", "/b", "/a", "/broken"):
        world.react(path)
    assert set(world.forward) == {"ns/1", "ns/2"}
    assert world.crashes() == 4
    assert [each.getMessage() for each in caplog.records] == [
        "the decision on a changed metric of ns/broken crashed",
        "the decoding of changed metrics crashed",
    ]
