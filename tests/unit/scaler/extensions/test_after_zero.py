"""After a target has left zero: its window and its policies, as if another program had added the first replica."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import StoredMemory
from scaler.algorithm.readings import ComputedFrom, ObjectValue
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior, FormulaMetricSource, MetricSpec
from scaler.api.extension_spec import MetricFallback
from scaler.api.schedules import ScheduleSpec
from scaler.extensions import EXTENSIONS
from scaler.extensions.fallback import MetricRecord
from tests.unit.scaler.extensions.scaled_to_zero import (
    ANY,
    AT_ZERO,
    DOWN,
    FREE,
    LA,
    desired,
    of_queue,
    queue,
    scaled,
)
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    named,
    observed,
    of_object,
    pod,
    replaced,
    rules,
    spec,
    value,
)

SLOW_UP = Behavior(scale_up=rules(ANY, window_seconds=600), scale_down=rules())
ONE_IN_TEN_MINUTES = Behavior(scale_up=rules(at_most("Pods", 1, 600)), scale_down=rules())
DOUBLE_EACH_MINUTE = Behavior(scale_up=rules(at_most("Percent", 100, 60)), scale_down=rules())


def test_what_was_recommended_at_zero_does_not_hold_a_target_that_has_left_it():
    """The HPA of KEDA does not decide at zero, so nothing from there is in its stabilization window."""
    of = of_queue(behavior=SLOW_UP)
    assert scaled(of, [(queue(0),)] * 40 + [(queue(42),)] * 3)[39:] == [0, 1, 5, 5]


def test_a_stabilization_window_counts_from_the_first_replica_on():
    of = of_queue(behavior=SLOW_UP)
    lengths = [0, 0, 20, 20, 80]
    assert scaled(of, [(queue(each),) for each in lengths]) == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        pytest.param(ONE_IN_TEN_MINUTES, [1, 2, *[2] * 39, 3], id="pods"),
        pytest.param(DOUBLE_EACH_MINUTE, [1, 2, 2, 2, 2, 4, 4, 4, 4, 8], id="percent"),
    ],
)
def test_the_first_replica_does_not_count_for_policies(behavior, expected):
    """In KEDA, another program than the HPA adds it."""
    of = of_queue(behavior=behavior)
    assert scaled(of, [(queue(0),), *[(queue(200),)] * len(expected)])[1:] == expected


def test_replicas_that_are_added_with_the_first_one_count_for_policies():
    four_a_minute = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    counts = scaled(of_queue(behavior=four_a_minute), [(queue(0),), *[(queue(200),)] * 5])
    assert counts == [0, 4, 5, 5, 5, 8], "as from one replica on"


def test_what_was_recommended_at_zero_does_not_hold_a_target_that_a_schedule_has_started():
    of = of_queue(behavior=SLOW_UP)
    asleep = desired(of, queue(0), memory=AT_ZERO, replicas=0)
    always = ScheduleSpec(name="a", schedule="* * * * *", duration_seconds=3600, min_replicas=2)
    of = replaced(of, schedules=(always,))
    assert scaled(of, [(queue(80),)] * 2, memory=asleep.memory) == [2, 8]


def test_the_first_replica_that_another_process_has_added_does_not_count_either():
    """It died before it could store that, so the count shows it."""
    of = of_queue(behavior=ONE_IN_TEN_MINUTES)
    asleep = desired(of, queue(0), memory=AT_ZERO, replicas=0)
    stored = StoredMemory(history=history_of(asleep.memory, EXTENSIONS), known_replicas=(0,))
    assert desired(of, queue(80), memory=stored, replicas=1).desired_replicas == 2


@pytest.mark.parametrize("behavior", [SLOW_UP, ONE_IN_TEN_MINUTES])
def test_without_the_fields_what_was_recommended_at_zero_counts_as_by_an_hpa(behavior):
    of = spec(external(average("10")), min_replicas=0, max_replicas=20, behavior=behavior)
    assert scaled(of, [(queue(0),)] * 2 + [(queue(42),)] * 3)[2:] == (
        [0, 0, 0] if behavior is SLOW_UP else [1, 1, 1]
    )


OF_VALUE = {
    "external": (external(value("5")), queue(100)),
    "object": (of_object(value("5")), ObjectValue(100_000)),
}


@pytest.mark.parametrize(
    ("metric", "reading"), [pytest.param(*each, id=name) for name, each in OF_VALUE.items()]
)
@pytest.mark.parametrize("behavior", [None, FREE])
def test_a_target_of_type_value_multiplies_no_replicas_before_a_pod_is_ready(
    metric, reading, behavior
):
    """KEDA adds one replica, and its HPA multiplies the ready pods (`getUsageRatioReplicaCount`)."""
    of = of_queue(named(metric, "queue"), behavior=behavior)
    memory, counts = AT_ZERO, []
    for position, is_ready in enumerate([False] * 4 + [True]):
        replicas = counts[-1] if counts else 0
        pods = tuple(pod(f"web-{i}", ready=str(is_ready)) for i in range(replicas))
        now = NOW + 15 * position
        seen = observed(of, replicas=replicas)
        decision = decided(seen, (reading,), memory=memory, settings=LA, now=now, target_pods=pods)
        memory = settle(decision, NotNeeded(), now).memory
        counts.append(decision.desired_replicas)
    assert counts[:4] == [1] * 4
    assert counts[4] == (20 if behavior is FREE else 4)


def test_a_formula_of_type_value_starts_a_target_with_one_replica():
    source = FormulaMetricSource(expression="queue / 10", target=value("1"))
    load = MetricSpec(type="Formula", name="load", formula=source)
    of = of_queue(named(external(average("1")), "queue", use="Input"), load)
    assert desired(of, queue(50), ComputedFrom(), memory=AT_ZERO, replicas=0).desired_replicas == 1


def test_users_read_why_a_target_of_type_value_starts_with_one_replica():
    of = of_queue(named(external(value("5")), "queue"))
    decision = desired(of, queue(100), memory=AT_ZERO, replicas=0)
    assert "ratio 20.00. 0 pods ready. It proposes 1 replica." in explain(
        decision.derivation, EXTENSIONS
    )


def test_a_last_value_of_type_value_starts_a_target_with_one_replica():
    fallback = MetricFallback(type="LastValue", failure_duration_seconds=0)
    of = of_queue(named(external(value("5")), "queue", fallback=fallback))
    record = MetricRecord(
        name="queue",
        failing_since_unix_seconds=NOW - 60,
        last_value_milli=100_000,
        measured_at_unix_seconds=NOW - 60,
    )
    memory = at_zero_with(fallback=(record,))
    assert desired(of, DOWN, memory=memory, replicas=0).desired_replicas == 1


def at_zero_with(**states):
    return msgspec.structs.replace(AT_ZERO, states=states)


def test_a_fallback_with_replicas_starts_a_target_with_these():
    fallback = MetricFallback(type="Replicas", failure_duration_seconds=0, replicas=6)
    of = of_queue(named(external(value("5")), "queue", fallback=fallback))
    record = MetricRecord(name="queue", failing_since_unix_seconds=NOW - 60)
    memory = at_zero_with(fallback=(record,))
    assert desired(of, DOWN, memory=memory, replicas=0).desired_replicas == 6


def test_without_the_fields_a_target_of_type_value_starts_as_by_an_hpa():
    of = spec(external(value("5")), min_replicas=0, max_replicas=20, behavior=FREE)
    assert desired(of, queue(100), memory=AT_ZERO, replicas=0).desired_replicas == 20
