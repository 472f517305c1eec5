"""While a metric fails, it is not known whether it is active: the target does not go to zero, and the cooldown waits."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import StoredMemory
from scaler.algorithm.readings import MetricFailed
from scaler.algorithm.restart import shifted
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import FallbackType, MetricFallback
from scaler.extensions import EXTENSIONS
from scaler.extensions.scale_to_zero import Paused
from tests.unit.scaler.extensions.scaled_to_zero import (
    AT_ZERO,
    DOWN,
    FREE,
    QUEUE,
    counts_of,
    desired,
    inactive,
    of_queue,
    queue,
    scaled,
)
from tests.unit.scaler.objects import (
    NOW,
    average,
    container_resource,
    external,
    named,
    of_pods,
    resource,
    rules,
    spec,
    utilization,
)

EMPTY, BUSY = (queue(0),), (queue(42),)
FAILED = (DOWN,)


@pytest.mark.parametrize(
    ("readings", "zero_at"),
    [
        pytest.param([EMPTY] * 20, 8, id="none fails"),
        pytest.param([EMPTY] * 3 + [FAILED] + [EMPTY] * 16, 9, id="one fails"),
        pytest.param([EMPTY] * 3 + [FAILED, EMPTY] * 9, 14, id="every second one"),
        pytest.param([EMPTY] * 3 + [FAILED] * 40 + [EMPTY] * 16, 48, id="for longer than the cooldown"),
        pytest.param([BUSY] + [FAILED] * 40 + [EMPTY] * 16, 49, id="directly after load"),
        pytest.param([EMPTY] * 3 + [FAILED] * 9 + [BUSY] + [EMPTY] * 16, 21, id="load after the failure"),
    ],
)  # fmt: skip
def test_the_time_of_a_failure_does_not_count_for_the_cooldown(readings, zero_at):
    """One failed read does not begin a cooldown of 120 s again, and none of them sets the target to zero."""
    counts = counts_of(of_queue(), readings, replicas=5)
    assert counts.index(0) == zero_at


@pytest.mark.parametrize("behavior", [None, Behavior(scale_down=rules(window_seconds=300))])
def test_reads_that_fail_now_and_then_do_not_keep_a_target_from_zero(behavior):
    readings = [FAILED if position % 10 == 9 else EMPTY for position in range(60)]
    counts = counts_of(of_queue(cooldown=600, behavior=behavior), readings, replicas=3)
    assert 600 <= 15 * counts.index(0) <= 700


def test_a_metric_that_fails_beside_others_makes_the_cooldown_wait():
    of = of_queue(QUEUE, named(external(average("10"), name="other"), "other"))
    readings = [(queue(0), queue(0))] * 3 + [(queue(0), DOWN)] * 40 + [(queue(0), queue(0))] * 16
    assert counts_of(of, readings, replicas=5).index(0) == 48


def test_a_cooldown_that_waits_begins_again_after_a_restart():
    """What is stored has no time in which it waited."""
    failed = desired(of_queue(), DOWN, memory=inactive(999), replicas=1)
    assert failed.memory.states["zero"] == Paused(inactive_seconds=999)
    stored = StoredMemory(history=history_of(failed.memory, EXTENSIONS), known_replicas=(1,))
    assert desired(of_queue(), queue(0), memory=stored, replicas=1).desired_replicas == 1


def test_a_cooldown_that_waits_does_so_on_a_clock_that_was_stepped():
    failed = desired(of_queue(), DOWN, memory=inactive(60), replicas=1)
    memory = shifted(failed.memory, 3600, EXTENSIONS)
    assert memory.states["zero"] == Paused(inactive_seconds=60)


NEVER = {
    "cpu": resource(utilization(50)),
    "a container": container_resource(utilization(50)),
}
NO_CPU = MetricFailed("no metrics returned from resource metrics API")


@pytest.mark.parametrize("metric", [pytest.param(each, id=name) for name, each in NEVER.items()])
@pytest.mark.parametrize("behavior", [None, Behavior(scale_down=rules(window_seconds=300))])
@pytest.mark.parametrize("cooldown", [120, 300, 600])
def test_a_failed_metric_that_is_never_active_does_not_keep_a_target_from_zero(
    metric, behavior, cooldown
):
    """KEDA does not read it. Until then it keeps the replicas, as by an HPA."""
    of = of_queue(
        QUEUE, named(metric, "cpu", activation_value="1P"), cooldown=cooldown, behavior=behavior
    )
    readings = [(queue(30), NO_CPU)] + [(queue(0), NO_CPU)] * 60
    counts = counts_of(of, readings, replicas=3)
    at_zero = counts.index(0)
    assert counts == [3] * at_zero + [0] * (61 - at_zero)
    assert 15 * (at_zero - 1) - max(cooldown, 300) in ((0,) if behavior else (0, 15))


def test_its_failure_is_reported_beside_the_zero():
    of = of_queue(QUEUE, named(resource(utilization(50)), "cpu", activation_value="1P"))
    decision = desired(of, queue(0), NO_CPU, memory=inactive(999), replicas=3)
    assert decision.desired_replicas == 0
    assert [each.reason for each in decision.events] == ["FailedGetResourceMetric"]
    assert decision.error is not None
    assert "so it may go to zero" in explain(decision.derivation, EXTENSIONS)


@pytest.mark.parametrize(
    ("metric", "activation_value"),
    [
        pytest.param(resource(utilization(50)), None, id="cpu, active at any usage"),
        pytest.param(resource(utilization(50)), "900T", id="cpu, active at a value"),
        pytest.param(of_pods(average("10")), "1P", id="a metric of pods may have any value"),
        pytest.param(external(average("10"), name="b"), "1P", id="an external one as well"),
    ],
)
def test_any_other_metric_that_fails_keeps_a_target_from_zero(metric, activation_value):
    of = of_queue(QUEUE, named(metric, "other", activation_value=activation_value))
    decision = desired(of, queue(0), NO_CPU, memory=inactive(999), replicas=3)
    assert decision.desired_replicas is None


OF_PODS = {
    "Resource": resource(utilization(50)),
    "ContainerResource": container_resource(utilization(50)),
    "Pods": of_pods(average("10")),
}


@pytest.mark.parametrize("metric", [pytest.param(each, id=name) for name, each in OF_PODS.items()])
def test_at_zero_a_metric_of_pods_that_has_no_value_is_not_an_error(metric):
    """There are no pods, so nothing is wrong."""
    of = of_queue(QUEUE, named(metric, "of-pods"))
    asleep = desired(of, queue(0), NO_CPU, memory=AT_ZERO, replicas=0)
    outcome = settle(asleep, NotNeeded(), NOW)
    assert (asleep.desired_replicas, outcome.error, outcome.events) == (0, None, ())
    assert "it has no value, because the target has no pods" in explain(
        asleep.derivation, EXTENSIONS
    )
    started = desired(of, queue(42), NO_CPU, memory=asleep.memory, replicas=0)
    assert (started.desired_replicas, started.error) == (5, None)


def test_at_zero_a_metric_of_pods_with_a_wrong_spec_is_an_error():
    wrong = msgspec.structs.replace(resource(utilization(50)), type="Wrong")
    found = desired(of_queue(QUEUE, wrong), queue(0), NO_CPU, memory=AT_ZERO, replicas=0)
    assert [each.reason for each in found.events] == ["InvalidMetricSourceType"]


def test_at_zero_a_metric_that_needs_no_pods_still_fails():
    of = of_queue(QUEUE, named(resource(utilization(50)), "cpu"))
    found = desired(of, DOWN, NO_CPU, memory=AT_ZERO, replicas=0)
    assert found.desired_replicas is None
    assert [each.reason for each in found.events] == ["FailedGetExternalMetric"]


def test_without_the_fields_a_metric_of_pods_fails_at_zero_as_by_an_hpa():
    of = spec(external(average("10")), resource(utilization(50)), min_replicas=0, behavior=FREE)
    found = desired(of, queue(0), NO_CPU, memory=AT_ZERO, replicas=0)
    assert [each.reason for each in found.events] == ["FailedGetResourceMetric"]


@pytest.mark.parametrize("activation", [None, "1P"])
@pytest.mark.parametrize("of_each_pod", [resource(utilization(50)), of_pods(average("10"))])
def test_a_fallback_of_a_metric_of_pods_starts_nothing_at_zero_where_there_are_none(
    of_each_pod, activation
):
    fallback = MetricFallback(type=FallbackType.REPLICAS, failure_duration_seconds=60, replicas=6)
    metric = named(of_each_pod, "pods", fallback=fallback, activation_value=activation)
    readings = [(queue(0), MetricFailed("no metrics returned"))] * 12
    assert scaled(of_queue(QUEUE, metric), readings) == [0] * 12
    assert scaled(of_queue(QUEUE, metric), [(queue(42), readings[0][1])] * 3)[0] > 0


def test_at_zero_it_is_said_that_a_metric_has_failed_which_starts_nothing():
    of = of_queue(QUEUE, named(external(average("10")), "other"))
    decision = desired(of, queue(0), DOWN, memory=AT_ZERO, replicas=0)
    assert "It stays at zero: no metric is known to be above its activation value" in explain(
        decision.derivation, EXTENSIONS
    )
