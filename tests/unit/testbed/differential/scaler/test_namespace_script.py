"""The gate releases reconciles one by one, and the target records every write."""

import asyncio

import pytest

from testbed.differential.scaler.namespace_script import Gate, NamespaceScript, Target
from testbed.differential.scaler.scenario_model import ErrorResponse, Scale
from testbed.differential.scaler.scenarios.parts import spec, state, then

CONFLICT = ErrorResponse(code=409, reason="Conflict", message="changed")


def target_of(scale: Scale, *, is_reread_after_each_error: bool = False) -> Target:
    return Target(scale, is_reread_after_each_error=is_reread_after_each_error)


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


@pytest.mark.parametrize(
    ("error", "is_reread_after_each_error"),
    [
        pytest.param(CONFLICT, False, id="a conflict"),
        pytest.param(CONFLICT, True, id="a conflict of a program that always reads it again"),
        pytest.param(ErrorResponse(), True, id="an error of a program that always reads it again"),
    ],
)
async def test_the_read_after_a_failed_write_belongs_to_the_same_reconcile(
    error, is_reread_after_each_error
):
    scale = Scale(replicas=3, put=(error,))
    target = target_of(scale, is_reread_after_each_error=is_reread_after_each_error)
    assert target.write(5, "1") is error
    await target.gate.passed()
    following = asyncio.create_task(target.gate.passed())
    (await target.gate.arrived()).released.set()
    await following


async def test_the_next_reconcile_waits_if_the_error_of_its_predecessor_was_not_a_conflict():
    target = target_of(Scale(replicas=3, put=(ErrorResponse(),)))
    target.write(5, "1")
    reconcile = asyncio.create_task(target.gate.passed())
    arrival = await target.gate.arrived()
    assert not reconcile.done()
    arrival.released.set()
    await reconcile


def test_a_write_with_a_stale_resource_version_is_a_conflict():
    target = target_of(Scale(replicas=3))
    assert target.write(5, "1") is None
    error = target.write(7, "1")
    assert error is not None
    assert error.reason == "Conflict"
    assert (target.replicas, target.writes) == (5, [5, 7])


def test_scripted_errors_are_returned_once_each():
    target = target_of(Scale(replicas=3, put=(CONFLICT,)))
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
    script = NamespaceScript(first, is_reread_after_each_error=True)
    target = script.targets["web"]
    target.write(8, "1")
    script.apply(then(first, **after))
    assert target.replicas == replicas
    assert target.scale.selector == after.get("selector", "app=web")


def test_the_status_follows_the_spec_unless_it_is_scripted():
    assert target_of(Scale(replicas=3)).status_replicas == 3
    assert target_of(Scale(replicas=3, status=1)).status_replicas == 1
