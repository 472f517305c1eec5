"""The rules that other autoscalers have had for longer: Knative's panic, KEDA's fallback and activation.

The vectors of Knative are its own code's (`python -m testbed.oracle.knative.record`, knative.dev/serving v0.47.1).
"""

import math

import pytest

from scaler.model.policy import PanicRules
from scaler.model.readings import ExternalValues
from scaler.normalize.panic import panic_state
from scaler.recommend.propose import propose
from testbed.oracle.knative.record import PanicCase, read
from tests.unit.scaler.objects import average, external, spec, workload


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


def keda_fallback_milli(target: float, replicas: int) -> int:
    """The value that KEDA reports in place of a failed metric of type AverageValue.

    github.com/kedacore/keda/v2 v2.18.1, pkg/fallback/fallback.go, doFallback:
    `*resource.NewMilliQuantity(int64(normalisationValue*1000*replicas), resource.DecimalSI)`
    """
    return int(target * 1000 * replicas)


@pytest.mark.parametrize("current", [1, 4, 10, 11, 30])
@pytest.mark.parametrize("replicas", [0, 1, 5, 10, 100])
@pytest.mark.parametrize("target", ["10", "3", "1500m"])
def test_a_fallback_to_replicas_is_kedas_up_to_the_tolerance_of_the_hpa(target, replicas, current):
    """KEDA changes the value of the metric, so the HPA still applies its tolerance to it; a count is exact here."""
    of = spec(external(average(target)))
    value_milli = keda_fallback_milli(1.5 if target == "1500m" else float(target), replicas)
    found = propose(
        external(average(target)), ExternalValues((value_milli,)), workload(of, replicas=current)
    ).derivation
    if found.kept:
        assert found.proposal == current
        assert abs(replicas / current - 1) <= 0.1 + 1e-9
    else:
        assert found.proposal == replicas
