"""A ScaledObject that no API server accepts is an error about that object."""

import pytest

from kubectl_loadline.migration import Unconvertible, from_scaled_object
from tests.unit.kubectl_loadline.migration.scaled_objects import CPU, converted, prometheus


@pytest.mark.parametrize(
    ("triggers", "spec", "field"),
    [
        (["prometheus"], {}, "spec.triggers[0]"),
        ([{"type": "cpu", "metadata": "60"}], {}, "spec.triggers[0].metadata"),
        ([prometheus()], {"scaleTargetRef": "a"}, "spec.scaleTargetRef"),
        ([prometheus()], {"triggers": "prometheus"}, "spec.triggers"),
        ([prometheus()], {"fallback": "static"}, "spec.fallback"),
        ([prometheus()], {"advanced": {"scalingModifiers": ["x"]}}, "spec.advanced.scalingModifiers"),
        ([CPU], {"advanced": {"horizontalPodAutoscalerConfig": {"behavior": "fast"}}}, "spec.advanced.horizontalPodAutoscalerConfig.behavior"),
        ([CPU], {"annotations": "none"}, "metadata.annotations"),
        ([{**prometheus(), "authenticationRef": "key"}], {}, "spec.triggers[0].authenticationRef"),
    ],
)  # fmt: skip
def test_text_in_place_of_a_mapping_is_named_with_its_field(triggers, spec, field):
    with pytest.raises(Unconvertible, match="ScaledObject shop/worker: Expected ") as found:
        converted(*triggers, **spec)
    assert f"at `{field}`" in str(found.value)


@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize(
    ("triggers", "spec", "field"),
    [
        ([prometheus()], {"scaleTargetRef": {"name": 5}}, "spec.scaleTargetRef.name"),
        ([prometheus()], {"scaleTargetRef": {"name": "a", "kind": ["b"]}}, "spec.scaleTargetRef.kind"),
        ([prometheus()], {"scaleTargetRef": {"name": "a", "apiVersion": 1}}, "spec.scaleTargetRef.apiVersion"),
        ([prometheus()], {"of": ("shop", 5)}, "metadata.name"),
        ([prometheus()], {"of": (5, "worker")}, "metadata.namespace"),
        ([prometheus()], {"annotations": {"team": 5}}, "metadata.annotations[...]"),
        ([prometheus()], {"fallback": {"failureThreshold": 3, "behavior": 5}}, "spec.fallback.behavior"),
        ([{**prometheus(), "type": 5}], {}, "spec.triggers[0].type"),
        ([{**prometheus(), "name": 5}], {}, "spec.triggers[0].name"),
        ([{**prometheus(), "metricType": 5}], {}, "spec.triggers[0].metricType"),
        ([{**prometheus(), "authenticationRef": {"name": 5}}], {}, "spec.triggers[0].authenticationRef.name"),
    ],
)  # fmt: skip
def test_a_field_that_must_be_text_is_named(triggers, spec, field, as_objects):
    with pytest.raises(Unconvertible, match="Expected `str") as found:
        converted(*triggers, as_objects=as_objects, **spec)
    assert f"at `{field}`" in str(found.value)


def test_a_scaled_object_without_a_name_is_refused():
    with pytest.raises(Unconvertible, match=r"metadata\.name: it is missing"):
        converted(prometheus(), of=("shop", ""))


@pytest.mark.parametrize(
    ("scale_down", "field"),
    [
        ({"stabilizationWindowSeconds": "300"}, "stabilizationWindowSeconds"),
        ({"policies": [{"type": "Pods", "value": 1}]}, "policies[0]"),
        ({"policies": {"type": "Pods"}}, "policies"),
        ({"selectPolicy": 5}, "selectPolicy"),
        ({"tolerance": ["5m"]}, "tolerance"),
    ],
)
def test_a_behavior_that_no_autoscaler_has_is_named_with_its_field(scale_down, field):
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": scale_down}}}
    with pytest.raises(Unconvertible) as found:
        converted(prometheus(), advanced=advanced)
    path = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown"
    assert str(found.value).endswith(f"at `{path}.{field}`")


def test_a_stabilization_window_that_is_null_is_that_of_the_hpa_controller():
    behavior = {"scaleDown": {"stabilizationWindowSeconds": None}}
    found = converted(
        prometheus(), advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    )
    assert found.autoscaler["spec"]["behavior"] == {"scaleDown": {}}
    assert found.remarks == ()


def test_a_field_that_is_null_is_missing():
    fallback = {"failureThreshold": 3, "replicas": 6}
    fields = ("advanced", "minReplicaCount", "maxReplicaCount", "cooldownPeriod", "idleReplicaCount")  # fmt: skip
    trigger = {**prometheus(activationThreshold=None), "name": None, "authenticationRef": None}
    target = {"name": "worker", "kind": None, "apiVersion": None}
    given = {"fallback": {**fallback, "behavior": None}, **dict.fromkeys(fields)}
    found = converted(trigger, scaleTargetRef=target, **given)
    assert found == converted(prometheus(), fallback=fallback)


@pytest.mark.parametrize("wrong", [{"metadata": "worker"}, {"spec": "x"}])
def test_an_object_without_mappings_is_refused(wrong):
    whole = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {}, "spec": {}}
    with pytest.raises(Unconvertible, match="ScaledObject"):
        from_scaled_object({**whole, **wrong}, dry_run=True)
