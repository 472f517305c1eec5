"""HPAs of all versions become LoadAutoscalers with the same spec."""

import pytest

from kubectl_loadline.migration import Unconvertible, from_hpa

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
]  # fmt: skip


def hpa(version="autoscaling/v2", metadata=None, **spec):
    return {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop", **(metadata or {})},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec},
        "status": {"currentReplicas": 3},
    }


def test_the_spec_stays_the_same_and_the_status_is_left_out():
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    converted = from_hpa(hpa(minReplicas=2, metrics=METRICS, behavior=behavior), dry_run=False)
    assert converted.autoscaler == {
        "apiVersion": "loadline.io/v1beta1",
        "kind": "LoadAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": TARGET,
            "maxReplicas": 5,
            "minReplicas": 2,
            "metrics": METRICS,
            "behavior": behavior,
        },
    }
    assert converted.remarks == ()


def test_it_scales_beside_the_original_only_without_dry_run():
    assert from_hpa(hpa(), dry_run=True).autoscaler["spec"]["mode"] == "DryRun"
    assert "mode" not in from_hpa(hpa(), dry_run=False).autoscaler["spec"]


@pytest.mark.parametrize(
    ("spec", "metrics"),
    [
        pytest.param({"targetCPUUtilizationPercentage": 60}, METRICS, id="a percentage"),
        pytest.param({}, None, id="none: the CRD has the API server's default, 80 percent"),
    ],
)
def test_autoscaling_v1_has_its_metric_in_another_field(spec, metrics):
    found = from_hpa(hpa("autoscaling/v1", **spec), dry_run=False)
    assert found.autoscaler["spec"].get("metrics") == metrics
    assert found.remarks == ()


def test_labels_and_annotations_are_kept_except_those_of_other_programs():
    metadata = {
        "labels": {"app": "web", "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "uid": "1",
        "resourceVersion": "7",
    }
    assert from_hpa(hpa(metadata=metadata), dry_run=False).autoscaler["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"team": "a"},
    }


def test_an_unknown_field_is_reported_and_an_unknown_version_is_refused():
    (remark,) = from_hpa(hpa(future=1), dry_run=False).remarks
    assert (remark.object, remark.field) == ("HorizontalPodAutoscaler shop/web", "spec.future")
    with pytest.raises(Unconvertible, match="autoscaling/v3 is not one of"):
        from_hpa(hpa("autoscaling/v3"), dry_run=False)
