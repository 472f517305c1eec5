"""Until when a decision holds; and what was not considered is never kept."""

import math
from typing import Any

import msgspec
import pytest

from scaler.algorithm.expiry import ROUNDING_SECONDS, continued, valid_until
from scaler.algorithm.memory import Memory, UnconfirmedChange
from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import ExternalValues, Reading
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import AutoscalerSpec, Behavior, CandidateSpec, ScaleUpRules
from scaler.api.extension_spec import ForecastSpec, Futility, MetricFallback, Panic, Suspend
from scaler.api.kinds import LOAD_AUTOSCALERS
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

LA = Settings(kind=LOAD_AUTOSCALERS, scale_to_zero=True)
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
    until = valid_until(decision, memory, target_pods, NOW)
    return until - NOW + ROUNDING_SECONDS if until else 0


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
            10,
            id="a change leaves the period of the first policy",
        ),
        pytest.param(
            replaced(QUEUE, behavior=POLICIES),
            Memory(recommendations=(step(3, 15),), scale_down_events=events((1, 90))),
            110,
            id="a change leaves the period of the second policy",
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
                unconfirmed=UnconfirmedChange(before=3, after=4, sent_at_unix_seconds=NOW - 15),
            ),
            id="a write is not confirmed",
        ),
    ],
)
def test_a_decision_that_changes_the_memory_is_made_again(memory):
    assert valid_for(QUEUE, memory) == 0


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(
            replaced(QUEUE, behavior=Behavior(scale_up=ScaleUpRules(panic=Panic()))), id="panic"
        ),
        pytest.param(
            replaced(QUEUE, behavior=Behavior(scale_up=ScaleUpRules(futility=Futility()))),
            id="futility",
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
            id="a forecast",
        ),
        pytest.param(
            replaced(QUEUE, candidate=CandidateSpec(behavior=Behavior(), mode="DryRun")),
            id="a candidate",
        ),
    ],
)
def test_a_decision_with_a_field_that_is_not_known_is_made_again(of):
    """Also with every field that a later version adds, until it is listed in KNOWN_FIELDS."""
    assert valid_for(of) == 0


class SpecOfALaterVersion(AutoscalerSpec, frozen=True, kw_only=True):
    """It has a field that this version does not know."""

    weather: str = ""


def test_a_spec_with_an_unknown_field_is_decided_again_in_every_reconcile():
    fields: dict[str, Any] = msgspec.structs.asdict(QUEUE)
    assert valid_for(SpecOfALaterVersion(**fields, weather="rain")) == 0


def test_only_the_last_recommendation_is_continued():
    memory = Memory(recommendations=(step(5, 100), step(3, 15)))
    assert continued(memory, NOW).recommendations == (
        step(5, 100),
        step(3, 0, lasted_seconds=15),
    )
    assert continued(Memory(), NOW) == Memory()
