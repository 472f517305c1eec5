"""A trial over many reconciles: a step applies its part of the difference between two trajectories, and no more."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import AnyMemory, Memory, StoredMemory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import (
    AutoscalerStatus,
    Behavior,
    CandidateSpec,
    ScaleDownRules,
    ScaleUpRules,
)
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import Suspend
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    observed,
    of_pods,
    pods,
    replaced,
    rules,
    samples,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
DEFAULT = Behavior(scale_up=ScaleUpRules(), scale_down=ScaleDownRules())
AT_ONCE = Behavior(scale_up=rules(), scale_down=rules(window_seconds=0))
STEPS = (
    CandidateStep(weight_percent=10, hold_seconds=1800),
    CandidateStep(weight_percent=50, hold_seconds=1800),
)


class Target:
    """A target with a LoadAutoscaler that is reconciled every 15 seconds; `load` is that of all pods together."""

    def __init__(self, of, *, replicas=100, load=1000):
        self.of, self.replicas, self.load = of, replicas, load
        self.seconds, self.changes = 0, 0
        self.memory: AnyMemory = Memory()
        self.status: AutoscalerStatus | None = None

    def passes(self, seconds):
        for _ in range(seconds // 15):
            self._reconcile()
            self.seconds += 15
        return self.replicas

    def pods(self):
        return pods(self.replicas)

    def restarts(self):
        """Another process goes on with what this one has stored."""
        self.memory = StoredMemory(
            history=history_of(self.memory, EXTENSIONS), known_replicas=(self.replicas,)
        )

    def _reconcile(self):
        now = NOW + self.seconds
        running = self.pods()
        reading = ExternalValues((self.load * 1000,))
        if self.of.metrics[0].pods is not None:
            each = self.load * 1000 // self.replicas
            reading = samples({pod.metadata.name: each for pod in running})
        decision = decided(
            observed(self.of, replicas=self.replicas, status=self.status),
            (reading,) if self.of.candidate.metrics is None else (reading, reading),
            memory=self.memory,
            settings=LA,
            now=now,
            target_pods=running,
        )
        outcome = settle(decision, Rescaled() if decision.rescale else NotNeeded(), now)
        self.memory, self.status = outcome.memory, outcome.status
        if decision.rescale:
            self.replicas = decision.desired_replicas
            self.changes += 1


def on_trial(*, metrics=None, behavior=None, steps=STEPS, metric=None, of_spec=DEFAULT):
    of = spec(metric or external(average("10")), max_replicas=200, behavior=of_spec)
    return replaced(of, candidate=CandidateSpec(metrics=metrics, behavior=behavior, steps=steps))


def test_a_shorter_window_at_ten_percent_takes_a_tenth_until_the_window_of_the_spec_ends():
    target = Target(on_trial(behavior=Behavior(scale_down=rules(window_seconds=60))))
    assert target.passes(600) == 100
    target.load = 100
    course = [target.passes(60) for _ in range(6)]
    assert course == [91, 91, 91, 91, 10, 10]


@pytest.mark.parametrize(
    ("down", "course"),
    [
        pytest.param(rules(window_seconds=0, select="Disabled"), [91, 91], id="disabled"),
        pytest.param(
            rules(at_most("Pods", 1, 60), window_seconds=0), [87, 82], id="a pod in a minute"
        ),
    ],
)
def test_without_the_policies_of_the_spec_the_candidate_takes_a_tenth_of_the_difference(
    down, course
):
    target = Target(on_trial(behavior=AT_ONCE, of_spec=Behavior(scale_up=rules(), scale_down=down)))
    target.passes(15)
    target.load = 100
    assert [target.passes(300), target.passes(300)] == course


@pytest.mark.parametrize(("weight", "replicas"), [(10, 95), (50, 75)])
@pytest.mark.parametrize("kind", [external, of_pods])
def test_with_a_constant_load_another_target_changes_the_count_once(kind, weight, replicas):
    """Also where the usage of the pods at the count between both is within the tolerance of the spec."""
    steps = (CandidateStep(weight_percent=weight, hold_seconds=86_400),)
    target = Target(
        on_trial(metric=kind(average("10")), metrics=(kind(average("20")),), steps=steps)
    )
    assert target.passes(3600) == replicas
    assert target.changes == 1


def test_after_a_restart_each_goes_on_from_its_own_count():
    target = Target(on_trial(metrics=(external(average("20")),)))
    assert target.passes(600) == 95
    target.restarts()
    assert target.passes(600) == 95
    assert target.changes == 1


def test_both_begin_from_the_count_that_a_user_has_set():
    down = Behavior(scale_down=rules(window_seconds=0, select="Disabled"))
    target = Target(on_trial(of_spec=down, behavior=AT_ONCE, metrics=(external(average("20")),)))
    assert target.passes(60) == 95
    target.replicas, target.load = 60, 300
    assert target.passes(15) == 56  # of 60 and 15


@pytest.mark.parametrize(
    "held", [{"suspend": Suspend(direction="Both")}, {"mode": "DryRun"}], ids=["suspend", "mode"]
)
def test_time_in_which_nothing_is_applied_does_not_count_for_a_step(held):
    of = on_trial(metrics=(external(average("20")),), of_spec=AT_ONCE)
    target = Target(replaced(of, **held))
    assert target.passes(4 * 3600) == 100
    target.of = of
    assert target.passes(15) == 95
    assert target.status is not None
    assert target.status.candidate.step == 1


@pytest.mark.parametrize(
    "held", [{"suspend": Suspend(direction="Both")}, {"mode": "DryRun"}], ids=["suspend", "mode"]
)
def test_it_does_not_count_either_if_the_target_has_what_was_decided(held):
    of = on_trial(of_spec=AT_ONCE, behavior=AT_ONCE)
    target = Target(replaced(of, **held))
    assert target.passes(4 * 3600) == 100
    assert target.status is not None
    assert target.status.candidate.step == 1


def test_the_target_changes_by_no_more_than_the_policies_allow_from_its_own_count():
    """With an abort, the spec decides from 100 what it would have; the target has 75."""
    doubles = Behavior(
        scale_up=rules(at_most("Percent", 100, 60)), scale_down=rules(window_seconds=0)
    )
    steps = (CandidateStep(weight_percent=50, hold_seconds=86_400),)
    target = Target(
        on_trial(of_spec=doubles, metrics=(external(average("20")),), steps=steps), replicas=100
    )
    assert target.passes(60) == 75
    state = target.memory.states["candidate"]
    aborted = msgspec.structs.replace(state, aborted="a metric was above its limit")
    target.memory = msgspec.structs.replace(target.memory, states={"candidate": aborted})
    target.load = 5000
    assert [target.passes(15), target.passes(60)] == [150, 200]


def test_an_abort_gives_the_count_that_the_spec_has_decided():
    target = Target(on_trial(behavior=AT_ONCE))
    target.passes(15)
    target.load = 100
    assert target.passes(60) == 91
    state = target.memory.states["candidate"]
    aborted = msgspec.structs.replace(state, aborted="a metric was above its limit")
    target.memory = msgspec.structs.replace(target.memory, states={"candidate": aborted})
    assert target.passes(15) == 100
