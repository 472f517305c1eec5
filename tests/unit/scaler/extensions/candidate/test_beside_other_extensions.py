"""A candidate beside extensions that limit a scale-up, that let it ignore limits, or that count the pods of the target."""

import pytest

from scaler.api.autoscaler import Behavior, CandidateSpec, ScaleUpRules
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import Futility, Panic, PodReadiness
from tests.unit.scaler.extensions.candidate.test_own_counts import Target
from tests.unit.scaler.extensions.test_rollout import new, old
from tests.unit.scaler.objects import (
    at_most,
    average,
    external,
    of_pods,
    pod,
    replaced,
    rules,
    spec,
)

FREE = Behavior(scale_up=rules(), scale_down=rules())
HALF = (CandidateStep(weight_percent=50, hold_seconds=86_400),)


def on_trial(metric, other, *, behavior=FREE, steps=HALF, mode="", **changes):
    of = spec(metric, max_replicas=200, behavior=behavior)
    candidate = CandidateSpec(metrics=(other,), steps=steps, mode=mode)
    return replaced(of, candidate=candidate, **changes)


def queue(target):
    return external(average(target))


def slow_up_with_panic():
    up = ScaleUpRules(
        stabilization_window_seconds=0,
        policies=(at_most("Pods", 2, 60),),
        panic=Panic(hold_seconds=60),
    )
    return Behavior(scale_up=up, scale_down=rules())


@pytest.mark.parametrize(
    ("mode", "weight", "replicas"),
    [
        pytest.param("DryRun", 50, 50, id="a candidate that is only reported"),
        pytest.param("", 50, 38, id="half way between both"),
    ],
)
def test_no_policy_limits_a_panic(mode, weight, replicas):
    steps = (CandidateStep(weight_percent=weight, hold_seconds=86_400),)
    of = on_trial(queue("10"), queue("20"), behavior=slow_up_with_panic(), steps=steps, mode=mode)
    target = Target(of, replicas=10, load=100)
    target.passes(60)
    target.load = 500
    assert target.passes(15) == replicas


class RollingOut(Target):
    """Half of the pods are of a new revision, from some time on; `surge` are in excess of the replicas."""

    is_rolling, surge = False, 0

    def pods(self):
        count = self.replicas + (self.surge if self.is_rolling else 0)
        added = count // 2 if self.is_rolling else 0
        return (*old(count - added), *new(added))


STEPS = (
    CandidateStep(weight_percent=10, hold_seconds=60),
    CandidateStep(weight_percent=100, hold_seconds=86_400),
)


def test_a_rollout_also_holds_the_scale_up_of_a_step():
    of = on_trial(
        queue("10"), queue("5"), steps=STEPS, pod_readiness=PodReadiness(rollout="HoldUp")
    )
    target = RollingOut(of, replicas=10, load=100)
    assert target.passes(30) == 11
    target.is_rolling = True
    assert target.passes(300) == 11
    target.is_rolling = False
    assert target.passes(15) == 20


class Stuck(Target):
    """Three pods do not become ready, from some time on."""

    is_stuck = False

    def pods(self):
        unready = 3 if self.is_stuck else 0
        stuck = [
            pod(f"stuck-{index}", ready="False", turned_seconds_ago=9_000)
            for index in range(unready)
        ]
        return (*super().pods()[unready:], *stuck)


def test_a_futile_scale_up_is_not_made_by_a_step_either():
    up = ScaleUpRules(stabilization_window_seconds=0, futility=Futility(max_unready_replicas=2))
    behavior = Behavior(scale_up=up, scale_down=rules())
    target = Stuck(
        on_trial(queue("10"), queue("5"), behavior=behavior, steps=STEPS), replicas=10, load=100
    )
    assert target.passes(30) == 11
    target.is_stuck = True
    assert target.passes(300) == 11


@pytest.mark.parametrize("rollout", ["Count", "HottestRevision", "IgnoreSurge"])
@pytest.mark.parametrize("weight", [50, 90])
def test_with_a_constant_load_a_rollout_changes_nothing_in_a_trial(rollout, weight):
    """The usage of a pod is that at the replicas of the target, not at the own counts of both."""
    of = on_trial(
        of_pods(average("10")),
        of_pods(average("30")),
        steps=(CandidateStep(weight_percent=weight, hold_seconds=86_400),),
        pod_readiness=PodReadiness(rollout=rollout),
    )
    target = RollingOut(of, replicas=30, load=300)
    before = target.passes(300)
    target.is_rolling, target.surge = True, 4 if rollout == "IgnoreSurge" else 0
    assert target.passes(300) == before
