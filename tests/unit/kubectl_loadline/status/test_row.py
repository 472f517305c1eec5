"""An autoscaler in one line: its counts, what limits it, and one reason."""

import msgspec
import pytest

from kubectl_loadline.status.row import LIMITS, PROBLEMS, row_of
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS

SPEC = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9}


def condition(type_, status="True", reason="R", message="the message"):
    return {"type": type_, "status": status, "reason": reason, "message": message}


def row(*conditions, kind=LOAD_AUTOSCALERS, spec=None, **status):
    listed = [condition("AbleToScale", reason="ReadyForNewScale"), *conditions]
    by_type = {each["type"]: each for each in listed}
    document = {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {**SPEC, **(spec or {})},
        "status": {
            "currentReplicas": 3,
            "desiredReplicas": 4,
            "conditions": [*by_type.values()],
            **status,
        },
    }
    return row_of(msgspec.convert(document, Autoscaler), kind)


def test_the_counts_and_bounds_are_those_of_the_status_and_the_spec():
    found = row(decision={"summary": "goes from 3 to 4 replicas"})
    assert (found.key, found.target) == ("la/shop/web", "Deployment/web")
    assert (found.current, found.desired, found.min, found.max) == (3, 4, 1, 9)
    assert found.reason == "goes from 3 to 4 replicas"
    assert found.limited_by == ()


def test_before_the_first_reconcile_the_counts_are_unknown():
    document = {"metadata": {"namespace": "shop", "name": "web"}, "spec": SPEC}
    found = row_of(msgspec.convert(document, Autoscaler), HORIZONTAL_POD_AUTOSCALERS)
    assert (found.current, found.desired, found.limited_by) == (None, None, ("no scaler",))
    assert found.has_problem


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(condition("AbleToScale", "False", "FailedGetScale"), "target"),
        pytest.param(condition("ScalingActive", "False", "FailedGetPodsMetric"), "metric"),
        pytest.param(condition("ScalingActive", "False", "ScalingDisabled"), "disabled"),
        pytest.param(condition("ScalingActive", "False", "AmbiguousSelector"), "shared target"),
        pytest.param(condition("AbleToScale", reason="ScaleDownStabilized"), "window"),
        pytest.param(condition("ScalingLimited", reason="ScaleUpLimit"), "policy"),
        pytest.param(condition("ScalingLimited", reason="TooManyReplicas"), "max"),
        pytest.param(condition("ScalingLimited", reason="TooFewReplicas"), "min"),
        pytest.param(condition("ScalingLimited", reason="InvalidSchedule"), "schedule"),
        pytest.param(condition("ScalingLimited", reason="OutdatedCache"), "outdated cache"),
        pytest.param(condition("MetricFallbackActive"), "fallback"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_condition_says_what_limits_it(given, expected):
    assert row(given).limited_by == (expected,)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ({"proposedReplicas": 2, "stabilizedReplicas": 4}, ("window",)),
        ({"proposedReplicas": 4, "stabilizedReplicas": 4}, ()),
        ({"heldBy": "Cooldown, Suspended"}, ("cooldown", "suspended")),
        ({"heldBy": "Panicking, FutileScaleUp, RolloutHeld"}, ("rollout", "panic", "unready pods")),
        ({"heldBy": "HottestRevision, ActualRequests"}, ("rollout", "resize")),
    ],
)
def test_the_decision_says_what_holds_it(decision, expected):
    assert row(decision={"summary": "", **decision}).limited_by == expected


def test_a_bound_of_an_active_schedule_is_the_schedules():
    limited = condition("ScalingLimited", reason="TooFewReplicas")
    found = row(limited, schedule={"active": "night", "minReplicas": 6})
    assert found.limited_by == ("min", "schedule")
    assert (found.min, found.max) == (6, 9)
    assert row(limited, schedule={"active": "night", "maxReplicas": 6}).limited_by == ("min",)


def test_a_limit_that_this_version_does_not_know_is_left_out_and_the_reason_remains():
    found = row(condition("ScalingLimited", reason="FromTheFuture"))
    assert found.limited_by == ()
    assert found.reason == "the message"


def test_the_reason_of_an_hpa_is_the_condition_that_matters_most():
    failed = condition("ScalingActive", "False", "FailedGetPodsMetric", "no metric")
    limited = condition("ScalingLimited", reason="TooManyReplicas", message="too many")
    assert row(failed, limited, kind=HORIZONTAL_POD_AUTOSCALERS).reason == "no metric"
    assert row(limited, kind=HORIZONTAL_POD_AUTOSCALERS).reason == "too many"
    assert row(kind=HORIZONTAL_POD_AUTOSCALERS).reason == "goes from 3 to 4 replicas"
    still = row(kind=HORIZONTAL_POD_AUTOSCALERS, desiredReplicas=3)
    assert still.reason == "stays at 3 replicas"


def test_without_the_scale_of_the_target_the_counts_are_unknown():
    found = row(condition("AbleToScale", "False", "FailedGetScale"), currentReplicas=0)
    assert (found.current, found.desired) == (None, None)


def test_before_the_first_value_of_a_metric_the_desired_count_is_unknown():
    failed = condition("ScalingActive", "False", "FailedGetResourceMetric")
    found = row(failed, currentReplicas=2, desiredReplicas=0)
    assert (found.current, found.desired) == (2, None)
    assert row(failed, currentReplicas=2, desiredReplicas=2).desired == 2
    assert row(failed, currentReplicas=0, desiredReplicas=0).desired == 0


def test_a_dry_run_is_marked():
    assert row(spec={"mode": "DryRun"}).dry_run
    assert not row().dry_run


def test_every_problem_is_a_limit():
    assert set(PROBLEMS) < set(LIMITS)
