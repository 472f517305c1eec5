"""`spec.metrics[*].fallback` and `use`: what a metric counts as that has failed for some time, or only feeds others."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import ScaleUnavailable
from scaler.algorithm.readings import ExternalValues, MetricFailed, ObjectValue
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import MetricFallback
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.fallback import MetricRecord, source_of
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    few_examples,
    named,
    observed,
    of_object,
    of_pods,
    rules,
    samples,
    spec,
)
from wire.api.meta import LabelSelector

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
DOWN = MetricFailed("unable to fetch metrics from external metrics API: down")
FREE = Behavior(scale_up=rules(), scale_down=rules())
CPU_IS_LOW = samples({"web-0": 1_000, "web-1": 1_000, "web-2": 1_000, "web-3": 1_000})


def fallback(type_, *, replicas=None, max_age=None, duration=180):
    return MetricFallback(
        type=type_,
        failure_duration_seconds=duration,
        replicas=replicas,
        last_value_max_age_seconds=max_age,
    )


def failing(seconds, *, value=None, measured_seconds_ago=None):
    """The memory of a metric `queue` that has failed for so long."""
    record = MetricRecord(
        name="queue",
        failing_since_unix_seconds=NOW - seconds,
        last_value_milli=value,
        measured_at_unix_seconds=None
        if measured_seconds_ago is None
        else NOW - measured_seconds_ago,
    )
    return Memory(recommendations=(), states={"fallback": (record,)})


def queue_with(fallback_, **changes):
    return named(external(average("10")), "queue", fallback=fallback_, **changes)


def desired(of, *readings, memory, replicas=4):
    return decided(observed(of, replicas=replicas), readings, memory=memory, settings=LA)


@pytest.mark.parametrize(
    ("fallback_", "seconds", "expected"),
    [
        pytest.param(fallback("Replicas", replicas=10), 179, None, id="not yet"),
        pytest.param(fallback("Replicas", replicas=10), 180, 10, id="a count, up"),
        pytest.param(fallback("Replicas", replicas=2), 999, 2, id="a count, down"),
        pytest.param(fallback("Replicas", replicas=99), 999, 50, id="a count above the maximum"),
        pytest.param(fallback("Replicas", replicas=10, duration=0), 0, 10, id="at once"),
        pytest.param(fallback("Replicas", replicas=10, duration=None), 179, None, id="default"),
        pytest.param(fallback("Hold"), 999, 4, id="hold"),
        pytest.param(fallback("Fail"), 999, None, id="fail"),
        pytest.param(fallback("LastValue", max_age=600), 999, None, id="no value was ever read"),
        pytest.param(fallback("Later"), 999, None, id="a type of a newer version fails"),
    ],
)
def test_a_metric_falls_back_after_it_has_failed_for_its_duration(fallback_, seconds, expected):
    of = spec(queue_with(fallback_), max_replicas=50, behavior=FREE)
    decision = desired(of, DOWN, memory=failing(seconds))
    assert decision.desired_replicas == expected


def test_time_in_which_another_autoscaler_scales_the_target_does_not_count_as_failure():
    """The metric is not read then."""
    of = spec(queue_with(fallback("Replicas", replicas=10)), max_replicas=50, behavior=FREE)
    shared = observed(of, replicas=4, rivals=("HorizontalPodAutoscaler shop/other",))
    between = decided(shared, (), memory=failing(999), settings=LA)
    found = desired(of, DOWN, memory=between.memory)
    assert found.desired_replicas is None
    [record] = found.memory.states["fallback"]
    assert record.failing_since_unix_seconds == NOW


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"replicas": 60}, id="above the maximum"),
        pytest.param({"scale": ScaleUnavailable(message="down", context="x")}, id="no scale"),
    ],
)
def test_time_in_which_the_metric_is_not_read_does_not_count_as_failure(changes):
    of = spec(queue_with(fallback("Replicas", replicas=10)), max_replicas=50, behavior=FREE)
    seen = observed(of, replicas=changes.get("replicas", 4))
    if "scale" in changes:
        seen = msgspec.structs.replace(seen, scale=changes["scale"])
    between = decided(seen, (), memory=failing(999), settings=LA)
    found = desired(of, DOWN, memory=between.memory)
    assert found.desired_replicas is None


@pytest.mark.parametrize(
    ("measured_seconds_ago", "expected"),
    [
        pytest.param(600, 7, id="not too old"),
        pytest.param(601, None, id="too old"),
    ],
)
@pytest.mark.parametrize(
    "metric", [external(average("10")), of_object(average("10"))], ids=["external", "object"]
)
def test_a_last_value_counts_until_it_is_too_old(metric, measured_seconds_ago, expected):
    metric = named(metric, "queue", fallback=fallback("LastValue", max_age=600))
    memory = failing(300, value=70_000, measured_seconds_ago=measured_seconds_ago)
    decision = desired(spec(metric, behavior=FREE), DOWN, memory=memory)
    assert decision.desired_replicas == expected


@pytest.mark.parametrize("reading", [ExternalValues((30_000, 40_000)), ObjectValue(70_000)])
def test_the_last_value_is_the_one_for_all_pods_together(reading):
    metric = external(average("10")) if isinstance(reading, ExternalValues) else None
    metric = named(
        metric or of_object(average("10")), "queue", fallback=fallback("LastValue", max_age=600)
    )
    decision = desired(spec(metric, behavior=FREE), reading, memory=Memory(recommendations=()))
    assert decision.memory.states["fallback"] == (
        MetricRecord(
            name="queue",
            source=source_of(metric),
            last_value_milli=70_000,
            measured_at_unix_seconds=NOW,
        ),
    )


def test_the_failure_is_timed_from_its_first_reconcile_and_forgotten_with_the_first_value():
    of = spec(queue_with(fallback("Hold")))
    first = desired(of, DOWN, memory=Memory(recommendations=()))
    known = MetricRecord(name="queue", source=source_of(queue_with(None)))
    assert first.memory.states["fallback"] == (
        msgspec.structs.replace(known, failing_since_unix_seconds=NOW),
    )
    again = desired(of, DOWN, memory=failing(100))
    assert again.memory.states["fallback"] == (
        msgspec.structs.replace(known, failing_since_unix_seconds=NOW - 100),
    )
    healthy = desired(of, ExternalValues((40_000,)), memory=failing(100))
    assert healthy.memory.states["fallback"] == (known,)


@pytest.mark.parametrize(
    ("edited", "is_another"),
    [
        pytest.param(external(average("5"), name="queue_messages"), True, id="name"),
        pytest.param(
            external(average("5"), selector=LabelSelector(match_labels={"queue": "mail"})),
            True,
            id="selector",
        ),
        pytest.param(of_object(average("5")), True, id="type"),
        pytest.param(external(average("5")), False, id="only the target"),
    ],
)
def test_the_last_value_of_another_metric_does_not_count(edited, is_another):
    """Otherwise 3,000 bytes with a target of 1,000 would be 3,000 messages with a target of 5."""
    rule = fallback("LastValue", max_age=3600, duration=0)
    before = spec(named(external(average("1000")), "queue", fallback=rule), behavior=FREE)
    measured = desired(before, ExternalValues((3_000_000,)), memory=Memory(recommendations=()))
    after = spec(named(edited, "queue", fallback=rule), max_replicas=1000, behavior=FREE)
    decision = desired(after, DOWN, memory=measured.memory)
    assert decision.desired_replicas == (None if is_another else 600)


def test_a_record_of_an_earlier_version_has_no_source_and_still_counts():
    rule = fallback("LastValue", max_age=3600)
    memory = failing(300, value=70_000, measured_seconds_ago=300)
    assert desired(spec(queue_with(rule), behavior=FREE), DOWN, memory=memory).desired_replicas == 7


@pytest.mark.parametrize(
    ("fallback_", "cpu_milli", "expected"),
    [
        pytest.param(fallback("Hold"), 1_000, 4, id="hold: the others may not shrink it"),
        pytest.param(fallback("Hold"), 30_000, 12, id="hold: but the others may grow it"),
        pytest.param(fallback("Replicas", replicas=2), 1_000, 2, id="a count is a floor"),
        pytest.param(fallback("Replicas", replicas=2), 30_000, 12, id="and not a cap"),
        pytest.param(fallback("Fail"), 1_000, None, id="fail: as an HPA, no scale-down"),
        pytest.param(fallback("Fail"), 30_000, 12, id="fail: as an HPA, the others decide"),
    ],
)
def test_the_other_metrics_still_count(fallback_, cpu_milli, expected):
    of = spec(queue_with(fallback_), of_pods(average("10")), behavior=FREE)
    busy = samples({f"web-{index}": cpu_milli for index in range(4)})
    decision = desired(of, DOWN, busy, memory=failing(999))
    assert decision.desired_replicas == expected


def test_behavior_applies_to_a_fallback():
    slow = Behavior(scale_up=rules(), scale_down=rules(window_seconds=600))
    of = spec(queue_with(fallback("Replicas", replicas=1)), behavior=slow)
    memory = failing(999)
    first = desired(of, DOWN, memory=Memory(recommendations=None, states=memory.states))
    assert first.desired_replicas == 4, "the current count was recommended within the window"


def test_the_condition_the_event_and_why_name_the_metric_and_what_it_counts_as():
    of = spec(queue_with(fallback("Replicas", replicas=10)), behavior=FREE)
    decision = desired(of, DOWN, memory=failing(999))
    outcome = settle(decision, NotNeeded(), NOW)
    found = {each.type: each for each in outcome.status.conditions or ()}
    assert found["ScalingActive"].status == "True"
    assert found["MetricFallbackActive"].status == "True"
    assert found["MetricFallbackActive"].message == (
        "metric queue has failed for too long and counts as 10 replicas"
    )
    assert [each.reason for each in decision.events] == ["FailedGetExternalMetric"]
    assert explain(decision.derivation, EXTENSIONS).splitlines()[1] == (
        "  - queue has failed since 1970-01-12T13:30:01+00:00: unable to get external metric "
        "shop/queue/nil: unable to fetch metrics from external metrics API: down. "
        "Its fallback (Replicas) proposes 10 replicas."
    )


def test_while_nothing_falls_back_the_condition_says_so_in_constant_words():
    of = spec(queue_with(fallback("Hold")), behavior=FREE)
    decision = desired(of, ExternalValues((40_000,)), memory=failing(999))
    outcome = settle(decision, NotNeeded(), NOW)
    found = {each.type: each for each in outcome.status.conditions or ()}
    assert (found["MetricFallbackActive"].status, found["MetricFallbackActive"].reason) == (
        "False",
        "MetricsAvailable",
    )


@few_examples
@given(
    type_=st.sampled_from(["Hold", "Replicas", "LastValue"]),
    seconds=st.integers(0, 2_000),
    replicas=st.integers(1, 60),
    count=st.integers(0, 60),
    value=st.integers(0, 900_000),
)
def test_no_fallback_leaves_the_bounds_and_hold_never_scales(
    type_, seconds, replicas, count, value
):
    of = spec(
        queue_with(fallback(type_, replicas=count, max_age=600)), max_replicas=50, behavior=FREE
    )
    memory = failing(seconds, value=value, measured_seconds_ago=seconds)
    found = desired(of, DOWN, memory=memory, replicas=replicas).desired_replicas
    if found is None:
        assert seconds < 180 or (type_ == "LastValue" and seconds > 600)
    elif replicas <= 50:
        assert 1 <= found <= 50
        assert type_ != "Hold" or found == replicas


def test_an_input_proposes_nothing_but_is_measured_and_shown():
    of = spec(named(external(average("10")), "queue", use="Input"), of_pods(average("1")))
    decision = desired(of, ExternalValues((900_000,)), CPU_IS_LOW, memory=Memory())
    assert decision.desired_replicas == 4
    shown = decision.current_metrics[0]
    assert (shown.name, shown.external and shown.external.current.average_value) == ("queue", "225")
    assert "It is only an input, and proposes nothing itself." in explain(
        decision.derivation, EXTENSIONS
    )


def test_an_input_that_fails_is_reported_but_does_not_prevent_scaling_down():
    of = spec(
        named(external(average("10")), "queue", use="Input"), of_pods(average("2")), behavior=FREE
    )
    decision = desired(of, DOWN, CPU_IS_LOW, memory=Memory(recommendations=()))
    assert decision.desired_replicas == 2
    assert decision.error is None
    assert [each.reason for each in decision.events] == ["FailedGetExternalMetric"]


def test_without_a_metric_that_scales_nothing_is_decided():
    of = spec(named(external(average("10")), "queue", use="Input"))
    decision = desired(of, ExternalValues((0,)), memory=Memory(recommendations=()))
    assert decision.desired_replicas is None
