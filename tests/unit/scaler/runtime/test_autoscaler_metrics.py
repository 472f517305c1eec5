"""Metrics of each autoscaler, as kube-state-metrics has them for HPAs."""

from prometheus_client import CollectorRegistry

from scaler.model.autoscaler import AutoscalerStatus, Condition
from scaler.model.derivation import Derivation
from scaler.model.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.runtime.autoscaler_metrics import AutoscalerMetrics
from tests.unit.scaler.objects import NOW, autoscaler, spec

LABELS = {"namespace": "shop", "name": "web", "kind": "LoadAutoscaler"}
STATUS = AutoscalerStatus(
    current_replicas=4,
    desired_replicas=7,
    conditions=(
        Condition(type="ScalingActive", status="True"),
        Condition(type="MetricFallbackActive", status="False"),
        Condition(type="AbleToScale", status="Unknown"),
    ),
)
DERIVATION = Derivation(
    autoscaler="shop/web",
    made_at_unix_seconds=NOW,
    branch="Metrics",
    min_replicas=3,
    max_replicas=60,
)


def sample(name, *, kind=LOAD_AUTOSCALERS, status=STATUS, derivation=DERIVATION, labels=None):
    registry = CollectorRegistry()
    found = autoscaler(spec(min_replicas=None, max_replicas=40), status=status)
    registry.register(AutoscalerMetrics(kind, lambda: [found], lambda _: derivation))
    return registry.get_sample_value(f"loadline_scaler_autoscaler_{name}", labels or LABELS)


def test_an_autoscaler_has_its_limits_and_its_replicas():
    assert [sample(f"spec_{limit}_replicas") for limit in ("min", "max")] == [1, 40]
    assert [sample(f"effective_{limit}_replicas") for limit in ("min", "max")] == [3, 60]
    assert [sample(f"status_{which}_replicas") for which in ("current", "desired")] == [4, 7]


def test_a_condition_is_one_while_it_is_true():
    found = {
        condition: sample("status_condition", labels={**LABELS, "condition": condition})
        for condition in ("ScalingActive", "MetricFallbackActive", "AbleToScale", "DryRun")
    }
    assert found == {
        "ScalingActive": 1,
        "MetricFallbackActive": 0,
        "AbleToScale": 0,
        "DryRun": None,
    }


def test_what_is_not_known_yet_is_absent():
    assert sample("status_current_replicas", status=None) is None
    assert sample("effective_min_replicas", derivation=None) is None
    assert sample("spec_max_replicas", status=None, derivation=None) == 40


def test_an_hpa_has_the_labels_of_the_hpa_controller():
    labels = {"namespace": "shop", "hpa_name": "web"}
    found = sample("spec_max_replicas", kind=HORIZONTAL_POD_AUTOSCALERS, labels=labels)
    assert found == 40
