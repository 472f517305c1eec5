"""Until when a decision holds: the nearest deadline that the algorithm has compared with the moment, and that lies ahead."""

import math

import msgspec
import pytest

from scaler.algorithm.memory import Change, Memory
from scaler.algorithm.moment import ROUNDING_SECONDS, Moment
from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import ExternalValues, Reading
from scaler.algorithm.recommendations import continued, only_continues
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import AutoscalerSpec, Behavior, CandidateSpec, ScaleUpRules
from scaler.api.extension_spec import Futility, MetricFallback, Panic, Suspend
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    events,
    external,
    named,
    observed,
    pod,
    pods,
    replaced,
    resource,
    rules,
    samples,
    spec,
    step,
    utilization,
)
from wire.api.meta import time_from_unix

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
STEADY = Memory(recommendations=(step(3, 15),))
QUEUE = spec(external(average("10")))
THIRTY = ExternalValues((30_000,))


def valid_for(
    of: AutoscalerSpec,
    memory: Memory = STEADY,
    *,
    reading: Reading = THIRTY,
    target_pods: tuple[Pod, ...] | None = None,
) -> float:
    """Seconds from now, of a decision on three replicas."""
    target_pods = pods(3) if target_pods is None else target_pods
    decision = decided(
        observed(of, replicas=3), [reading], memory=memory, settings=LA, target_pods=target_pods
    )
    if not only_continues(memory, decision.memory):
        return 0
    return max(0, decision.holds_until_unix_seconds - NOW + ROUNDING_SECONDS)


def test_a_steady_decision_holds_without_an_end():
    assert valid_for(QUEUE) == math.inf


POLICIES = Behavior(
    scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules(at_most("Pods", 1, 200))
)
CPU_SPEC = spec(resource(utilization(50)))


@pytest.mark.parametrize(
    ("of", "memory", "seconds"),
    [
        pytest.param(
            QUEUE,
            Memory(recommendations=(step(5, 100), step(3, 15))),
            200,
            id="a recommendation leaves the window",
        ),
        pytest.param(
            replaced(QUEUE, behavior=POLICIES),
            Memory(recommendations=(step(3, 15),), scale_up_events=events((1, 50))),
            math.inf,
            id="a change in the period limits nothing while nothing changes",
        ),
        pytest.param(
            replaced(QUEUE, suspend=Suspend(until=time_from_unix(NOW + 40).isoformat())),
            STEADY,
            40,
            id="the suspension ends",
        ),
        pytest.param(
            replaced(QUEUE, suspend=Suspend(until=time_from_unix(NOW - 40).isoformat())),
            STEADY,
            math.inf,
            id="the suspension has ended",
        ),
    ],
)
def test_it_holds_until_the_next_moment_at_which_something_ends(of, memory, seconds):
    assert valid_for(of, memory) == pytest.approx(seconds)


def test_a_decision_on_cpu_holds_until_a_pod_is_initialized():
    started = (*pods(2), pod("web-2", started_seconds_ago=100, turned_seconds_ago=90))
    reading = samples({"web-0": 500, "web-1": 500, "web-2": 500})
    assert valid_for(CPU_SPEC, reading=reading, target_pods=started) == pytest.approx(200)
    assert valid_for(QUEUE, target_pods=started) == math.inf


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(Memory(), id="it was made for the first time"),
        pytest.param(Memory(recommendations=(step(2, 15),)), id="the recommendation has changed"),
        pytest.param(
            Memory(recommendations=(step(9, 400), step(3, 15))), id="a recommendation was forgotten"
        ),
        pytest.param(
            msgspec.structs.replace(
                STEADY,
                unconfirmed=Change(before=3, after=4, at_unix_seconds=NOW - 15, confirmed=False),
            ),
            id="a write is not confirmed",
        ),
    ],
)
def test_a_decision_that_changes_the_memory_is_made_again(memory):
    assert valid_for(QUEUE, memory) == 0


def kept_at_three(of: AutoscalerSpec, memory: Memory, reading: Reading) -> float:
    """Seconds for which three replicas stay, although the metric wants something else."""
    decision = decided(observed(of, replicas=3), [reading], memory=memory, settings=LA)
    assert decision.desired_replicas == 3
    return decision.holds_until_unix_seconds - NOW + ROUNDING_SECONDS


@pytest.mark.parametrize(
    ("memory", "length", "seconds"),
    [
        pytest.param(
            Memory(recommendations=(step(9, 15),), scale_up_events=events((4, 50))),
            9,
            10,
            id="a scale-up until the change leaves the period of its policy",
        ),
        pytest.param(
            Memory(recommendations=(step(1, 15),), scale_down_events=events((1, 90))),
            1,
            110,
            id="a scale-down likewise",
        ),
    ],
)
def test_a_limited_count_holds_until_the_limit_moves(memory, length, seconds):
    reading = ExternalValues((length * 10_000,))
    found = kept_at_three(replaced(QUEUE, behavior=POLICIES), memory, reading)
    assert found == pytest.approx(seconds)


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(
            replaced(QUEUE, behavior=Behavior(scale_up=ScaleUpRules(panic=Panic()))), id="panic"
        ),
        pytest.param(
            spec(
                named(external(average("10")), "queue", fallback=MetricFallback(type="LastValue"))
            ),
            id="a last value",
        ),
        pytest.param(
            replaced(
                spec(named(external(average("10")), "queue")),
                forecast=ForecastSpec(metric="queue"),
            ),
            id="a forecast that learns",
        ),
        pytest.param(
            replaced(QUEUE, candidate=CandidateSpec(behavior=Behavior(), mode="DryRun")),
            id="a candidate",
        ),
    ],
)
def test_a_decision_of_an_extension_that_remembers_more_is_made_again(of):
    assert valid_for(of) == 0


def test_a_scale_up_that_is_held_by_pods_that_are_not_ready_holds_until_another_one_is_late():
    of = replaced(
        QUEUE,
        behavior=Behavior(
            scale_up=ScaleUpRules(
                futility=Futility(ready_timeout_seconds=120, max_unready_replicas=1)
            ),
            scale_down=rules(),
        ),
    )
    late = (*pods(2), pod("web-2", ready="False", turned_seconds_ago=100))
    assert valid_for(of, target_pods=late) == pytest.approx(20)


def test_the_nearest_deadline_counts_and_reached_ones_do_not():
    moment = Moment(100.0)
    assert moment.reached(100.0)
    assert not moment.passed(100.0)
    assert not moment.reached(130.0)
    assert not moment.reached(120.0)
    assert moment.holds_until_unix_seconds == 100.0 - ROUNDING_SECONDS
    later = Moment(100.0)
    assert not later.reached(130.0)
    assert later.later(110.0).holds_until_unix_seconds == 130.0 - ROUNDING_SECONDS


def test_only_the_last_recommendation_is_continued():
    memory = Memory(recommendations=(step(5, 100), step(3, 15)))
    assert continued(memory, NOW, 300).recommendations == (
        step(5, 100),
        step(3, 0, lasted_seconds=15),
    )


def test_a_continuation_forgets_what_no_window_needs():
    memory = Memory(recommendations=(step(5, 100), step(3, 15)))
    assert continued(memory, NOW, 60).recommendations == (step(3, 0, lasted_seconds=15),)
    assert continued(Memory(), NOW, 60) == Memory()
