"""`behavior.scaleUp.panic`: a sudden load is followed at once, and not given up while it lasts."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior, ScaleUpRules
from scaler.api.extension_spec import MetricFallback, Panic
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.fallback import MetricRecord
from scaler.extensions.panic import Panicking, PanicSample, PanicState
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    few_examples,
    named,
    observed,
    pods,
    recommended,
    replaced,
    rules,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)


FALLBACK = MetricFallback(type="Replicas", replicas=40, failure_duration_seconds=30)


def with_panic(panic=None, *, min_replicas=1, max_replicas=50, select="Max"):
    """One pod a minute, after ten minutes of the same recommendation; down at once."""
    up = ScaleUpRules(
        stabilization_window_seconds=600,
        select_policy=select,
        policies=(at_most("Pods", 1, 60),),
        panic=panic or Panic(),
    )
    behavior = Behavior(scale_up=up, scale_down=rules())
    return spec(
        external(average("10")),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        behavior=behavior,
    )


def panicking(highest, seconds_ago):
    state = Panicking(over_at_unix_seconds=NOW - seconds_ago, highest=highest)
    return Memory(recommendations=(), states={"panic": PanicState(panicking=state)})


def desired(of, length, *, memory=None, replicas=4, target_pods=None):
    memory = recommended((4, 30)) if memory is None else memory
    return decided(
        observed(of, replicas=replicas),
        (ExternalValues((length * 1000,)),),
        memory=memory,
        settings=LA,
        target_pods=target_pods,
    )


@pytest.mark.parametrize(
    ("length", "expected", "panics"),
    [
        pytest.param(79, 8, True, id="twice the ready pods"),
        pytest.param(300, 30, True, id="far more"),
        pytest.param(900, 50, True, id="more than the maximum"),
        pytest.param(70, 4, False, id="less than twice"),
        pytest.param(10, 1, False, id="less load"),
    ],
)
def test_a_sudden_load_is_followed_without_windows_and_policies(length, expected, panics):
    decision = desired(with_panic(), length)
    assert decision.desired_replicas == expected
    assert (decision.memory.states["panic"].panicking is not None) is panics


def test_only_ready_pods_count():
    decision = desired(with_panic(), 40, replicas=4, target_pods=pods(2))
    assert decision.memory.states["panic"].panicking == Panicking(
        over_at_unix_seconds=NOW, highest=4
    )


@pytest.mark.parametrize(
    ("seconds_ago", "expected"),
    [
        pytest.param(60, 20, id="within the hold"),
        pytest.param(60.1, 1, id="after it"),
    ],
)
def test_while_a_panic_lasts_nothing_shrinks(seconds_ago, expected):
    decision = desired(with_panic(), 10, memory=panicking(20, seconds_ago), replicas=20)
    assert decision.desired_replicas == expected


def test_a_panic_that_begins_with_fewer_ready_pods_than_replicas_does_not_shrink():
    decision = desired(with_panic(), 50, replicas=10, target_pods=pods(2))
    assert decision.desired_replicas == 10


@pytest.mark.parametrize(("fallback", "expected"), [(None, 40), (FALLBACK, 4)])
def test_a_fallback_begins_no_panic(fallback, expected):
    """It has not measured a sudden load, so windows and policies limit it."""
    of = with_panic()
    metric = named(of.metrics[0], "queue", fallback=fallback)
    record = MetricRecord(name="queue", failing_since_unix_seconds=NOW - 999)
    memory = msgspec.structs.replace(recommended((4, 30)), states={"fallback": (record,)})
    reading = MetricFailed("down") if fallback else ExternalValues((400_000,))
    found = decided(
        observed(replaced(of, metrics=(metric,)), replicas=4),
        (reading,),
        memory=memory,
        settings=LA,
    )
    assert found.desired_replicas == expected


def with_a_fallback(before, value, *, now=NOW, fallback=95):
    """A decision from 4 replicas with two metrics: one with this value, None if it fails, and one that has fallen back."""
    of = with_panic(max_replicas=100)
    metric = of.metrics[0]
    failing = MetricFallback(type="Replicas", replicas=fallback, failure_duration_seconds=30)
    metrics = (named(metric, "queue"), named(metric, "other", fallback=failing))
    record = MetricRecord(name="other", failing_since_unix_seconds=NOW - 999)
    states = {"fallback": (record,), "panic": before}
    return decided(
        observed(replaced(of, metrics=metrics), replicas=4),
        (
            MetricFailed("down") if value is None else ExternalValues((value * 1000,)),
            MetricFailed("down"),
        ),
        memory=msgspec.structs.replace(recommended((4, 30)), states=states),
        settings=LA,
        now=now,
    )


@pytest.mark.parametrize("fallback", [1, 30, 95])
def test_a_fallback_hides_no_load_that_another_metric_has_measured(fallback):
    assert with_a_fallback(PanicState(), 400, fallback=fallback).desired_replicas == 40
    assert with_a_fallback(PanicState(), 40, fallback=fallback).desired_replicas == 4


def test_a_reconcile_that_measures_nothing_does_not_count_in_the_window():
    """Otherwise the next one would find half of the load."""
    before = with_a_fallback(PanicState(), None).memory.states["panic"]
    assert before == PanicState()
    found = with_a_fallback(before, 100, now=NOW + 2)
    assert found.memory.states["panic"].panicking.highest == 10


def test_a_reconcile_that_measures_nothing_begins_no_panic():
    """Not by what was measured before it, either."""
    calm = PanicSample(replicas=4, made_at_unix_seconds=NOW - 5)
    load = PanicSample(replicas=10, made_at_unix_seconds=NOW - 4)
    found = with_a_fallback(PanicState(samples=(calm, load)), None, now=NOW + 1.5)
    assert found.memory.states["panic"] == PanicState(samples=(load,))


def test_the_window_is_averaged():
    """One reading of 80 between others of 40 is not a panic with a window of 6 s."""
    calm = tuple(PanicSample(replicas=4, made_at_unix_seconds=NOW - ago) for ago in (6, 5.9, 4, 2))
    memory = msgspec.structs.replace(
        recommended((4, 30)), states={"panic": PanicState(samples=calm)}
    )
    decision = desired(with_panic(), 80, memory=memory)
    assert decision.desired_replicas == 4
    assert [
        each.made_at_unix_seconds - NOW for each in decision.memory.states["panic"].samples
    ] == [
        pytest.approx(-5.9),
        -4,
        -2,
        0,
    ]


def test_a_disabled_scale_up_does_not_panic():
    assert desired(with_panic(select="Disabled"), 300).desired_replicas == 4


def test_a_failed_metric_does_not_end_a_panic():
    decision = decided(
        observed(with_panic(), replicas=20),
        (MetricFailed("down"),),
        memory=panicking(20, 30),
        settings=LA,
    )
    assert decision.memory.states == panicking(20, 30).states


def test_users_read_that_and_why_it_panics():
    decision = desired(with_panic(), 300)
    outcome = settle(decision, Rescaled(), NOW)
    found = {each.type: each for each in outcome.status.conditions or ()}
    assert found["Panicking"].status == "True"
    assert found["Panicking"].message == (
        "the metrics propose at least 200% of the ready pods, or did within the last 60 s: "
        "scaling up without limits, and not down"
    )
    assert found["ScalingLimited"].status == "False"
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "Panicking"
    assert (
        explain(decision.derivation, EXTENSIONS)
        .splitlines()[-1]
        .endswith("Without that, the replica count would be 4.")
    )
    calm = settle(desired(with_panic(), 40), NotNeeded(), NOW)
    found = {each.type: each for each in calm.status.conditions or ()}
    assert found["Panicking"].status == "False"


@few_examples
@given(
    lengths=st.lists(st.integers(0, 900), min_size=1, max_size=30),
    threshold=st.sampled_from([110, 200, 400]),
    hold=st.sampled_from([15, 60]),
)
def test_a_panic_never_shrinks_and_never_leaves_the_bounds(lengths, threshold, hold):
    of = with_panic(Panic(threshold_percent=threshold, hold_seconds=hold), min_replicas=2)
    memory, replicas = Memory(), 4
    for number, length in enumerate(lengths):
        decision = decided(
            observed(of, replicas=replicas),
            (ExternalValues((length * 1000,)),),
            memory=memory,
            settings=LA,
            now=NOW + 15 * number,
        )
        memory = decision.memory
        found = decision.desired_replicas
        assert found is not None
        assert 2 <= found <= 50
        if memory.states["panic"].panicking is not None:
            assert found >= replicas
        replicas = found


@pytest.mark.parametrize(
    ("panic", "expected"),
    [
        pytest.param(None, [4, 6, 6, 6, 3, 3, 3, 3, 3, 3], id="without"),
        pytest.param(Panic(), [4, 20, 20, 20, 20, 20, 3, 3, 3, 3], id="with"),
    ],
)
def test_the_trace_in_the_documentation(panic, expected):
    up = ScaleUpRules(policies=(at_most("Pods", 2, 60),), select_policy="Max", panic=panic)
    behavior = Behavior(scale_up=up, scale_down=rules())
    of = spec(external(average("30")), max_replicas=40, behavior=behavior)
    memory, replicas, counts = Memory(), 4, []
    for number, length in enumerate([120, 600, 600, 600, 90, 90, 90, 90, 90, 90]):
        decision = decided(
            observed(of, replicas=replicas),
            (ExternalValues((length * 1000,)),),
            memory=memory,
            settings=LA,
            now=NOW + 15 * number,
        )
        memory = settle(decision, Rescaled(), NOW + 15 * number).memory
        replicas = decision.desired_replicas
        counts.append(replicas)
    assert counts == expected
