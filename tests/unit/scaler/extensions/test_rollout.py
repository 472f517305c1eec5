"""`podReadiness.rollout`: the pods that exist only because of a rollout do not raise the number of replicas."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior, CandidateSpec
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import PodReadiness
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.extensions.forecast.expected_forecasts import expecting, forecasting
from tests.unit.scaler.extensions.test_panic import panicking, with_panic
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    few_examples,
    named,
    observed,
    of_pods,
    pod,
    recommended,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
    value,
)
from wire.api.meta import time_from_unix

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
FREE = Behavior(scale_up=rules(), scale_down=rules())
ALL_AT_ONCE = (CandidateStep(weight_percent=100, hold_seconds=60),)


def of_revision(revision, name, *, created_seconds_ago, label="pod-template-hash", **changes):
    found = pod(name, **changes)
    metadata = msgspec.structs.replace(
        found.metadata,
        labels={**found.metadata.labels, label: revision},
        creation_timestamp=time_from_unix(NOW - created_seconds_ago),
    )
    return msgspec.structs.replace(found, metadata=metadata)


def old(count, **changes):
    return [of_revision("a", f"a-{i}", created_seconds_ago=9_000, **changes) for i in range(count)]


def new(count, **changes):
    return [of_revision("b", f"b-{i}", created_seconds_ago=30, **changes) for i in range(count)]


def desired(rollout, target_pods, usage, *, replicas=10, metric=None, status_replicas=None):
    of = spec(metric or of_pods(average("10")), behavior=FREE)
    of = replaced(of, pod_readiness=PodReadiness(rollout=rollout))
    reading = ExternalValues((usage * 1000,))
    if metric is None:
        reading = samples({each.metadata.name: usage * 1000 for each in target_pods})
    return decided(
        observed(of, replicas=replicas, status_replicas=status_replicas),
        (reading,),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=tuple(target_pods),
    )


@pytest.mark.parametrize(
    ("rollout", "target_pods", "usage", "expected"),
    [
        pytest.param("Count", [*old(10), *new(3)], 12, 16, id="as an HPA: 13 pods at 120%"),
        pytest.param("IgnoreSurge", [*old(10), *new(3)], 12, 12, id="10 pods at 120%"),
        pytest.param("HoldUp", [*old(10), *new(3)], 12, 10, id="held"),
        pytest.param("IgnoreSurge", [*old(10), *new(3)], 10, 10, id="within the tolerance"),
        pytest.param("IgnoreSurge", [*old(10), *new(3)], 5, 7, id="a scale-down counts them all"),
        pytest.param("HoldUp", [*old(10), *new(3)], 5, 7, id="a scale-down is not held"),
        pytest.param("IgnoreSurge", [*old(7), *new(3)], 12, 12, id="no pods in excess"),
        pytest.param("HoldUp", [*old(7), *new(3)], 12, 10, id="two revisions are a rollout"),
        pytest.param("IgnoreSurge", old(13), 12, 16, id="one revision: no rollout"),
        pytest.param("HoldUp", old(13), 12, 16, id="one revision: nothing held"),
        pytest.param(
            "HoldUp", [*old(10), *new(3, deleted=True)], 12, 12, id="a rollout that is undone"
        ),
        pytest.param(
            "IgnoreSurge",
            [*old(10), *new(3, ready="False", phase="Pending")],
            12,
            10,
            id="pods that start count as 0, as with an HPA",
        ),
        pytest.param("Sideways", [*old(10), *new(3)], 12, 12, id="an unknown policy is careful"),
    ],
)
def test_surge_pods_do_not_push_up(rollout, target_pods, usage, expected):
    assert desired(rollout, target_pods, usage).desired_replicas == expected


def test_old_pods_in_excess_are_left_out_before_new_ones():
    """New pods use four times as much, so the ten that count are three new and seven old ones."""
    target_pods = [*old(10), *new(3)]
    of = spec(of_pods(average("10")), behavior=FREE)
    of = replaced(of, pod_readiness=PodReadiness(rollout="IgnoreSurge"))
    usage = {each.metadata.name: 8_000 for each in target_pods} | {
        f"b-{number}": 32_000 for number in range(3)
    }
    found = decided(
        observed(of, replicas=10),
        (samples(usage),),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=tuple(target_pods),
    )
    assert found.desired_replicas == 16  # (3 * 32 + 7 * 8) / 10, and not 18


def test_ready_pods_in_excess_do_not_multiply_a_target_of_type_value():
    metric = external(value("10"))
    assert (
        desired("Count", [*old(10), *new(3)], 20, metric=metric).desired_replicas,
        desired("IgnoreSurge", [*old(10), *new(3)], 20, metric=metric).desired_replicas,
    ) == (26, 20)


@pytest.mark.parametrize(
    "target_pods",
    [
        pytest.param([*old(10), *new(1)], id="a pod in excess"),
        pytest.param([*old(9), *new(1)], id="the status counts a pod that is gone"),
    ],
)
@pytest.mark.parametrize(("usage", "hpa", "expected"), [(99, 11, 10), (115, 11, 11), (130, 13, 13)])
def test_a_metric_per_pod_that_is_within_the_tolerance_does_not_propose_the_surge(
    target_pods, usage, hpa, expected
):
    found = [
        desired(rollout, target_pods, usage, metric=external(average("10")), status_replicas=11)
        for rollout in ("Count", "IgnoreSurge")
    ]
    assert [each.desired_replicas for each in found] == [hpa, expected]


@pytest.mark.parametrize(
    "label", ["pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash"]
)
def test_deployments_argo_rollouts_and_stateful_sets_have_revisions(label):
    target_pods = [
        of_revision("a", "a-0", created_seconds_ago=900, label=label),
        of_revision("b", "b-0", created_seconds_ago=30, label=label),
    ]
    assert desired("HoldUp", target_pods, 30, replicas=2).desired_replicas == 2


def test_users_read_that_a_rollout_holds_the_count():
    decision = desired("HoldUp", [*old(10), *new(3)], 12)
    outcome = settle(decision, NotNeeded(), NOW)
    found = {each.type: each for each in outcome.status.conditions or ()}["RolloutHeld"]
    assert (found.status, found.message) == (
        "True",
        "while pods of several revisions run, nothing is scaled up",
    )
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "RolloutHeld"
    assert (
        explain(decision.derivation, EXTENSIONS)
        .splitlines()[-1]
        .endswith("With them, the metrics propose 16.")
    )
    over = settle(desired("HoldUp", old(13), 10), NotNeeded(), NOW)
    found = {each.type: each for each in over.status.conditions or ()}["RolloutHeld"]
    assert (found.status, found.reason) == ("False", "NoRollout")


@few_examples
@given(
    rollout=st.sampled_from(["IgnoreSurge", "HoldUp"]),
    olds=st.integers(0, 15),
    news=st.integers(0, 15),
    replicas=st.integers(1, 15),
    usage=st.integers(0, 40),
)
def test_it_never_scales_down_and_never_goes_beyond_the_hpa(rollout, olds, news, replicas, usage):
    target_pods = [*old(olds), *new(news)]
    hpa = desired("Count", target_pods, usage, replicas=replicas).desired_replicas
    found = desired(rollout, target_pods, usage, replicas=replicas).desired_replicas
    if hpa is None or hpa <= replicas or not olds or not news:
        assert found == hpa
    else:
        assert replicas <= found <= hpa
        assert rollout != "HoldUp" or found == replicas


def held_up(of, load, memory, *, target_pods):
    of = replaced(of, pod_readiness=PodReadiness(rollout="HoldUp"))
    return decided(
        observed(of, replicas=5),
        (ExternalValues((load * 1000,)),),
        memory=memory,
        settings=LA,
        target_pods=target_pods,
    )


@pytest.mark.parametrize(("target_pods", "expected"), [((*old(5), *new(1)), 5), (tuple(old(5)), 7)])
@pytest.mark.parametrize("candidate", [None, CandidateSpec(steps=ALL_AT_ONCE)])
def test_a_forecast_does_not_scale_up_what_is_held(target_pods, expected, candidate):
    of = replaced(forecasting(), candidate=candidate)
    found = held_up(of, 50, expecting(of, 70.0), target_pods=target_pods)
    assert found.desired_replicas == expected


@pytest.mark.parametrize(("target_pods", "expected"), [((*old(5), *new(1)), 5), (tuple(old(5)), 9)])
def test_an_earlier_recommendation_does_not_scale_up_what_is_held(target_pods, expected):
    """Without `behavior`, the highest recommendation of the window counts, which may have been limited by the rate."""
    of = spec(external(average("10")))
    found = held_up(of, 50, recommended((9, 60)), target_pods=target_pods)
    assert found.desired_replicas == expected
    if expected == 5:
        text = explain(found.derivation, EXTENSIONS)
        assert "A forecast, a panic or an earlier recommendation would set 9." in text


def test_what_the_metrics_propose_is_said_if_they_want_more():
    of = spec(external(average("10")))
    found = held_up(of, 90, recommended((7, 60)), target_pods=(*old(5), *new(1)))
    assert found.desired_replicas == 5
    assert "With them, the metrics propose 9." in explain(found.derivation, EXTENSIONS)


@pytest.mark.parametrize(
    ("target_pods", "expected"), [((*old(5), *new(1)), 5), (tuple(old(5)), 20)]
)
def test_a_panic_does_not_scale_up_what_is_held(target_pods, expected):
    found = held_up(with_panic(), 50, panicking(20, 30), target_pods=target_pods)
    assert found.desired_replicas == expected


def test_a_pod_that_belongs_to_no_revision_does_not_hold_the_count():
    """For example one of a Job, with the labels of the selector."""
    found = held_up(
        spec(external(average("10"))), 90, recommended((5, 60)), target_pods=(*old(5), pod("job"))
    )
    assert found.desired_replicas == 9


def test_a_higher_minimum_is_not_held():
    of = spec(external(average("10")), min_replicas=8)
    found = held_up(of, 50, recommended((5, 60)), target_pods=(*old(5), *new(1)))
    assert found.desired_replicas == 8


@pytest.mark.parametrize("rollout", ["Count", "IgnoreSurge", "HoldUp"])
def test_what_surge_pods_use_while_they_start_is_not_load(rollout):
    """Otherwise each rollout would let a forecast expect more."""
    of = forecasting(named(resource(utilization(80)), "load"))
    of = replaced(of, pod_readiness=PodReadiness(rollout=rollout))
    starting = new(3, ready="False", started_seconds_ago=30, turned_seconds_ago=30)
    used = {each.metadata.name: 1_200 for each in old(10)}
    found = decided(
        observed(of, replicas=10),
        (samples({**used, **{each.metadata.name: 5_000 for each in starting}}),),
        memory=expecting(of, 1.0),
        settings=LA,
        target_pods=(*old(10), *starting),
    )
    assert found.derivation.steps["forecast"].load == pytest.approx(12.0)


@pytest.mark.parametrize("rollout", ["Count", "IgnoreSurge", "HoldUp"])
def test_what_ready_surge_pods_use_is_load(rollout):
    """They have taken over a part of it."""
    of = forecasting(named(of_pods(average("10")), "load"))
    of = replaced(of, pod_readiness=PodReadiness(rollout=rollout))
    target_pods = (*old(10), *new(3))
    found = decided(
        observed(of, replicas=10),
        (samples({each.metadata.name: 12_000 for each in target_pods}),),
        memory=expecting(of, 1.0),
        settings=LA,
        target_pods=target_pods,
    )
    assert found.derivation.steps["forecast"].load == 156
