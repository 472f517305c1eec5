"""The gate that looks pass one by one, and the target that notes every write."""

import asyncio

import pytest

from testbed.differential.scaler.scenarios.building import situation, spec, then
from testbed.differential.scaler.situation import Refusal, Scale
from testbed.differential.scaler.worlds import Gate, Target, World

CONFLICT = Refusal(code=409, reason="Conflict", message="changed")


async def test_a_look_waits_until_it_is_let_through():
    gate = Gate()
    look = asyncio.create_task(gate.passed())
    arrival = await gate.arrived()
    assert not look.done()
    arrival.released.set()
    await look


async def test_an_open_gate_lets_those_through_who_wait_and_those_who_come():
    gate = Gate()
    look = asyncio.create_task(gate.passed())
    await gate.arrived()
    gate.open()
    await look
    await gate.passed()


async def test_the_read_after_a_refused_write_belongs_to_the_same_look():
    gate = Gate()
    gate.expect_reread()
    await gate.passed()
    following = asyncio.create_task(gate.passed())
    (await gate.arrived()).released.set()
    await following


def test_a_write_with_an_old_version_is_a_conflict():
    target = Target(Scale(replicas=3))
    assert target.write(5, "1") is None
    refusal = target.write(7, "1")
    assert refusal is not None
    assert refusal.reason == "Conflict"
    assert (target.replicas, target.writes) == (5, [5, 7])


def test_scripted_refusals_are_used_up_one_by_one():
    target = Target(Scale(replicas=3, put=(CONFLICT,)))
    assert target.write(5, "1") is CONFLICT
    assert target.write(5, "1") is None


@pytest.mark.parametrize(
    ("after", "replicas"),
    [
        pytest.param({}, 8, id="what the autoscaler wrote stays"),
        pytest.param({"replicas": 2}, 2, id="unless the step says otherwise"),
        pytest.param({"selector": "app=other"}, 8, id="also when something else changes"),
    ],
)
def test_a_step_changes_what_it_names_and_nothing_else(after, replicas):
    first = situation(spec(), replicas=3)
    world = World(first)
    target = world.targets["web"]
    target.write(8, "1")
    world.become(then(first, **after))
    assert target.replicas == replicas
    assert target.scripted.selector == after.get("selector", "app=web")


def test_the_status_follows_the_spec_unless_it_is_scripted():
    assert Target(Scale(replicas=3)).status_replicas == 3
    assert Target(Scale(replicas=3, status=1)).status_replicas == 1
