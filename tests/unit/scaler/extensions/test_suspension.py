"""`spec.suspend` and `mode: DryRun`: what is decided, what is written, and what users read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import Decision, NotNeeded, Outcome, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed, Reading
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerSpec, AutoscalerStatus
from scaler.api.extension_spec import Suspend
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    observed,
    recommended,
    replaced,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
FAILED = MetricFailed("unable to fetch metrics from external metrics API: down")
LATER, EARLIER = "1970-01-12T13:46:50Z", "1970-01-12T13:46:30Z"  # NOW is ...:40


def suspended(suspend: Suspend, **changes: object) -> AutoscalerSpec:
    return replaced(spec(external(average("10")), max_replicas=20), suspend=suspend, **changes)


def reconciled(
    of: AutoscalerSpec,
    reading: Reading,
    *,
    replicas: int,
    status: AutoscalerStatus | None = None,
    memory: Memory | None = None,
) -> tuple[Decision, Outcome]:
    seen = observed(of, replicas=replicas, status=status)
    memory = memory or Memory(recommendations=())
    decision = decided(seen, (reading,), memory=memory, settings=LA)
    return decision, settle(decision, Rescaled() if decision.rescale else NotNeeded(), NOW)


def conditions(outcome: Outcome) -> dict[str, tuple[str, str, str]]:
    return {
        each.type: (each.status, each.reason, each.message)
        for each in outcome.status.conditions or ()
    }


def queue(length: int) -> ExternalValues:
    return ExternalValues((length * 1000,))


@pytest.mark.parametrize(
    ("suspend", "current", "length", "desired", "held_by"),
    [
        pytest.param(Suspend(), 4, 80, 4, "Suspended", id="both: not up"),
        pytest.param(Suspend(), 4, 10, 4, "Suspended", id="both: not down"),
        pytest.param(Suspend(), 4, 40, 4, "", id="both: nothing to hold"),
        pytest.param(Suspend(direction="Up"), 4, 80, 4, "Suspended", id="up: not up"),
        pytest.param(Suspend(direction="Up"), 4, 10, 1, "", id="up: but down"),
        pytest.param(Suspend(direction="Down"), 4, 80, 8, "", id="down: but up"),
        pytest.param(Suspend(direction="Down"), 4, 10, 4, "Suspended", id="down: not down"),
        pytest.param(Suspend(), 30, 80, 30, "Suspended", id="not even to maxReplicas"),
        pytest.param(Suspend(replicas=6), 4, 80, 6, "Suspended", id="at a count"),
        pytest.param(Suspend(replicas=0), 4, 80, 0, "Suspended", id="at zero"),
        pytest.param(Suspend(until=LATER), 4, 80, 4, "Suspended", id="until later"),
        pytest.param(Suspend(until=EARLIER), 4, 80, 8, "", id="ended"),
        pytest.param(Suspend(until="later"), 4, 80, 4, "Suspended", id="an unreadable end"),
        pytest.param(Suspend(direction="Sideways"), 4, 80, 4, "Suspended", id="unknown"),
    ],
)
def test_a_suspension_holds_back_its_direction(suspend, current, length, desired, held_by):
    decision, outcome = reconciled(suspended(suspend), queue(length), replicas=current)
    assert decision.desired_replicas == desired
    assert decision.rescale is (desired != current)
    assert outcome.status.desired_replicas == desired
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == held_by


def test_what_the_metrics_propose_stays_visible():
    of = suspended(Suspend(direction="Down", until=LATER))
    decision, outcome = reconciled(of, queue(10), replicas=4)
    assert outcome.status.decision is not None
    assert outcome.status.decision.proposed_replicas == 1
    assert outcome.status.decision.summary.endswith(f"scaling down is suspended until {LATER}")
    assert conditions(outcome)["Suspended"] == (
        "True",
        "Suspended",
        f"scaling down is suspended until {LATER}",
    )
    assert (
        explain(outcome.derivation, EXTENSIONS).splitlines()[0] == "shop/web stays at 4 replicas."
    )
    assert explain(outcome.derivation, EXTENSIONS).splitlines()[-1] == (
        f"  Scaling down is suspended until {LATER}. Without that, the replica count would be 1."
    )
    assert decision.memory.recommendations is not None
    assert decision.memory.recommendations[-1].replicas == 1, "windows go on"


def test_the_condition_says_that_a_suspension_has_ended_and_disappears_with_the_field():
    _, ended = reconciled(suspended(Suspend(until=EARLIER)), queue(40), replicas=4)
    assert conditions(ended)["Suspended"] == (
        "False",
        "SuspensionEnded",
        f"the suspension ended at {EARLIER}",
    )
    plain = spec(external(average("10")), max_replicas=20)
    _, outcome = reconciled(plain, queue(40), replicas=4, status=ended.status)
    assert "Suspended" not in conditions(outcome)


@pytest.mark.parametrize("replicas", [0, 6])
def test_replicas_of_a_suspension_do_not_need_a_metric(replicas):
    decision, outcome = reconciled(suspended(Suspend(replicas=replicas)), FAILED, replicas=4)
    assert (decision.desired_replicas, decision.rescale) == (replicas, True)
    assert outcome.error.startswith("failed to compute desired number of replicas")
    assert conditions(outcome)["ScalingActive"][0] == "False"


def test_a_failing_metric_does_not_hide_the_suspension():
    decision, outcome = reconciled(suspended(Suspend()), FAILED, replicas=4)
    assert decision.desired_replicas is None
    assert conditions(outcome)["Suspended"][0] == "True"


@pytest.mark.parametrize(("min_replicas", "desired"), [(0, 4), (2, 2)])
def test_a_suspension_at_zero_is_left_again_when_it_ends(min_replicas, desired):
    of = suspended(Suspend(replicas=0, until=LATER), min_replicas=min_replicas)
    _, outcome = reconciled(of, queue(80), replicas=4)
    assert outcome.memory.scaled_to_zero
    assert conditions(outcome)["ScaledToZero"][:2] == ("True", "ScaledToZero")
    after = suspended(Suspend(replicas=0, until=EARLIER), min_replicas=min_replicas)
    decision, _ = reconciled(
        after, queue(80), replicas=0, status=outcome.status, memory=outcome.memory
    )
    # A minimum needs no metric; by the metric there are 4, because the pods that are there do not limit the count.
    assert decision.desired_replicas == desired


def test_after_the_field_is_removed_a_zero_ends_at_the_minimum_while_metrics_fail():
    """A metric that the workload itself exports has no value at zero, so it would stay there."""
    of = suspended(Suspend(replicas=0), min_replicas=2)
    _, outcome = reconciled(of, queue(80), replicas=4)
    plain = replaced(of, suspend=None)
    decision, after = reconciled(
        plain, FAILED, replicas=0, status=outcome.status, memory=outcome.memory
    )
    assert (decision.desired_replicas, decision.rescale) == (2, True)
    assert decision.rescale_reason == "Current number of replicas below Spec.MinReplicas"
    assert conditions(after)["ScalingActive"][0] == "False"


def test_the_zero_of_a_user_stays_while_metrics_fail():
    plain = replaced(suspended(Suspend(), min_replicas=2), suspend=None)
    decision, _ = reconciled(plain, FAILED, replicas=0)
    assert not decision.rescale


@given(
    current=st.integers(1, 30),
    length=st.integers(0, 400),
    direction=st.sampled_from(["Both", "Up", "Down"]),
)
def test_a_suspension_only_ever_keeps_the_count_or_what_would_have_been_decided(
    current, length, direction
):
    free, _ = reconciled(
        spec(external(average("10")), max_replicas=20), queue(length), replicas=current
    )
    held, _ = reconciled(suspended(Suspend(direction=direction)), queue(length), replicas=current)
    assert held.desired_replicas in (current, free.desired_replicas)
    assert held.memory == free.memory
    if direction != "Up":
        assert (held.desired_replicas or 0) >= current or direction == "Both"
    if direction != "Down":
        assert (held.desired_replicas or 0) <= current


DRY = replaced(spec(external(average("10")), max_replicas=20), mode="DryRun")


def test_a_dry_run_decides_but_does_not_write():
    decision, outcome = reconciled(DRY, queue(80), replicas=4)
    assert (decision.desired_replicas, decision.rescale) == (8, False)
    assert (outcome.status.current_replicas, outcome.status.desired_replicas) == (4, 8)
    assert outcome.status.last_scale_time is None
    assert outcome.memory.scale_up_events == (), "no policy budget is used"
    assert conditions(outcome)["DryRun"][:2] == ("True", "DryRun")
    assert outcome.status.decision is not None
    assert outcome.status.decision.summary.startswith("would go from 4 to 8 replicas")
    (event,) = outcome.events
    assert (event.reason, event.message) == (
        "DryRunRescale",
        "New size would be: 8; reason: external metric queue(nil) above target",
    )


def test_a_dry_run_emits_an_event_only_when_the_count_changes():
    _, first = reconciled(DRY, queue(80), replicas=4)
    _, second = reconciled(DRY, queue(80), replicas=4, status=first.status)
    _, third = reconciled(DRY, queue(60), replicas=4, status=second.status)
    assert [len(each.events) for each in (first, second, third)] == [1, 0, 1]
    assert not second.status_changed


def test_a_dry_run_does_not_take_a_zero_for_its_own():
    dry = replaced(DRY, min_replicas=0)
    _, outcome = reconciled(dry, queue(0), replicas=4)
    assert outcome.status.desired_replicas == 0
    assert not outcome.memory.scaled_to_zero


@given(current=st.integers(1, 30), length=st.integers(0, 400))
def test_a_dry_run_decides_as_if_it_were_carried_out(current, length):
    enforced, _ = reconciled(replaced(DRY, mode="Enforce"), queue(length), replicas=current)
    dry, _ = reconciled(DRY, queue(length), replicas=current)
    assert dry.desired_replicas == enforced.desired_replicas
    assert dry.memory.recommendations == enforced.memory.recommendations
    assert not dry.rescale


@pytest.mark.parametrize(
    "held", [{"suspend": Suspend(direction="Down")}, {"mode": "DryRun"}], ids=["suspend", "mode"]
)
def test_a_target_that_stays_outside_its_bounds_keeps_its_stabilization_window(held):
    """No metric is read meanwhile, so the last recommendation still counts, as while metrics fail."""
    of = replaced(spec(external(average("10")), max_replicas=50), **held)
    memory = recommended((45, 6_000))
    decision, _ = reconciled(of, queue(450), replicas=60, memory=memory)
    assert decision.rescale is False
    assert [
        (each.replicas, each.until_unix_seconds) for each in decision.memory.recommendations
    ] == [(45, NOW)]
