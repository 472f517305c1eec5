"""ScaledObjects become LoadAutoscalers; docs/keda-fields.md has the same table."""

import re
from pathlib import Path

import pytest

from kubectl_loadline.migration import Unconvertible
from testbed.programs import CRD
from tests.crd_schema import schema_in, violations
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    CPU,
    converted,
    cron,
    prometheus,
    remarked,
    spec_of,
)
from wire.api.quantity import Quantity

PAGE = Path(__file__).parents[4] / "docs" / "keda-fields.md"


def test_kedas_defaults_become_explicit():
    assert spec_of(prometheus()) == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "worker"},
        "minReplicas": 0,
        "maxReplicas": 100,
        "scaleToZero": {"cooldownSeconds": 300, "manualZero": "Activate"},
        "metrics": [
            {
                "type": "External",
                "name": "prometheus-0",
                "external": {
                    "metric": {"name": "shop_worker_0"},
                    "target": {"type": "AverageValue", "averageValue": "30"},
                },
            }
        ],
    }


def test_cpu_and_memory_become_resource_metrics_of_the_pod_or_of_a_container():
    memory = {
        "type": "memory",
        "metadata": {"type": "AverageValue", "value": "1Gi", "containerName": "app"},
    }
    found = spec_of(CPU, memory, minReplicaCount=1, maxReplicaCount=3)
    assert found["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
        {
            "type": "ContainerResource",
            "containerResource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}, "container": "app"},
        },
    ]  # fmt: skip
    assert (found["minReplicas"], found["maxReplicas"]) == (1, 3)


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        pytest.param(
            {"failureThreshold": 3, "replicas": 6},
            {"type": "Replicas", "replicas": 6, "failureDurationSeconds": 45},
            id="a fixed count after three periods of the HPA controller",
        ),
        pytest.param(
            {"failureThreshold": 2, "replicas": 6, "behavior": "currentReplicas"},
            {"type": "Hold", "failureDurationSeconds": 30},
            id="the current count",
        ),
        pytest.param(
            {"failureThreshold": 9999, "replicas": 0},
            {"type": "Replicas", "replicas": 1, "failureDurationSeconds": 86_400},
            id="one replica at least, and a day at most",
        ),
        pytest.param(
            {"failureThreshold": 2, "replicas": 6, "behavior": "currentReplicasIfHigher"},
            None,
            id="no counterpart",
        ),
    ],
)
def test_the_fallback_applies_to_the_external_metrics(fallback, expected):
    external, cpu = spec_of(prometheus(), CPU, fallback=fallback, pollingInterval=300)["metrics"]
    assert external.get("fallback") == expected
    assert "fallback" not in cpu


@pytest.mark.parametrize(
    ("annotation", "value", "suspension"),
    [
        ("paused", "true", {"direction": "Both"}),
        ("paused-replicas", "4", {"direction": "Both", "replicas": 4}),
        ("paused-scale-in", "true", {"direction": "Down"}),
        ("paused-scale-out", "true", {"direction": "Up"}),
        ("paused", "false", None),
        ("paused", "0", None),
        ("paused", "F", None),
        ("paused", "True", {"direction": "Both"}),
        ("paused", "1", {"direction": "Both"}),
        ("paused", "yes", {"direction": "Both"}),
        ("paused", "", {"direction": "Both"}),
        ("paused-scale-in", "T", {"direction": "Down"}),
        ("paused-scale-in", "f", None),
        ("paused-scale-out", "yes", {"direction": "Up"}),
        ("paused-replicas", "many", {"direction": "Both"}),
        ("paused-replicas", "101", {"direction": "Both"}),
        ("paused-replicas", "+5", {"direction": "Both", "replicas": 5}),
        ("paused-replicas", "05", {"direction": "Both", "replicas": 5}),
        ("paused-replicas", "-1", {"direction": "Both"}),
        ("paused-replicas", " 5", {"direction": "Both"}),
        ("paused-replicas", "\u0665", {"direction": "Both"}),
        ("paused-replicas", "1" * 5000, {"direction": "Both"}),
    ],
)
def test_a_paused_object_stays_suspended(annotation, value, suspension):
    annotations = {f"autoscaling.keda.sh/{annotation}": value}
    assert spec_of(prometheus(), annotations=annotations).get("suspend") == suspension


@pytest.mark.parametrize(
    ("value", "is_reported"), [("+5", False), ("-0", False), ("-1", True), ("many", True)]
)
def test_a_number_of_paused_replicas_that_cannot_be_set_is_reported(value, is_reported):
    field = "autoscaling.keda.sh/paused-replicas"
    found = remarked(prometheus(), annotations={field: value})
    assert found == ([f"metadata.annotations[{field}]"] if is_reported else [])


def test_an_object_that_may_scale_neither_in_nor_out_is_suspended_in_both_directions():
    prefix = "autoscaling.keda.sh/paused-scale"
    annotations = {f"{prefix}-in": "true", f"{prefix}-out": "true"}
    assert spec_of(prometheus(), annotations=annotations)["suspend"] == {"direction": "Both"}


def test_an_annotation_without_counterpart_is_reported_for_a_paused_object_too():
    names = ("autoscaling.keda.sh/paused", "scaledobject.keda.sh/transfer-hpa-ownership")
    assert remarked(prometheus(), annotations=dict.fromkeys(names, "true")) == [
        "metadata.annotations[scaledobject.keda.sh/transfer-hpa-ownership]"
    ]


def test_no_annotation_of_keda_is_copied():
    prefixes = ("autoscaling", "scaledobject", "validations")
    annotations = {f"{each}.keda.sh/x": "true" for each in prefixes} | {"team.example.com/x": "a"}
    metadata = converted(prometheus(), annotations=annotations).autoscaler["metadata"]
    assert metadata["annotations"] == {"team.example.com/x": "a"}


@pytest.mark.parametrize(
    ("replicas", "least", "is_reported"), [(0, 2, True), (0, 0, False), (2, 2, False)]
)
def test_a_suspension_at_zero_that_has_no_end_by_itself_is_reported(replicas, least, is_reported):
    field = "autoscaling.keda.sh/paused-replicas"
    found = remarked(prometheus(), annotations={field: str(replicas)}, minReplicaCount=least)
    assert (f"metadata.annotations[{field}]" in found) is is_reported


def test_the_behavior_of_the_hpa_is_kept():
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    assert spec_of(prometheus(), advanced=advanced)["behavior"] == behavior


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"idleReplicaCount": 0, "minReplicaCount": 2}, "spec.idleReplicaCount"),
        ({"initialCooldownPeriod": 60}, "spec.initialCooldownPeriod"),
        ({"pollingInterval": 10}, "spec.pollingInterval"),
        ({"cooldownPeriod": 864_000}, "spec.cooldownPeriod"),
        ({"fallback": {"failureThreshold": 9999, "replicas": 1}}, "spec.fallback.failureThreshold"),
        ({"advanced": {"restoreToOriginalReplicaCount": True}}, "spec.advanced.restoreToOriginalReplicaCount"),
        ({"advanced": {"scalingModifiers": {"formula": "a", "target": "1"}}}, "spec.advanced.scalingModifiers"),
    ],
)  # fmt: skip
def test_a_field_without_counterpart_is_reported(spec, field):
    assert remarked(prometheus(), **spec) == [field]


@pytest.mark.parametrize(
    ("triggers", "spec", "message"),
    [
        ([prometheus()], {"minReplicaCount": "${MIN}"}, "spec.minReplicaCount: '${MIN}' is not an integer"),
        ([prometheus()], {"maxReplicaCount": "many"}, "spec.maxReplicaCount"),
        ([prometheus()], {"maxReplicaCount": 0}, "spec.maxReplicaCount: 0 is not from 1 to 2147483647"),
        ([prometheus()], {"maxReplicaCount": ""}, "spec.maxReplicaCount: '' is not an integer"),
        ([prometheus()], {"maxReplicaCount": 2**31}, "spec.maxReplicaCount: 2147483648 is not from 1 to 2147483647"),
        ([prometheus()], {"minReplicaCount": -1}, "spec.minReplicaCount: -1 is not from 0 to 2147483647"),
        ([prometheus()], {"minReplicaCount": ""}, "spec.minReplicaCount: '' is not an integer"),
        ([prometheus()], {"minReplicaCount": 6, "maxReplicaCount": 5}, "spec.minReplicaCount: 6 is above maxReplicaCount, which is 5"),
        ([prometheus()], {"minReplicaCount": 101}, "spec.minReplicaCount: 101 is above maxReplicaCount, which is 100"),
        ([prometheus()], {"cooldownPeriod": -1}, "spec.cooldownPeriod: -1 is not from 0"),
        ([prometheus()], {"fallback": {"failureThreshold": -1, "replicas": 2}}, "spec.fallback.failureThreshold: -1 is not from 0"),
        ([prometheus()], {"fallback": {"failureThreshold": 3, "replicas": -2}}, "spec.fallback.replicas: -2 is not from 0"),
        ([prometheus(), cron("0 8 * * *", "0 18 * * *", desiredReplicas="-6")], {}, "spec.triggers[1].metadata.desiredReplicas: -6 is not"),
        ([{**CPU, "metadata": {"value": "0"}}], {}, "spec.triggers[0].metadata.value: 0 is not from 1 to 2147483647"),
        ([prometheus()], {"cooldownPeriod": "5m"}, "spec.cooldownPeriod"),
        ([prometheus()], {"fallback": {"failureThreshold": "x"}}, "spec.fallback.failureThreshold"),
        ([prometheus(), cron("0 8 * * *", "0 18 * * *", desiredReplicas="x")], {}, "spec.triggers[1].metadata.desiredReplicas"),
        ([prometheus(threshold="")], {}, "spec.triggers[0].metadata.threshold: it is missing, and KEDA requires it"),
        ([prometheus(threshold="0")], {}, "spec.triggers[0].metadata.threshold: '0' is not a number above 0"),
        ([prometheus(threshold="-5")], {}, "spec.triggers[0].metadata.threshold: '-5' is not a number above 0"),
        ([prometheus(threshold="500m")], {}, "spec.triggers[0].metadata.threshold: '500m' is not a number above 0"),
        ([prometheus(threshold="1e400")], {}, "spec.triggers[0].metadata.threshold: '1e400' is not a number above 0"),
        ([prometheus(threshold="+5")], {}, "spec.triggers[0].metadata.threshold: '+5' is not a number above 0"),
        ([{**CPU, "metadata": {"value": "60%"}}], {}, "spec.triggers[0].metadata.value: '60%' is not an integer"),
        ([{**CPU, "metricType": "AverageValue", "metadata": {}}], {}, "spec.triggers[0].metadata.value"),
        ([{**CPU, "metricType": "Value"}], {}, "spec.triggers[0].metricType: 'Value' is neither, which KEDA refuses. Write Utilization or AverageValue"),
        ([{**CPU, "metricType": None}], {}, "spec.triggers[0].metricType: it is missing, which KEDA refuses. Write Utilization"),
        ([prometheus()], {"idleReplicaCount": 0}, "spec.idleReplicaCount: 0 is not less than minReplicaCount (0), which KEDA refuses"),
        ([prometheus()], {"idleReplicaCount": 2, "minReplicaCount": 2}, "spec.idleReplicaCount: 2 is not less than minReplicaCount (2), which KEDA"),
        ([prometheus()], {"idleReplicaCount": 1, "minReplicaCount": 0}, "spec.idleReplicaCount: 1 is not less than minReplicaCount (0), which KEDA"),
        ([prometheus()], {"idleReplicaCount": "x", "minReplicaCount": 2}, "spec.idleReplicaCount: 'x' is not an integer"),
        ([{"type": "memory", "metadata": {"type": "Value", "value": "5"}}], {}, "spec.triggers[0].metricType: 'Value' is neither"),
        ([prometheus(activationThreshold="abc")], {}, "spec.triggers[0].metadata.activationThreshold: 'abc' is not a number"),
        ([prometheus(activationThreshold="Inf")], {}, "spec.triggers[0].metadata.activationThreshold: 'Inf' is not a number"),
        ([prometheus(activationThreshold="-Inf")], {}, "spec.triggers[0].metadata.activationThreshold: '-Inf' is not a number"),
        ([prometheus(activationThreshold="{{ x }}")], {}, "spec.triggers[0].metadata.activationThreshold: '{{ x }}' is not a number, such as 5 or 0.5. Replace"),
        ([prometheus(activationThreshold="500m")], {}, "spec.triggers[0].metadata.activationThreshold: '500m' is not a number"),
        ([prometheus(activationThreshold="+5")], {}, "spec.triggers[0].metadata.activationThreshold: '+5' is not a number"),
        ([prometheus(), cron("0 25 * * *", "0 26 * * *")], {}, "spec.triggers[1].metadata.start"),
        ([prometheus(), cron("0 8 * * *", "")], {}, "spec.triggers[1].metadata.end"),
        ([prometheus(), cron("0 8 * * *", "0 9 * * *", timezone="Mars")], {}, "spec.triggers[1].metadata.timezone: unknown time zone 'Mars'"),
        ([prometheus(metric_type="Utilization")], {}, "spec.triggers[0].metricType: 'Utilization' is neither"),
        ([prometheus()], {"scaleTargetRef": {}}, "spec.scaleTargetRef.name: it is missing"),
    ],
)  # fmt: skip
def test_a_value_that_no_autoscaler_can_have_is_refused_with_its_field(triggers, spec, message):
    with pytest.raises(Unconvertible, match=re.escape(f"ScaledObject shop/worker: {message}")):
        converted(*triggers, **spec)


@pytest.mark.parametrize("given", ["0", "-0", "5.50", "1e3", " 5 ", 0.5, 3])
def test_an_activation_value_is_one_that_the_crd_accepts(given):
    spec = spec_of(prometheus(activationThreshold=given))
    assert not violations(spec, schema_in(CRD)["properties"]["spec"])
    assert Quantity.parse(spec["metrics"][0]["activationValue"]) >= Quantity.from_int(0)


def test_credentials_and_other_triggers_are_reported():
    kafka = {"type": "kafka", "metadata": {}}
    secured = {**prometheus(unsafeSsl="true", namespace="shop"), "authenticationRef": {"name": "a"}}
    assert remarked(secured, kafka) == [
        "spec.triggers[0].authenticationRef",
        "spec.triggers[0].metadata.namespace",
        "spec.triggers[0].metadata.unsafeSsl",
        "spec.triggers[1]",
    ]


@pytest.mark.parametrize(
    ("trigger", "is_complete"),
    [
        pytest.param({"type": "kafka", "metadata": {}}, False, id="another type"),
        pytest.param(cron("0 8 1 * *", "0 9 3 * *"), False, id="a schedule over several days"),
        pytest.param(cron("0 8 * * *", "0 9 * * *"), True, id="a schedule"),
        pytest.param({**prometheus(), "authenticationRef": {"name": "a"}}, True, id="credentials"),
    ],
)
def test_an_autoscaler_without_a_trigger_does_not_scale_even_if_it_should(trigger, is_complete):
    """The target would go to zero while only the omitted trigger has load."""
    found = converted(prometheus(), trigger)
    assert found.is_complete is is_complete
    assert found.autoscaler["spec"].get("mode") == (None if is_complete else "DryRun")


@pytest.mark.parametrize("triggers", [[], [{"type": "kafka", "metadata": {}}]])
def test_an_object_without_convertible_trigger_is_refused_with_the_reason(triggers):
    with pytest.raises(Unconvertible, match="Leave it to KEDA"):
        converted(*triggers)


def test_the_page_names_every_field_that_is_converted_or_reported():
    page = PAGE.read_text()
    source = "".join(
        path.read_text()
        for path in (Path(__file__).parents[4] / "kubectl_loadline" / "migration").glob("*.py")
        if path.name not in ("horizontal_pod_autoscaler.py", "hpa_annotations.py")
    )
    read = set(
        re.findall(r'(?:given|metadata|config|advanced|spec|trigger)\.get\("(\w+)"\)', source)
    )
    fields = {
        name
        for name in read
        if name
        not in {
            "kind",
            "apiVersion",
            "name",
            "namespace",
            "type",
            "metadata",
            "advanced",
            "horizontalPodAutoscalerConfig",
        }
    }
    assert {name for name in fields if f"`{name}`" not in page and f".{name}`" not in page} == set()
