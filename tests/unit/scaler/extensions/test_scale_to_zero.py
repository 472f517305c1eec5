"""`scaleToZero` and `activationValue`: when a target goes to zero, and when it leaves it."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import Branch, Decision, NotNeeded
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.observed import ScaleUnavailable
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerStatus, Behavior, CandidateSpec
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import MetricFallback
from scaler.api.history import Recommendation
from scaler.api.schedules import ScheduleSpec
from scaler.extensions import EXTENSIONS
from scaler.extensions.fallback import MetricRecord
from tests.unit.scaler.extensions.scaled_to_zero import (
    ANY,
    AT_ZERO,
    DOWN,
    FREE,
    LA,
    QUEUE,
    counts_of,
    desired,
    inactive,
    of_queue,
    queue,
)
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    few_examples,
    named,
    observed,
    of_pods,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
)

NOT_READ = {
    "the scale": {"scale": ScaleUnavailable(message="webhook down", context="x")},
    "a target of another autoscaler": {"rivals": ("HorizontalPodAutoscaler shop/other",)},
}


@pytest.mark.parametrize(
    "changes", [pytest.param(each, id=name) for name, each in NOT_READ.items()]
)
def test_the_cooldown_begins_again_after_a_time_in_which_no_metric_was_read(changes):
    """There may have been load meanwhile."""
    seen = msgspec.structs.replace(observed(of_queue(), replicas=1), **changes)
    blind = plan(seen, inactive(999), LA, NOW)
    assert isinstance(blind, Decision)
    assert desired(of_queue(), queue(0), memory=blind.memory, replicas=1).desired_replicas == 1


def test_the_cooldown_begins_again_after_the_pods_of_the_target_were_ambiguous():
    blind = decided(
        observed(of_queue(), replicas=1),
        (queue(0),),
        memory=inactive(999),
        settings=LA,
        controlled_by=("shop/web", "shop/other"),
    )
    assert desired(of_queue(), queue(0), memory=blind.memory, replicas=1).desired_replicas == 1


@pytest.mark.parametrize(
    ("seconds_ago", "window_seconds", "expected"),
    [(3600, 300, 5), (30, 300, 0), (3600, 0, 1), (60, 0, 0), (61, 0, 1)],
)
def test_the_cooldown_begins_again_after_a_time_without_reconciles(
    seconds_ago, window_seconds, expected
):
    """Another process, or this one after it was suspended, does not know what the metrics were meanwhile."""
    before = NOW - seconds_ago
    memory = Memory(
        recommendations=(Recommendation(replicas=1, since_unix_seconds=before - 999, until_unix_seconds=before),),
        states={"zero": before - 999},
    )  # fmt: skip
    stored = StoredMemory(history=history_of(memory, EXTENSIONS), known_replicas=(5,))
    down = rules(window_seconds=window_seconds)
    of = of_queue(behavior=Behavior(scale_up=rules(ANY), scale_down=down))
    assert desired(of, queue(0), memory=stored, replicas=5).desired_replicas == expected


@pytest.mark.parametrize(
    ("length", "inactive_seconds", "expected"),
    [
        pytest.param(6, 999, 1, id="active, whatever was before"),
        pytest.param(42, 999, 5, id="active: the metric decides"),
        pytest.param(5, 0, 1, id="at the activation value, the cooldown begins"),
        pytest.param(5, 119, 1, id="the cooldown lasts"),
        pytest.param(5, 120, 0, id="the cooldown is over"),
        pytest.param(0, 119, 1, id="no load: the cooldown lasts"),
        pytest.param(0, 120, 0, id="no load: the cooldown is over"),
    ],
)
def test_zero_is_reached_after_the_cooldown_without_an_active_metric(
    length, inactive_seconds, expected
):
    decision = desired(of_queue(), queue(length), memory=inactive(inactive_seconds), replicas=3)
    assert decision.desired_replicas == expected
    assert decision.memory.scaled_to_zero is (expected == 0)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(0, 0, id="no load"),
        pytest.param(5, 0, id="at the activation value, though the metric proposes one"),
        pytest.param(6, 1, id="above it"),
        pytest.param(42, 5, id="far above it"),
    ],
)
def test_zero_is_left_at_once_above_the_activation_value(length, expected):
    slow_up = Behavior(scale_up=rules(ANY, window_seconds=600), scale_down=rules())
    for behavior in (FREE, slow_up):
        decision = desired(of_queue(behavior=behavior), queue(length), memory=AT_ZERO, replicas=0)
        assert decision.desired_replicas == expected


@pytest.mark.parametrize(("replicas", "memory"), [(0, AT_ZERO), (3, inactive(999))])
@pytest.mark.parametrize("values_milli", [(-1,), (4000, -9000), (-9000, 4000)])
def test_a_negative_sum_is_not_active(replicas, memory, values_milli):
    """Although it counts as an overflow for a target of type AverageValue (`negative-external-sum` in docs/deviations.md)."""
    found = desired(of_queue(), ExternalValues(values_milli), memory=memory, replicas=replicas)
    assert found.desired_replicas == 0


def test_a_stabilization_window_does_not_hold_an_active_target_at_zero():
    slow_up = Behavior(scale_up=rules(ANY, window_seconds=600), scale_down=rules())
    at_zero = desired(of_queue(behavior=slow_up), queue(0), memory=AT_ZERO, replicas=0)
    later = desired(of_queue(behavior=slow_up), queue(42), memory=at_zero.memory, replicas=0)
    assert later.desired_replicas == 1


def test_a_disabled_scale_up_is_not_bypassed():
    disabled = Behavior(scale_up=rules(select="Disabled"), scale_down=rules())
    of = of_queue(behavior=disabled)
    decision = desired(of, queue(42), memory=AT_ZERO, replicas=0)
    assert decision.desired_replicas == 0
    assert "It stays at zero, although queue is above the activation value" in explain(
        decision.derivation, EXTENSIONS
    )


def test_the_stabilization_window_and_the_cooldown_start_together():
    """With both at 300 s, zero is reached after 300 s and not after 600 s."""
    slow_down = Behavior(scale_up=rules(), scale_down=rules(window_seconds=300))
    of, memory = of_queue(cooldown=300, behavior=slow_down), Memory(recommendations=())
    counts = []
    for seconds in range(0, 331, 15):
        decision = decided(
            observed(of, replicas=counts[-1] if counts else 3),
            (queue(30 if seconds == 0 else 0),),
            memory=memory,
            settings=LA,
            now=NOW + seconds,
        )
        memory = decision.memory
        counts.append(decision.desired_replicas)
    assert counts == [*[3] * 20, 1, 0, 0]


@pytest.mark.parametrize(
    ("replicas", "memory", "expected"),
    [
        pytest.param(3, inactive(999), None, id="a failure may hide load: not to zero"),
        pytest.param(0, AT_ZERO, None, id="nothing to start for"),
    ],
)
def test_a_failed_metric_moves_nothing_to_zero_or_from_it(replicas, memory, expected):
    decision = desired(of_queue(), DOWN, memory=memory, replicas=replicas)
    assert decision.desired_replicas in (expected, replicas)
    assert not isinstance(decision.memory.states.get("zero"), float), "the cooldown waits"


def test_a_metric_per_pod_counts_by_its_average():
    quiet, busy = samples({"web-0": 4_000}), samples({"web-0": 6_000})
    metrics = (QUEUE, named(of_pods(average("10")), "requests", activation_value="5"))
    memory = inactive(999)
    for reading, expected in ((quiet, 0), (busy, 1)):
        decision = desired(of_queue(*metrics), queue(0), reading, memory=memory, replicas=1)
        assert decision.desired_replicas == expected


@pytest.mark.parametrize(
    ("replicas", "current", "expected"),
    [
        pytest.param(2, 3, 2, id="a fallback with replicas is active"),
        pytest.param(2, 0, 2, id="also at zero, as in KEDA"),
        pytest.param(0, 3, 0, id="a fallback of zero is not"),
    ],
)
def test_a_metric_that_falls_back_is_active_when_it_proposes_replicas(replicas, current, expected):
    fallback = MetricFallback(type="Replicas", failure_duration_seconds=0, replicas=replicas)
    of = of_queue(named(QUEUE, "queue", fallback=fallback), cooldown=0)
    record = MetricRecord(name="queue", failing_since_unix_seconds=NOW - 60)
    memory = Memory(
        recommendations=(),
        scaled_to_zero=current == 0,
        states={"fallback": (record,), "zero": NOW - 60},
    )
    assert desired(of, DOWN, memory=memory, replicas=current).desired_replicas == expected


@pytest.mark.parametrize(
    ("manual_zero", "branch", "expected"),
    [
        pytest.param("Disable", Branch.DISABLED, 0, id="disabled, as an HPA"),
        pytest.param("", Branch.DISABLED, 0, id="by default too"),
        pytest.param("Activate", Branch.METRICS, 5, id="activated"),
    ],
)
def test_a_zero_that_a_user_set(manual_zero, branch, expected):
    decision = desired(of_queue(manual_zero=manual_zero), queue(42), replicas=0)
    assert (decision.branch, decision.desired_replicas) == (branch, expected)


CPU_THAT_NEVER_ACTIVATES = named(resource(utilization(50)), "cpu", activation_value="1P")
BUSY = samples({f"web-{index}": 1000 for index in range(3)})  # of cpu: it proposes six


@pytest.mark.parametrize(("inactive_seconds", "expected"), [(599, 6), (600, 0)])
def test_a_metric_that_never_activates_scales_during_the_cooldown_and_not_afterwards(
    inactive_seconds, expected
):
    of = of_queue(QUEUE, CPU_THAT_NEVER_ACTIVATES, cooldown=600)
    decision = desired(of, queue(0), BUSY, memory=inactive(inactive_seconds), replicas=3)
    assert decision.desired_replicas == expected


@pytest.mark.parametrize("behavior", [None, Behavior(scale_down=rules(window_seconds=300))])
def test_during_the_cooldown_a_low_sample_is_stabilized_as_by_an_hpa(behavior):
    """One sample of cpu that is low for a moment removes no replica that is busy."""
    of = of_queue(QUEUE, CPU_THAT_NEVER_ACTIVATES, cooldown=3600, behavior=behavior)
    steady, low = (samples({f"web-{index}": milli for index in range(4)}) for milli in (500, 100))
    cpu = [low if position == 20 else steady for position in range(60)]
    assert counts_of(of, [(queue(0), each) for each in cpu], replicas=4) == [4] * 60


@pytest.mark.parametrize("behavior", [None, Behavior(scale_down=rules(window_seconds=300))])
@pytest.mark.parametrize("cooldown", [60, 300, 600])
def test_zero_is_reached_after_the_longer_of_the_cooldown_and_the_window(behavior, cooldown):
    of = of_queue(cooldown=cooldown, behavior=behavior)
    lengths = [30, *[0] * 60]
    counts = counts_of(of, [(queue(each),) for each in lengths], replicas=3)
    at_zero_seconds = 15 * counts.index(0)
    assert at_zero_seconds - 15 - max(cooldown, 300) in ((0,) if behavior else (0, 15))
    assert set(counts[counts.index(0) :]) == {0}


def test_a_target_at_zero_stays_there_when_the_cooldown_begins_again():
    """What the cooldown recommended before does not count there."""
    of = of_queue(cooldown=60, behavior=None)
    lengths = [0] * 40
    readings = [(queue(each),) for each in lengths]
    readings[30] = (DOWN,)
    counts = counts_of(of, readings, replicas=1)
    assert 0 in counts[:30]
    assert set(counts[30:]) == {0}


def test_while_a_schedule_sets_a_floor_metrics_that_do_not_activate_count_and_the_cooldown_waits():
    always = ScheduleSpec(name="a", schedule="* * * * *", duration_seconds=3600, min_replicas=2)
    of = of_queue(QUEUE, CPU_THAT_NEVER_ACTIVATES, cooldown=600)
    decision = desired(
        replaced(of, schedules=(always,)), queue(0), BUSY, memory=inactive(999), replicas=3
    )
    assert decision.desired_replicas == 6
    assert "zero" not in decision.memory.states


def test_a_candidate_knows_of_the_floor_of_a_schedule():
    """A candidate that is equal to its spec decides the same."""
    always = ScheduleSpec(name="a", schedule="* * * * *", duration_seconds=3600, min_replicas=2)
    of = of_queue(QUEUE, CPU_THAT_NEVER_ACTIVATES, cooldown=600)
    steps = (CandidateStep(weight_percent=50, hold_seconds=600),)
    candidate = CandidateSpec(metrics=of.metrics, steps=steps)
    tried = replaced(of, schedules=(always,), candidate=candidate)
    decision = desired(tried, queue(0), BUSY, memory=inactive(999), replicas=3)
    assert decision.desired_replicas == 6
    assert decision.derivation.steps["candidate"].desired == 6


def test_activation_values_alone_have_no_cooldown():
    of = spec(QUEUE, min_replicas=0, behavior=FREE)
    assert desired(of, queue(5), replicas=3).desired_replicas == 0


def test_without_the_fields_an_external_metric_proposes_zero_itself():
    """As an HPA with HPAScaleToZero: any positive value keeps one replica."""
    of = spec(external(average("10")), min_replicas=0, behavior=FREE)
    assert desired(of, queue(1), memory=inactive(999), replicas=3).desired_replicas == 1
    assert desired(of, queue(0), replicas=3).desired_replicas == 0


def test_users_read_why_a_target_is_not_at_zero():
    decision = desired(of_queue(), queue(5), memory=inactive(30), replicas=1)
    outcome = settle(decision, NotNeeded(), NOW)
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "Cooldown"
    assert outcome.status.decision.summary.endswith("; the cooldown of 120 s keeps it from zero")
    assert (
        "No metric has been above its activation value for 30 s; it goes to zero after a cooldown of 120 s."
        in explain(decision.derivation, EXTENSIONS)
    )
    active = desired(of_queue(), queue(6), memory=inactive(30), replicas=1)
    assert "It stays above zero, because queue is above the activation value." in explain(
        active.derivation, EXTENSIONS
    )


def test_while_it_cools_down_the_status_does_not_change():
    first = settle(desired(of_queue(), queue(5), memory=inactive(30), replicas=1), NotNeeded(), NOW)
    seen: AutoscalerStatus = first.status
    again = desired(of_queue(), queue(5), memory=inactive(45), replicas=1, status=seen)
    assert not settle(again, NotNeeded(), NOW).status_changed


@few_examples
@given(
    length=st.integers(0, 40),
    cooldown=st.integers(0, 200),
    start=st.integers(0, 5),
)
def test_a_constant_load_crosses_zero_at_most_once(length, cooldown, start):
    of, memory, replicas = of_queue(cooldown=cooldown), Memory(scaled_to_zero=True), start
    counts = [start]
    for step in range(40):
        decision = decided(
            observed(of, replicas=replicas),
            (queue(length),),
            memory=memory,
            settings=LA,
            now=NOW + 15 * step,
        )
        memory, replicas = decision.memory, decision.desired_replicas
        counts.append(replicas)
    crossings = sum((a == 0) != (b == 0) for a, b in pairwise(counts))
    assert crossings <= 1
    assert (counts[-1] == 0) is (length <= 5)
