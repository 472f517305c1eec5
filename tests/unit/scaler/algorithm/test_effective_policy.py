"""The effective settings: the spec's own, else the flags, else what the API server would have filled in."""

import msgspec
import pytest

from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Behavior, FormulaMetricSource, MetricSpec, ScalingRules
from scaler.api.extension_spec import PodReadiness
from tests.unit.scaler.objects import (
    at_most,
    average,
    external,
    of_object,
    of_pods,
    replaced,
    resource,
    rules,
    spec,
    utilization,
)

DOUBLE = at_most("Percent", 100, 15)
FLAGS = Settings(downscale_stabilization_seconds=90.5)
UP_ONLY = Behavior(scale_up=rules(tolerance="570m"), scale_down=rules())


def behavior_of(behavior):
    found = policy_of(spec(behavior=behavior), FLAGS).behavior
    assert found is not None
    return found.scale_up, found.scale_down


def test_an_empty_behavior_scales_up_fast_and_down_slowly():
    up, down = behavior_of(Behavior())
    assert (up.window_seconds, up.select_policy) == (0, "Max")
    assert up.policies == (at_most("Pods", 4, 15), DOUBLE)
    assert (down.window_seconds, down.select_policy) == (90, "Max")
    assert down.policies == (DOUBLE,)


def test_rules_that_are_given_are_kept():
    given = rules(at_most("Pods", 1, 1800), window_seconds=7, select="Min")
    for found in behavior_of(Behavior(scale_up=given, scale_down=given)):
        assert (found.window_seconds, found.select_policy) == (7, "Min")
        assert found.longest_period_seconds == 1800


@pytest.mark.deviation("behavior-defaults")
def test_a_given_field_does_not_hide_the_defaults_of_the_others():
    _, down = behavior_of(Behavior(scale_down=ScalingRules(select_policy="Min")))
    assert (down.window_seconds, down.policies) == (90, (DOUBLE,))


def test_without_behavior_there_are_no_rules_and_the_flag_is_the_window():
    found = policy_of(spec(), FLAGS)
    assert (found.behavior, found.downscale_stabilization_seconds) == (None, 90.5)


@pytest.mark.parametrize(
    ("behavior", "settings", "down", "up"),
    [
        pytest.param(None, Settings(tolerance=0.2), 0.2, 0.2, id="the flag"),
        pytest.param(UP_ONLY, Settings(), 0.1, 0.5700000000000001, id="one direction, as Go computes 570m"),
        pytest.param(UP_ONLY, Settings(configurable_tolerance=False), 0.1, 0.1, id="gate off"),
        pytest.param(Behavior(scale_down=rules(tolerance="0")), Settings(), 0.0, 0.1, id="zero is a tolerance"),
        pytest.param(Behavior(), Settings(), 0.1, 0.1, id="behavior without rules"),
    ],
)  # fmt: skip
def test_a_direction_may_have_its_own_tolerance(behavior, settings, down, up):
    found = policy_of(spec(behavior=behavior), settings).tolerances
    assert (found.scale_down, found.scale_up) == (down, up)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param(external(average("1")), True, id="External"),
        pytest.param(of_object(average("1")), True, id="Object"),
        pytest.param(of_pods(average("1")), False, id="Pods"),
        pytest.param(resource(utilization(50)), False, id="Resource"),
    ],
)
def test_only_metrics_of_something_else_than_pods_have_a_value_at_zero(metric, expected):
    assert policy_of(spec(metric), FLAGS).has_metric_at_zero is expected


FORMULA = MetricSpec(
    type="Formula", name="load", formula=FormulaMetricSource(expression="x", target=average("1"))
)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        pytest.param((external(average("1")), FORMULA), True, id="of an External metric"),
        pytest.param((of_object(average("1")), FORMULA), True, id="of an Object metric"),
        pytest.param((of_pods(average("1")), FORMULA), False, id="of a Pods metric"),
        pytest.param((external(average("1")),), False, id="an input without a formula"),
    ],
)
def test_a_formula_has_a_value_at_zero_if_one_of_its_metrics_may_have_one(metrics, expected):
    inputs = [
        each if each.formula else msgspec.structs.replace(each, name="x", use="Input")
        for each in metrics
    ]
    assert policy_of(spec(*inputs), FLAGS).has_metric_at_zero is expected


def test_a_missing_minimum_is_one():
    assert policy_of(spec(min_replicas=None), FLAGS).min_replicas == 1


def test_what_the_spec_says_goes_before_the_flags():
    own = PodReadiness(cpu_initialization_period_seconds=7, initial_readiness_delay_seconds=0)
    found = policy_of(replaced(spec(), sync_period_seconds=5, pod_readiness=own), FLAGS)
    assert found.sync_period_seconds == 5
    assert found.cpu_initialization_period_seconds == 7
    assert found.initial_readiness_delay_seconds == 0


def test_what_the_spec_does_not_say_is_the_flags():
    found = policy_of(replaced(spec(), pod_readiness=PodReadiness()), FLAGS)
    assert found.sync_period_seconds == FLAGS.sync_period_seconds
    assert found.cpu_initialization_period_seconds == FLAGS.cpu_initialization_period_seconds
    assert found.initial_readiness_delay_seconds == FLAGS.initial_readiness_delay_seconds
