"""The gate releases reconciles one by one, and the target records every write."""

import asyncio

import pytest

from testbed.differential.scaler.namespace_script import Gate, NamespaceScript, Target
from testbed.differential.scaler.scenario_model import ErrorResponse, Scale
from testbed.differential.scaler.scenarios.parts import spec, state, then

CONFLICT = ErrorResponse(code=409, reason="Conflict", message="changed")


async def test_a_reconcile_waits_until_it_is_released():
    gate = Gate()
    reconcile = asyncio.create_task(gate.passed())
    arrival = await gate.arrived()
    assert not reconcile.done()
    arrival.released.set()
    await reconcile


async def test_an_open_gate_releases_waiting_and_later_reconciles():
    gate = Gate()
    reconcile = asyncio.create_task(gate.passed())
    await gate.arrived()
    gate.open()
    await reconcile
    await gate.passed()


async def test_the_read_after_a_failed_write_belongs_to_the_same_reconcile():
    gate = Gate()
    gate.expect_reread()
    await gate.passed()
    following = asyncio.create_task(gate.passed())
    (await gate.arrived()).released.set()
    await following


def test_a_write_with_a_stale_resource_version_is_a_conflict():
    target = Target(Scale(replicas=3))
    assert target.write(5, "1") is None
    error = target.write(7, "1")
    assert error is not None
    assert error.reason == "Conflict"
    assert (target.replicas, target.writes) == (5, [5, 7])


def test_scripted_errors_are_returned_once_each():
    target = Target(Scale(replicas=3, put=(CONFLICT,)))
    assert target.write(5, "1") is CONFLICT
    assert target.write(5, "1") is None


@pytest.mark.parametrize(
    ("after", "replicas"),
    [
        pytest.param({}, 8, id="the autoscaler's write stays"),
        pytest.param({"replicas": 2}, 2, id="the step sets replicas"),
        pytest.param({"selector": "app=other"}, 8, id="the step changes another field"),
    ],
)
def test_a_step_changes_only_the_fields_that_it_sets(after, replicas):
    first = state(spec(), replicas=3)
    script = NamespaceScript(first)
    target = script.targets["web"]
    target.write(8, "1")
    script.apply(then(first, **after))
    assert target.replicas == replicas
    assert target.scale.selector == after.get("selector", "app=web")


def test_the_status_follows_the_spec_unless_it_is_scripted():
    assert Target(Scale(replicas=3)).status_replicas == 3
    assert Target(Scale(replicas=3, status=1)).status_replicas == 1
