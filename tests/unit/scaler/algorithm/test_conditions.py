"""The conditions: their order, and when their time changes."""

import msgspec
import pytest

from scaler.algorithm.conditions import Conditions
from scaler.api.autoscaler import Condition
from tests.unit.scaler.objects import NOW
from wire.api.meta import time_from_unix

BEFORE = time_from_unix(NOW - 1_000)


def condition(type_, status="True", reason="Old"):
    return Condition(type=type_, status=status, last_transition_time=BEFORE, reason=reason)


def test_a_new_condition_is_appended():
    conditions = Conditions((condition("AbleToScale"), condition("ScaledToZero")), NOW)
    conditions.scaling_active("cpu resource")
    assert [each.type for each in conditions.as_tuple()] == [
        "AbleToScale",
        "ScaledToZero",
        "ScalingActive",
    ]


def test_an_existing_condition_is_changed_in_place():
    conditions = Conditions((condition("AbleToScale"), condition("ScalingActive")), NOW)
    conditions.able_to_scale("ReadyForNewScale")
    assert [(each.type, each.reason) for each in conditions.as_tuple()] == [
        ("AbleToScale", "ReadyForNewScale"),
        ("ScalingActive", "Old"),
    ]


def test_the_generation_of_a_condition_is_kept():
    """Of another client; the controller sets none (1.37)."""
    given = msgspec.structs.replace(condition("AbleToScale"), observed_generation=7)
    conditions = Conditions((given,), NOW)
    conditions.able_to_scale("ReadyForNewScale")
    assert [each.observed_generation for each in conditions.as_tuple()] == [7]


def test_the_time_changes_only_with_the_status():
    conditions = Conditions((condition("AbleToScale"), condition("ScalingActive")), NOW)
    conditions.able_to_scale("SucceededGetScale")
    conditions.scaling_inactive("ScalingDisabled")
    able, active = conditions.as_tuple()
    assert able.last_transition_time == BEFORE
    assert active.last_transition_time == time_from_unix(NOW)


@pytest.mark.deviation("same-second-status")
def test_a_time_has_whole_seconds():
    conditions = Conditions((), NOW + 0.9)
    conditions.able_to_scale("SucceededGetScale")
    assert conditions.as_tuple()[0].last_transition_time == time_from_unix(NOW)


def test_scaled_to_zero_can_be_removed():
    conditions = Conditions((condition("AbleToScale"), condition("ScaledToZero")), NOW)
    conditions.remove_scaled_to_zero()
    assert [each.type for each in conditions.as_tuple()] == ["AbleToScale"]
