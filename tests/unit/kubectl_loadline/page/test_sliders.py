"""One slider per metric: its value now, the value at which the count would stay, and its range."""

import msgspec
import pytest

from kubectl_loadline.page.sliders import sliders
from scaler.algorithm.derivation import Derivation, MetricDerivation
from scaler.api.autoscaler import MetricSpec


def external(name="queue", **more):
    target = {"type": "AverageValue", "averageValue": "30"}
    return msgspec.convert(
        {"type": "External", "external": {"metric": {"name": name}, "target": target}, **more},
        MetricSpec,
    )


CPU = msgspec.convert(
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    },
    MetricSpec,
)
FORMULA = msgspec.convert(
    {
        "type": "Formula",
        "name": "f",
        "formula": {"expression": "queue", "target": {"type": "Value", "value": "1"}},
    },
    MetricSpec,
)


def derivation(*metrics, replicas=4):
    return Derivation(
        autoscaler="shop/web",
        made_at_unix_seconds=0.0,
        branch="Metrics",
        current_replicas=replicas,
        metrics=metrics,
    )


def test_the_value_and_the_target_are_those_of_the_last_decision():
    measured = MetricDerivation(type="External", value_milli=500_000, usage_ratio=500 / 120)
    [found] = sliders([external()], derivation(measured))
    assert (found.name, found.title) == ("queue", "queue")
    assert (found.value_milli, found.target_milli) == (500_000, 120_000)
    assert found.max_milli == 1_000_000


def test_a_metric_of_each_pod_says_so():
    measured = MetricDerivation(type="Resource", average_milli=150, usage_ratio=1.5)
    [found] = sliders([CPU], derivation(measured))
    assert (found.title, found.value_milli, found.target_milli) == ("cpu, per pod", 150, 100)


@pytest.mark.parametrize(
    ("name", "target", "is_in_bytes"),
    [
        ("memory", {"type": "Utilization", "averageUtilization": 70}, True),
        ("memory", {"type": "AverageValue", "averageValue": "500Mi"}, True),
        ("memory", {"type": "AverageValue", "averageValue": "500M"}, False),
        ("cpu", {"type": "AverageValue", "averageValue": "500m"}, False),
    ],
)
def test_memory_is_in_bytes_unless_its_target_has_decimal_suffixes(name, target, is_in_bytes):
    metric = {"type": "Resource", "resource": {"name": name, "target": target}}
    failed = MetricDerivation(type="Resource", failure="no values")
    [found] = sliders([msgspec.convert(metric, MetricSpec)], derivation(failed))
    assert found.is_in_bytes is is_in_bytes


@pytest.mark.parametrize(
    ("measured", "value"),
    [
        pytest.param((MetricDerivation(type="External", failure="no rows"),), None, id="failed"),
        pytest.param((MetricDerivation(type="External", value_milli=0, usage_ratio=0.0),), 0, id="zero"),
        pytest.param((), None, id="not read"),
    ],
)  # fmt: skip
def test_without_a_ratio_the_target_is_that_of_the_spec(measured, value):
    [found] = sliders([external()], derivation(*measured))
    assert (found.value_milli, found.target_milli) == (value, 120_000)
    assert found.max_milli == 360_000


def test_a_formula_and_a_name_of_several_metrics_have_no_slider():
    metrics = [FORMULA, external("a"), external("b"), external("b")]
    assert [each.name for each in sliders(metrics, derivation())] == ["a"]
    second = msgspec.structs.replace(external("b"), name="second")
    assert [each.name for each in sliders([external("b"), second], derivation())] == ["second"]
