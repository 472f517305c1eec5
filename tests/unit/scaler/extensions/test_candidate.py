"""`spec.candidate`: two policies on the same values, each with its own memory."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.observed import ScaleView
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.restart import as_stored, restores_alike
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import memory_after_refusal, settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import (
    AbortCondition,
    Behavior,
    CandidateSpec,
    MetricIdentifier,
    ScaleUpRules,
)
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import Panic
from scaler.api.history import History
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    few_examples,
    observed,
    recommended,
    replaced,
    rules,
    spec,
    step,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
GONE = MetricFailed("no metrics returned from external metrics API")
FAST_DOWN = Behavior(scale_up=rules(), scale_down=rules(window_seconds=0))
SLOW_DOWN = Behavior(scale_up=rules(), scale_down=rules(window_seconds=600))
ERRORS = AbortCondition(metric=MetricIdentifier(name="error_ratio"), above="0.01", for_seconds=0)


def trial(*, weight=50, mode="", metrics=None, behavior=None, abort_when=None, of=None, **limits):
    of = of or spec(behavior=SLOW_DOWN, **limits)
    candidate = CandidateSpec(
        metrics=metrics,
        behavior=behavior,
        mode=mode,
        steps=(CandidateStep(weight_percent=weight, hold_seconds=600),),
        abort_when=abort_when,
    )
    return replaced(of, candidate=candidate)


def decision(of, *values, replicas=20, memory=None, now=NOW):
    readings = [GONE if each is None else ExternalValues((each * 1000,)) for each in values]
    return decided(
        observed(of, replicas=replicas),
        readings,
        memory=memory or recommended((20, 60)),
        settings=LA,
        now=now,
    )


def condition(found):
    status = settle(found, NotNeeded(), NOW).status
    return next(each for each in status.conditions if each.type == "CandidateProgressing")


def remembering(of, *, replicas):
    """A memory in which the candidate has made a reconcile, with this recommendation of both."""
    found = decision(of, replicas * 10, replicas=replicas, memory=recommended((replicas, 60)))
    return found.memory


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        pytest.param(0, 20, id="the spec's window still holds 20"),
        pytest.param(10, 19, id="a tenth"),
        pytest.param(50, 15, id="half"),
        pytest.param(100, 10, id="the candidate has none"),
    ],
)
def test_a_behavior_on_trial_gets_its_share_of_the_difference(weight, expected):
    of = trial(weight=weight, behavior=FAST_DOWN)
    found = decision(of, 100, memory=remembering(of, replicas=20))
    assert found.desired_replicas == expected
    status = settle(found, NotNeeded(), NOW).status.candidate
    assert (status.spec_replicas, status.candidate_replicas) == (20, 10)
    assert status.weight_percent == weight


def test_metrics_on_trial_are_read_beside_those_of_the_spec():
    of = trial(metrics=(external(average("5")),), behavior=None)
    found = decision(of, 100, 100, replicas=10, memory=recommended((10, 900)))
    assert found.desired_replicas == 15
    assert len(settle(found, NotNeeded(), NOW).status.current_metrics) == 1


def test_an_equal_metric_is_read_once():
    of = trial(metrics=(external(average("10")), external(average("9"), name="other")))
    ask = plan(observed(of, replicas=4), recommended((4, 60)), LA, NOW)
    assert [each.external.metric.name for each in ask.metrics] == ["queue", "other"]


def test_each_policy_remembers_its_own_recommendations():
    of = trial(metrics=(external(average("5")),))
    memory = decision(of, 100, 100, replicas=10, memory=recommended((10, 900))).memory
    assert memory.recommendations[-1].replicas == 10
    assert memory.states["candidate"].memory.recommendations[-1].replicas == 20


def test_a_shadow_is_reported_and_changes_nothing():
    of = trial(mode="DryRun", behavior=FAST_DOWN)
    found = decision(of, 100, memory=remembering(of, replicas=20))
    assert found.desired_replicas == 20
    assert condition(found).reason == "DryRun"
    assert (
        "Candidate: 10 replicas, decided by external metric queue(nil); the spec: 20."
        in explain(found.derivation, EXTENSIONS)
    )


def test_a_breach_gives_the_decision_back_at_once_and_finally():
    of = trial(behavior=FAST_DOWN, abort_when=(ERRORS,))
    memory = decision(of, 200, 0, memory=recommended((20, 60))).memory
    found = decision(of, 100, 1, memory=memory)
    assert found.desired_replicas == 20
    assert [each.reason for each in found.events] == ["CandidateAborted"]
    assert condition(found).message == (
        "the spec decides, because error_ratio is 1, and has been above 10m for 0 s; "
        "a changed candidate starts again"
    )
    later = decision(of, 100, 0, memory=found.memory, now=NOW + 86_400)
    assert condition(later).reason == "Aborted"
    assert later.desired_replicas == settle(later, NotNeeded(), NOW).status.candidate.spec_replicas
    assert later.events == ()


def test_an_aborted_candidate_is_not_tried_again_as_a_shadow_but_a_changed_one_is():
    of = trial(behavior=FAST_DOWN, abort_when=(ERRORS,))
    aborted = decision(of, 100, 1, memory=recommended((20, 60))).memory
    shadow = trial(behavior=FAST_DOWN, abort_when=(ERRORS,), mode="DryRun")
    changed = trial(behavior=SLOW_DOWN, abort_when=(ERRORS,))
    assert condition(decision(shadow, 100, 0, memory=aborted)).reason == "Aborted"
    assert condition(decision(changed, 100, 0, memory=aborted)).reason == "Progressing"


def test_without_the_field_nothing_is_remembered_or_shown():
    of = trial(behavior=FAST_DOWN)
    memory = remembering(of, replicas=20)
    found = decision(spec(behavior=SLOW_DOWN), 100, memory=memory)
    assert "candidate" not in found.memory.states
    assert found.derivation.steps.get("candidate") is None
    outcome = settle(found, NotNeeded(), NOW)
    assert outcome.status.candidate is None
    assert "CandidateProgressing" not in [each.type for each in outcome.status.conditions]


def test_while_the_metrics_of_the_candidate_fail_the_spec_decides():
    of = trial(metrics=(external(average("5"), name="other"),))
    found = decision(of, 100, None, replicas=10, memory=recommended((10, 900)))
    assert found.desired_replicas == 10
    assert condition(found).reason == "CandidateFailed"
    assert "its metrics do not allow a decision, so the spec decides: 10" in explain(
        found.derivation, EXTENSIONS
    )


def test_while_the_metrics_of_the_spec_fail_nothing_is_decided_and_the_trial_waits():
    of = trial(metrics=(external(average("5"), name="other"),))
    found = decision(of, None, 100, replicas=10, memory=recommended((10, 900)))
    assert found.desired_replicas is None
    assert condition(found).reason == "Waiting"


def test_a_rescale_counts_for_the_policies_of_both():
    behavior = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    of = trial(of=spec(behavior=behavior), weight=100, behavior=behavior)
    first = decision(of, 200, replicas=10, memory=recommended((10, 900)))
    assert first.desired_replicas == 14
    memory = settle(first, Rescaled(), NOW).memory
    assert decision(of, 200, replicas=14, memory=memory, now=NOW + 15).desired_replicas == 14


def test_a_write_without_a_response_counts_for_the_policies_of_both_after_a_time_without_reconciles():
    behavior = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    of = trial(of=spec(behavior=behavior), weight=100, behavior=behavior)
    first = decision(of, 200, replicas=10, memory=recommended((10, 900)))
    assert first.desired_replicas == 14
    memory = settle(first, RescaleFailed("no response", may_be_applied=True), NOW).memory
    stored = as_stored(memory, EXTENSIONS, 10)
    later = decision(of, 200, replicas=14, memory=stored, now=NOW + 15).memory
    (of_spec,), (of_candidate,) = (
        later.scale_up_events,
        later.states["candidate"].memory.scale_up_events,
    )
    assert of_spec == of_candidate
    assert of_spec.replica_change == 4


def test_a_trial_survives_a_restart():
    of = trial(behavior=FAST_DOWN, abort_when=(ERRORS,))
    memory = decision(of, 100, 1, memory=recommended((20, 60))).memory
    body = msgspec.json.encode(history_of(memory, EXTENSIONS))
    history = msgspec.json.decode(body, type=History)
    stored = StoredMemory(history=history, known_replicas=(20, 20))
    assert restores_alike(stored, memory, EXTENSIONS)
    assert not restores_alike(msgspec.structs.replace(memory, states={}), memory, EXTENSIONS)
    found = decision(of, 100, 0, memory=stored, now=NOW + 15).memory.states["candidate"]
    assert found.aborted
    assert {each.replicas for each in found.memory.recommendations} == {10, 20}


def test_a_step_that_was_held_for_a_minute_longer_is_stored():
    of = trial(behavior=FAST_DOWN)
    memory = remembering(of, replicas=20)
    state = msgspec.structs.replace(memory.states["candidate"], held_seconds=61.0)
    longer = msgspec.structs.replace(memory, states={"candidate": state})
    assert not restores_alike(memory, longer, EXTENSIONS)


loads = st.integers(0, 3_000)


@few_examples
@given(
    load=loads,
    replicas=st.integers(1, 60),
    low=st.integers(1, 10),
    more=st.integers(0, 50),
    weight=st.integers(0, 100),
    target=st.integers(1, 50),
    past=st.integers(1, 80),
    up=st.integers(1, 20),
)
def test_the_bounds_hold_and_the_blend_lies_between_both_decisions(
    load, replicas, low, more, weight, target, past, up
):
    behavior = Behavior(scale_up=rules(at_most("Pods", up, 60)), scale_down=rules())
    of = trial(
        weight=weight,
        metrics=(external(average(str(target)), name="other"),),
        behavior=behavior,
        min_replicas=low,
        max_replicas=low + more,
    )
    memory = Memory(recommendations=(step(past, 60),))
    found = decision(of, load, load, replicas=replicas, memory=memory)
    if found.derivation.steps.get("candidate") is None:
        return
    known = found.derivation.steps.get("candidate")
    assert low <= found.desired_replicas <= low + more
    both = (known.spec_desired, known.desired)
    assert min(both) <= found.desired_replicas <= max(both)
    without = decision(
        replaced(of, candidate=None), load, replicas=replicas, memory=memory
    ).desired_replicas
    assert known.spec_desired == without


def test_a_refused_write_after_a_restart_counts_for_the_policies_of_both():
    """What another process stored is not decoded before the decision that continues it."""
    behavior = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    of = trial(of=spec(behavior=behavior), weight=100, behavior=behavior)
    before = decision(of, 100, replicas=10, memory=recommended((10, 900))).memory
    stored = StoredMemory(history=history_of(before, EXTENSIONS), known_replicas=(10, 10))
    refused = decision(of, 200, replicas=10, memory=stored)
    newest = ScaleView(spec_replicas=14, status_replicas=10, selector="app=web")
    memory = memory_after_refusal(stored, refused, newest, NOW)
    assert decision(of, 200, replicas=14, memory=memory, now=NOW + 15).desired_replicas == 14


def test_a_panic_of_the_candidate_ends_while_the_target_is_disabled():
    """As that of its spec: what the metrics do meanwhile is not measured."""
    up = ScaleUpRules(panic=Panic(hold_seconds=600))
    behavior = Behavior(scale_up=up, scale_down=rules(window_seconds=0))
    of = trial(of=spec(behavior=behavior), weight=100, behavior=behavior)
    memory = decision(of, 400, replicas=4, memory=recommended((4, 60))).memory
    disabled = decision(of, 400, replicas=0, memory=memory, now=NOW + 60)
    assert disabled.desired_replicas == 0
    again = decision(of, 20, replicas=2, memory=disabled.memory, now=NOW + 120)
    found = again.derivation.steps["candidate"]
    assert (found.spec_desired, found.desired) == (2, 2)


def test_a_new_candidate_counts_the_changes_that_its_spec_remembers():
    behavior = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    before = spec(behavior=behavior)
    first = decision(before, 200, replicas=10, memory=recommended((10, 900)))
    memory = settle(first, Rescaled(), NOW).memory
    of = trial(of=before, weight=100, behavior=behavior)
    assert decision(of, 200, replicas=14, memory=memory, now=NOW + 15).desired_replicas == 14
