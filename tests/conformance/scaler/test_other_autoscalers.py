"""The rules that other autoscalers have had for longer: Knative's panic, KEDA's fallback and scaling to zero.

The vectors are made by their own code: knative.dev/serving v0.47.1 (`python -m testbed.oracle.knative.record`) and
github.com/kedacore/keda/v2 v2.18.1 (`python -m testbed.oracle.keda.record`). Kubernetes has no code of its own yet
for a fallback of external metrics (KEP-5679).
"""

import math

import pytest

from scaler.algorithm.branch import branch_of
from scaler.algorithm.decision import Branch
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.moment import Moment
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.panic import PanicRules, panic_state
from scaler.extensions.scale_to_zero import Activity, ZeroRules, zero
from testbed.oracle.keda import record as keda_record
from testbed.oracle.keda.record import FallbackCase
from testbed.oracle.knative.record import PanicCase, read
from tests.unit.scaler.objects import (
    NOW,
    average,
    external,
    resource,
    spec,
    utilization,
    value,
    workload,
)


@pytest.fixture(scope="module")
def panic_cases() -> list[PanicCase]:
    return read()


def desired_of(case: PanicCase) -> list[int]:
    """The pods after each step by the scaler's rule, where Knative's other limits do not apply."""
    rules = PanicRules(
        threshold_ratio=case.threshold_percent / 100,
        window_seconds=6,
        hold_seconds=case.stable_window_seconds,
    )
    state, counts = None, []
    for step in case.steps:
        stable, recent = (math.ceil(value / case.target) for value in (step.stable, step.panic))
        state = panic_state(
            state,
            rules,
            stable=stable,
            recent=recent,
            ready_pods=step.ready,
            now_unix_seconds=step.at_seconds,
        )
        counts.append(stable if state is None else state.highest)
    return counts


def test_a_panic_wants_the_pods_that_knatives_autoscaler_wants(panic_cases):
    differences = [each for each in panic_cases if desired_of(each) != each.desired]
    assert differences[:1] == [], f"{len(differences)} of {len(panic_cases)} differ"


def test_the_recorded_loads_begin_and_end_panics(panic_cases):
    steps = [
        (math.ceil(step.stable / each.target), wanted)
        for each in panic_cases
        for step, wanted in zip(each.steps, each.desired, strict=True)
    ]
    assert len(steps) > 15_000
    panicking = sum(wanted > stable for stable, wanted in steps)
    assert 0.2 < panicking / len(steps) < 0.9


@pytest.fixture(scope="module")
def keda() -> keda_record.Cases:
    return keda_record.read()


def with_kedas_value(case: FallbackCase) -> MetricDerivation:
    """What an HPA computes from the value that KEDA reports in place of the metric."""
    target = average(case.target) if case.type == "AverageValue" else value(case.target)
    metric = external(target)
    assert case.value_milli is not None
    reading = ExternalValues((case.value_milli,))
    return propose(metric, reading, workload(spec(metric), replicas=case.current)).derivation


@pytest.mark.parametrize(
    ("behavior", "replicas_of"),
    [
        pytest.param("static", lambda case: case.replicas, id="Replicas"),
        pytest.param("currentReplicas", lambda case: case.current, id="Hold"),
    ],
)
def test_a_fallback_is_kedas_up_to_the_tolerance_of_the_hpa(keda, behavior, replicas_of):
    """KEDA changes the value of the metric, so the HPA still applies its tolerance to it; a count is exact here."""
    compared = 0
    for case in keda.fallbacks:
        if case.behavior != behavior or case.current == 0:
            continue
        wanted, found = replicas_of(case), with_kedas_value(case)
        compared += 1
        if found.kept:
            assert found.proposal == case.current
            assert abs(wanted / case.current - 1) <= 0.1 + 1e-9
        else:
            assert found.proposal == wanted, case
    assert compared == 150


def test_keda_has_no_fallback_for_a_target_of_type_value_at_zero(keda):
    """It divides by the ready pods. A fallback to replicas counts there as well."""
    failing = [each for each in keda.fallbacks if each.value_milli is None]
    assert failing
    assert all((each.type, each.ready) == ("Value", 0) for each in failing)


def test_zero_begins_and_ends_when_it_does_with_keda(keda):
    compared = 0
    for case in keda.zeros:
        if case.min_replicas > 0:
            continue
        activity = Activity(active=("queue",) if case.is_active else (), unknown=case.is_error)
        result = zero(
            ZeroRules(cooldown_seconds=case.cooldown_seconds, manual_zero_activates=False),
            NOW - case.inactive_seconds,
            activity,
            current=case.current,
            recommended=case.current,
            may_leave_zero=True,
            moment=Moment(NOW),
        )
        compared += 1
        assert (max(result.recommended, result.floor) == 0) is (case.replicas == 0), case
    assert compared == 60


def test_a_minimum_ends_zero_as_with_keda_and_also_while_metrics_fail(keda):
    at_zero = [each for each in keda.zeros if each.current == 0 and each.min_replicas == 2]
    differing = [each for each in at_zero if each.replicas != 2]
    assert len(at_zero) == 20
    assert all(each.is_error and not each.is_active for each in differing)
    policy = policy_of(
        spec(resource(utilization(50)), min_replicas=2),
        Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS),
    )
    assert branch_of(0, policy, was_scaled_to_zero=True) is Branch.BELOW_MIN
