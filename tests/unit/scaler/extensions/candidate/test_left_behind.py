"""A trial whose own counts were left behind, by their policies or by a failure, does not remove replicas that all recommend."""

import pytest

from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import AbortCondition, Behavior, CandidateSpec, MetricIdentifier
from scaler.api.candidate import CandidateStep
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    observed,
    replaced,
    rules,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
GONE = MetricFailed("no metrics returned from external metrics API")
ERRORS = AbortCondition(metric=MetricIdentifier(name="errors"), above="0.5", for_seconds=0)
DAY = 86_400


def pods_per_minute(number: int) -> Behavior:
    return Behavior(
        scale_up=rules(at_most("Pods", number, 60)),
        scale_down=rules(at_most("Percent", 100, 15), window_seconds=300),
    )


class Trial:
    """A target that is reconciled every 15 seconds; the readings are those of all metrics, in their order."""

    def __init__(self, of, replicas: int) -> None:
        self.spec, self.replicas, self._now = of, replicas, NOW
        self._memory, self._status = Memory(), None

    def passes(self, reconciles: int, *values: float | MetricFailed) -> int:
        readings = [
            each if isinstance(each, MetricFailed) else ExternalValues((round(each * 1000),))
            for each in values
        ]
        for _ in range(reconciles):
            found = decided(
                observed(self.spec, replicas=self.replicas, status=self._status),
                readings, memory=self._memory, settings=LA, now=self._now,
            )  # fmt: skip
            outcome = settle(found, Rescaled() if found.rescale else NotNeeded(), self._now)
            self._memory, self._status = outcome.memory, outcome.status
            self.replicas = found.desired_replicas if found.rescale else self.replicas
            self._now += 15
        return self.replicas


@pytest.mark.parametrize("weight", [10, 50, 100])
@pytest.mark.parametrize("errors", [GONE, 1.0], ids=["its metric fails", "it is aborted"])
def test_a_trial_that_ends_under_load_removes_no_replicas_that_the_spec_recommends(weight, errors):
    candidate = CandidateSpec(
        behavior=pods_per_minute(30),
        steps=(CandidateStep(weight_percent=weight, hold_seconds=DAY),),
        abort_when=(ERRORS,),
    )
    of = spec(external(average("10")), max_replicas=400, behavior=pods_per_minute(10))
    trial = Trial(replaced(of, candidate=candidate), 20)
    trial.passes(1, 200, 0)
    under_load = trial.passes(24, 4000, 0)
    assert under_load > 60
    assert trial.passes(1, 4000, errors) >= under_load
    assert trial.passes(8, 4000, errors) >= under_load


@pytest.mark.parametrize("weight", [50, 100])
@pytest.mark.parametrize("behavior", [None, pods_per_minute(4)], ids=["the same", "slower"])
def test_a_candidate_whose_metrics_have_failed_goes_on_from_the_count_of_the_target(
    weight, behavior
):
    candidate = CandidateSpec(
        metrics=(external(average("10"), name="other"),),
        behavior=behavior,
        steps=(CandidateStep(weight_percent=weight, hold_seconds=DAY),),
    )
    of = spec(external(average("10")), max_replicas=200, behavior=pods_per_minute(100))
    trial = Trial(replaced(of, candidate=candidate), 20)
    trial.passes(3, 200, 200)
    assert trial.passes(12, 1000, GONE) == 100
    assert trial.passes(1, 1000, 1000) == 100


def test_the_own_counts_of_a_trial_are_within_the_bounds():
    at_once = Behavior(scale_up=rules(), scale_down=rules(window_seconds=0))
    candidate = CandidateSpec(
        metrics=(external(average("5")),),
        steps=(CandidateStep(weight_percent=50, hold_seconds=DAY),),
    )
    of = spec(external(average("50")), max_replicas=100, behavior=at_once)
    trial = Trial(replaced(of, candidate=candidate), 2)
    assert trial.passes(2, 100, 100) == 11
    trial.spec = replaced(trial.spec, min_replicas=10)
    assert trial.passes(2, 100, 100) == 15


def test_a_trial_removes_replicas_that_neither_recommends():
    candidate = CandidateSpec(
        behavior=pods_per_minute(30),
        steps=(CandidateStep(weight_percent=50, hold_seconds=DAY),),
    )
    of = spec(external(average("10")), max_replicas=400, behavior=pods_per_minute(10))
    trial = Trial(replaced(of, candidate=candidate), 100)
    trial.passes(1, 1000)
    assert trial.passes(40, 500) == 50
