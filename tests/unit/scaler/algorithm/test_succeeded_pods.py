"""Pods that have succeeded: LoadAutoscalers leave them out, HPAs of Kubernetes 1.35 to 1.37 count them (#141302)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.memory import Memory
from scaler.algorithm.settings import Settings
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS, extensions_of
from tests.unit.scaler.objects import (
    average,
    container_resource,
    decided,
    few_examples,
    observed,
    of_pods,
    pod,
    pods,
    resource,
    rules,
    samples,
    spec,
    utilization,
)

HPA, LA = (
    Settings(extensions=extensions_of(kind), kind=kind)
    for kind in (HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS)
)
FREE = Behavior(scale_up=rules(), scale_down=rules())
CPU = resource(utilization(50))


def decision(settings, usage_milli, *, metric=CPU, running=3, succeeded=3, extra=None):
    """Each running pod requests 1 CPU, and uses this much of it or of the metric."""
    finished = tuple(pod(f"done-{index}", phase="Succeeded") for index in range(succeeded))
    return decided(
        observed(spec(metric, behavior=FREE), replicas=running),
        (samples({f"web-{index}": usage_milli for index in range(running)} | (extra or {})),),
        memory=Memory(recommendations=()),
        settings=settings,
        target_pods=(*pods(running), *finished),
    )


@pytest.mark.deviation("succeeded-pods")
@pytest.mark.parametrize(
    ("settings", "usage_milli", "expected"),
    [
        pytest.param(HPA, 100, 3, id="HPA: 10% and three at their whole request"),
        pytest.param(LA, 100, 1, id="LoadAutoscaler: 10%"),
        pytest.param(HPA, 900, 3, id="HPA: 90% and three at 0"),
        pytest.param(LA, 900, 6, id="LoadAutoscaler: 90%"),
    ],
)
def test_succeeded_pods_damp_the_scaling_of_hpas_only(settings, usage_milli, expected):
    assert decision(settings, usage_milli).desired_replicas == expected


@pytest.mark.parametrize(
    "metric",
    [of_pods(average("500m")), container_resource(utilization(50))],
    ids=["Pods", "container"],
)
def test_all_metrics_of_pods_leave_them_out(metric):
    assert decision(LA, 900, metric=metric).desired_replicas == 6


def test_a_last_sample_of_a_succeeded_pod_does_not_count_either():
    extra = {f"done-{index}": 5 for index in range(3)}
    assert decision(LA, 900, extra=extra).desired_replicas == 6


def test_users_read_which_pods_have_succeeded():
    text = explain(decision(LA, 900).derivation, EXTENSIONS)
    assert "3 pods ready, 3 succeeded (done-0, done-1, done-2)." in text
    assert "succeeded" not in explain(decision(HPA, 900).derivation, ())


@few_examples
@given(usage_milli=st.integers(0, 2_000), succeeded=st.integers(0, 9))
def test_a_loadautoscaler_decides_as_without_them(usage_milli, succeeded):
    with_them = decision(LA, usage_milli, succeeded=succeeded)
    without = decision(LA, usage_milli, succeeded=0)
    assert with_them.desired_replicas == without.desired_replicas
