"""Whole reconciles: from what was observed and measured to status, events and memory."""

import msgspec
import pytest

from scaler.algorithm.decision import Action, Branch, ErrorClass, NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import same_status, settle
from scaler.api.autoscaler import (
    AutoscalerStatus,
    Behavior,
    Condition,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import upstream_of
from tests.unit.scaler.objects import (
    NOW,
    autoscaler,
    average,
    decided,
    external,
    observed,
    recommended,
    rules,
    spec,
    value,
)
from wire.api.meta import time_from_unix

SETTINGS = Settings()
ZERO_ON = Settings(scale_to_zero=True)
ZERO_OFF = Settings(scale_to_zero=False)
DOWN = MetricFailed("unable to fetch metrics from external metrics API: down")
BEFORE = time_from_unix(NOW - 1_000)


def queue(length):
    """The reading for the ordinary spec: External, average value 10."""
    return (ExternalValues((length * 1000,)),)


def reconcile(
    seen, readings, *, memory=None, settings=SETTINGS, actuation=None, controlled_by=("shop/web",)
):
    """One whole reconcile, the write of the scale included."""
    decision = decided(
        seen,
        readings,
        memory=memory or recommended((1, 900)),
        settings=settings,
        controlled_by=controlled_by,
    )
    outcome = settle(decision, actuation or Rescaled() if decision.rescale else NotNeeded(), NOW)
    return decision, outcome


def conditions(outcome):
    return {
        each.type: (each.status, each.reason, each.message) for each in outcome.status.conditions
    }


def reported(events):
    return [(each.type.value, each.reason, each.message) for each in events]


def test_a_scale_up_is_written_reported_and_remembered():
    decision, outcome = reconcile(observed(spec(), replicas=3), queue(50))
    assert (decision.desired_replicas, decision.rescale) == (5, True)
    assert reported(outcome.events) == [
        (
            "Normal",
            "SuccessfulRescale",
            "New size: 5; reason: external metric queue(nil) above target",
        )
    ]
    assert (outcome.status.current_replicas, outcome.status.desired_replicas) == (3, 5)
    assert outcome.status.last_scale_time == time_from_unix(NOW)
    assert outcome.action is Action.SCALE_UP
    assert conditions(outcome) == {
        "AbleToScale": (
            "True",
            "SucceededRescale",
            "the HPA controller was able to update the target scale to 5",
        ),
        "ScalingActive": (
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from external metric queue(nil)",
        ),
        "ScalingLimited": (
            "False",
            "DesiredWithinRange",
            "the desired count is within the acceptable range",
        ),
        "ScaledToZero": (
            "False",
            "NotScaledToZero",
            "the HPA controller did not scale the workload to zero",
        ),
    }


def test_without_a_change_only_the_status_is_updated():
    decision, outcome = reconcile(observed(spec(), replicas=3), queue(30))
    assert not decision.rescale
    assert outcome.events == ()
    assert (outcome.status.current_replicas, outcome.status.desired_replicas) == (3, 3)
    assert outcome.status.last_scale_time is None
    assert conditions(outcome)["AbleToScale"][1] == "ReadyForNewScale"


def test_a_scale_down_has_the_reason_that_all_metrics_are_below_target():
    _, outcome = reconcile(observed(spec(), replicas=5), queue(20))
    assert reported(outcome.events) == [
        ("Normal", "SuccessfulRescale", "New size: 2; reason: All metrics below target")
    ]
    assert outcome.action is Action.SCALE_DOWN


def test_a_stabilized_scale_down_has_its_condition():
    decision, outcome = reconcile(
        observed(spec(), replicas=5), queue(20), memory=recommended((5, 60))
    )
    assert not decision.rescale
    assert conditions(outcome)["AbleToScale"][:2] == ("True", "ScaleDownStabilized")


@pytest.mark.deviation("stabilization-scales-up", "reason-before-normalization")
def test_without_behavior_an_old_recommendation_can_even_scale_up():
    decision, outcome = reconcile(
        observed(spec(), replicas=3), queue(20), memory=recommended((5, 60))
    )
    assert decision.desired_replicas == 5
    assert reported(outcome.events)[0][2] == "New size: 5; reason: All metrics below target"


@pytest.mark.parametrize(
    ("replicas", "branch", "desired", "reason"),
    [
        pytest.param(12, Branch.ABOVE_MAX, 10, "Current number of replicas above Spec.MaxReplicas", id="above"),
        pytest.param(1, Branch.BELOW_MIN, 2, "Current number of replicas below Spec.MinReplicas", id="below"),
    ],
)  # fmt: skip
def test_outside_the_bounds_no_metric_is_needed(replicas, branch, desired, reason):
    behavior = Behavior(scale_up=rules(select="Disabled"), scale_down=rules(select="Disabled"))
    of = spec(min_replicas=2, max_replicas=10, behavior=behavior)
    memory = recommended((11, 10))
    decision, outcome = reconcile(observed(of, replicas=replicas), (), memory=memory)
    assert (decision.branch, decision.desired_replicas) == (branch, desired)
    assert reported(outcome.events)[0][2] == f"New size: {desired}; reason: {reason}"
    assert outcome.status.current_metrics == ()
    assert outcome.memory.recommendations == memory.recommendations
    assert outcome.memory.scale_up_events or outcome.memory.scale_down_events
    assert list(conditions(outcome)) == ["AbleToScale", "ScaledToZero"]


@pytest.mark.deviation("zero-disables")
def test_zero_replicas_disable_autoscaling():
    before = AutoscalerStatus(
        conditions=(Condition(type="ScaledToZero", status="True", last_transition_time=BEFORE),)
    )
    seen = observed(spec(min_replicas=0), replicas=0, status=before)
    decision, outcome = reconcile(seen, (), settings=ZERO_OFF)
    assert (decision.branch, decision.rescale) == (Branch.DISABLED, False)
    assert list(conditions(outcome)) == ["AbleToScale", "ScalingActive"]
    assert conditions(outcome)["ScalingActive"] == (
        "False",
        "ScalingDisabled",
        "scaling is disabled since the replica count of the target is zero",
    )
    assert outcome.events == ()


def test_a_scale_that_cannot_be_read_changes_the_condition_only():
    before = AutoscalerStatus(current_replicas=3, desired_replicas=4, last_scale_time=BEFORE)
    seen = Observed(
        autoscaler=autoscaler(spec(), status=before),
        scale=ScaleUnavailable(message='deployments/scale.apps "web" not found', spec_error=True),
    )
    decision, outcome = reconcile(seen, ())
    assert decision.desired_replicas is None
    assert reported(outcome.events) == [
        ("Warning", "FailedGetScale", 'deployments/scale.apps "web" not found')
    ]
    assert conditions(outcome)["AbleToScale"] == (
        "False",
        "FailedGetScale",
        (
            "the HPA controller was unable to get the target's current scale: "
            'deployments/scale.apps "web" not found'
        ),
    )
    kept = msgspec.structs.replace(outcome.status, conditions=None)
    assert kept == before
    assert outcome.error_class is ErrorClass.SPEC


def test_each_failed_metric_has_an_event_before_the_status_and_all_of_them_one_after_it():
    before = AutoscalerStatus(desired_replicas=9, last_scale_time=BEFORE)
    decision, outcome = reconcile(observed(spec(), replicas=3, status=before), (DOWN,))
    inner = "unable to get external metric shop/queue/nil: unable to fetch metrics from external metrics API: down"
    assert reported(outcome.events) == [("Warning", "FailedGetExternalMetric", inner)]
    assert reported(outcome.events_after_status) == [
        (
            "Warning",
            "FailedComputeMetricsReplicas",
            (
                "invalid metrics (1 invalid out of 1), first error is: failed to get queue external metric "
                f"value: failed to get queue external metric: {inner}"
            ),
        )
    ]
    assert conditions(outcome)["ScalingActive"] == (
        "False",
        "FailedGetExternalMetric",
        f"the HPA was unable to compute the replica count: {inner}",
    )
    assert decision.desired_replicas is None
    assert (outcome.status.current_replicas, outcome.status.desired_replicas) == (3, 9)
    assert outcome.status.last_scale_time == BEFORE
    assert [each.type for each in outcome.status.current_metrics] == [""]


def test_failed_metrics_leave_no_recommendation():
    memory = recommended((5, 60))
    _, outcome = reconcile(observed(spec(), replicas=3), (DOWN,), memory=memory)
    assert outcome.memory == memory


TWO = spec(external(average("10"), name="a"), external(average("10"), name="b"))


def test_one_failed_metric_does_not_stop_a_scale_up():
    decision, outcome = reconcile(observed(TWO, replicas=3), (DOWN, *queue(50)))
    assert decision.desired_replicas == 5
    assert [each.reason for each in outcome.events] == [
        "FailedGetExternalMetric",
        "SuccessfulRescale",
    ]
    assert outcome.events_after_status == ()
    assert outcome.error.startswith("invalid metrics (1 invalid out of 2), first error is: ")
    assert outcome.error_class is ErrorClass.INTERNAL


def test_one_failed_metric_stops_a_scale_down():
    decision, outcome = reconcile(observed(TWO, replicas=5), (DOWN, *queue(20)))
    assert not decision.rescale
    assert [each.reason for each in outcome.events_after_status] == ["FailedComputeMetricsReplicas"]
    assert [each.type for each in outcome.status.current_metrics] == ["", "External"]


def test_pods_of_two_autoscalers_prevent_scaling():
    seen = observed(spec(), replicas=3)
    decision, outcome = reconcile(seen, (), controlled_by=("shop/web", "shop/other"))
    message = (
        "pods by selector app=web are controlled by more than one HPA (e.g. [shop/web shop/other])"
    )
    assert not decision.rescale
    assert reported(outcome.events) == [("Warning", "AmbiguousSelector", message)]
    assert reported(outcome.events_after_status) == [
        ("Warning", "FailedComputeMetricsReplicas", message)
    ]
    assert conditions(outcome)["ScalingActive"] == ("False", "AmbiguousSelector", message)
    assert outcome.status.current_metrics == ()


def test_a_scale_that_cannot_be_written_is_reported_and_not_remembered():
    before = AutoscalerStatus(desired_replicas=9)
    behavior = Behavior(scale_up=rules(), scale_down=rules())
    seen = observed(spec(behavior=behavior), replicas=3, status=before)
    _, outcome = reconcile(seen, queue(50), actuation=RescaleFailed("conflict"))
    assert reported(outcome.events) == [
        (
            "Warning",
            "FailedRescale",
            "New size: 5; reason: external metric queue(nil) above target; error: conflict",
        )
    ]
    assert conditions(outcome)["AbleToScale"] == (
        "False",
        "FailedUpdateScale",
        "the HPA controller was unable to update the target scale: conflict",
    )
    assert (outcome.status.current_replicas, outcome.status.desired_replicas) == (3, 9)
    assert outcome.memory.scale_up_events == ()
    assert outcome.error == "failed to rescale Deployment/shop/web: conflict"


def test_the_first_reconcile_seeds_the_memory_with_the_current_count_and_adds_the_recommendation():
    _, outcome = reconcile(observed(spec(), replicas=5), queue(20), memory=Memory())
    assert [each.replicas for each in outcome.memory.recommendations or ()] == [5, 2]
    assert outcome.status.desired_replicas == 5


@pytest.mark.parametrize(
    ("of", "length", "settings", "by_controller"),
    [
        pytest.param(spec(min_replicas=0), 0, ZERO_ON, "True", id="to zero"),
        pytest.param(spec(min_replicas=0), 20, ZERO_ON, "False", id="not quite to zero"),
        pytest.param(spec(min_replicas=1), 0, ZERO_ON, "False", id="to the minimum"),
        pytest.param(spec(min_replicas=0), 0, ZERO_OFF, None, id="the gate is off"),
    ],
)
def test_scaling_to_zero_is_remembered_in_the_status(of, length, settings, by_controller):
    before = AutoscalerStatus(conditions=(Condition(type="ScaledToZero", status="Unknown"),))
    _, outcome = reconcile(
        observed(of, replicas=3, status=before), queue(length), settings=settings
    )
    assert conditions(outcome).get("ScaledToZero", (None,))[0] == by_controller


FREE = Behavior(scale_up=rules(), scale_down=rules())


def at_zero(of):
    known = Condition(type="ScaledToZero", status="True", last_transition_time=BEFORE)
    return observed(of, replicas=0, status=AutoscalerStatus(conditions=(known,)))


@pytest.mark.parametrize(
    ("of", "length", "desired", "reason"),
    [
        pytest.param(spec(external(value("10")), min_replicas=0), 15, 2, "external metric queue(nil) above target", id="by load"),
        pytest.param(spec(min_replicas=3, behavior=FREE), 0, 3, "Current number of replicas below Spec.MinReplicas", id="the minimum was raised"),
        pytest.param(spec(min_replicas=3), 0, 3, "", id="likewise without behavior: without a reason"),
    ],
)  # fmt: skip
def test_a_workload_that_the_controller_scaled_to_zero_is_scaled_up_again(
    of, length, desired, reason
):
    decision, outcome = reconcile(
        at_zero(of), queue(length), settings=ZERO_ON, memory=recommended((0, 9))
    )
    assert decision.desired_replicas == desired
    assert reported(outcome.events)[0][2] == f"New size: {desired}; reason: {reason}"
    assert conditions(outcome)["ScaledToZero"][0] == "False"


def test_staying_at_zero_writes_no_scale():
    decision, _ = reconcile(
        at_zero(spec(min_replicas=0)), queue(0), settings=ZERO_ON, memory=recommended((0, 9))
    )
    assert (decision.branch, decision.rescale) == (Branch.METRICS, False)


@pytest.mark.parametrize(
    ("kind", "minor", "generation"),
    [
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, 36, None, id="an HPA, before 1.37"),
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, 37, 7, id="an HPA"),
        pytest.param(LOAD_AUTOSCALERS, 36, 7, id="a LoadAutoscaler"),
    ],
)
def test_the_observed_generation_of_an_hpa_is_dropped_before_1_37(kind, minor, generation):
    seen = observed(spec(), replicas=3, status=AutoscalerStatus(observed_generation=3))
    settings = Settings(kind=kind, upstream=upstream_of(minor))
    _, outcome = reconcile(seen, queue(30), settings=settings)
    assert outcome.status.observed_generation == generation


@pytest.mark.deviation("status-decision")
def test_only_a_loadautoscaler_gets_the_decision_in_words():
    for kind, has_words in ((HORIZONTAL_POD_AUTOSCALERS, False), (LOAD_AUTOSCALERS, True)):
        _, outcome = reconcile(
            observed(spec(), replicas=3), queue(50), settings=Settings(kind=kind)
        )
        assert (outcome.status.decision is not None) is has_words


def test_an_unchanged_status_is_not_written():
    _, first = reconcile(observed(spec(), replicas=3), queue(30))
    assert first.status_changed
    null_for_empty = msgspec.structs.replace(first.status, decision=None)
    _, second = reconcile(observed(spec(), replicas=3, status=null_for_empty), queue(30))
    assert not second.status_changed


def test_an_absent_list_is_an_empty_one():
    left = AutoscalerStatus(current_metrics=None, conditions=None)
    assert same_status(left, AutoscalerStatus(current_metrics=(), conditions=()))


def test_the_conditions_have_their_usual_order():
    _, outcome = reconcile(observed(spec(min_replicas=0), replicas=3), queue(0), settings=ZERO_ON)
    assert [each.type for each in outcome.status.conditions or ()] == [
        "AbleToScale",
        "ScalingActive",
        "ScalingLimited",
        "ScaledToZero",
    ]
