"""HPAs of all versions become LoadAutoscalers with the same spec."""

import json

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


def test_the_name_of_an_external_metric_is_that_which_the_controller_requests():
    metric = {
        "type": "External",
        "external": {"metric": {"name": "Queue_Length"}, "target": {"type": "Value", "value": 3}},
    }
    [found] = from_hpa(hpa(metrics=[metric]), dry_run=False).autoscaler["spec"]["metrics"]
    assert found["external"]["metric"]["name"] == "queue_length"
    assert metric["external"]["metric"]["name"] == "Queue_Length"


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


PREFIX = "autoscaling.alpha.kubernetes.io/"
SELECTOR = {"matchLabels": {"queue": "mail"}}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"}


def with_annotations(version="autoscaling/v1", spec=None, **values):
    annotations = {
        f"{PREFIX}{name.replace('_', '-')}": value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }
    given = hpa(version, {"annotations": {"team": "a", **annotations}}, **(spec or {}))
    converted = from_hpa(given, dry_run=False)
    assert converted.autoscaler["metadata"]["annotations"] == {"team": "a"}
    return converted


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            {"type": "External", "external": {"metricName": "q", "metricSelector": SELECTOR, "targetValue": "30"}},
            {"type": "External", "external": {"metric": {"name": "q", "selector": SELECTOR}, "target": {"type": "Value", "value": "30"}}},
            id="an external value",
        ),
        pytest.param(
            {"type": "External", "external": {"metricName": "q", "targetAverageValue": "5"}},
            {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
            id="an external average",
        ),
        pytest.param(
            {"type": "External", "external": {"metricName": "q", "metricSelector": {"matchLabels": None}, "targetValue": "3", "targetAverageValue": None}},
            {"type": "External", "external": {"metric": {"name": "q", "selector": {}}, "target": {"type": "Value", "value": "3"}}},
            id="a field that is null",
        ),
        pytest.param(
            {"type": "Pods", "pods": {"metricName": "r", "selector": SELECTOR, "targetAverageValue": "9"}},
            {"type": "Pods", "pods": {"metric": {"name": "r", "selector": SELECTOR}, "target": {"type": "AverageValue", "averageValue": "9"}}},
            id="pods",
        ),
        pytest.param(
            {"type": "Object", "object": {"target": INGRESS, "metricName": "hits", "targetValue": "2k"}},
            {"type": "Object", "object": {"describedObject": INGRESS, "metric": {"name": "hits"}, "target": {"type": "Value", "value": "2k"}}},
            id="the value of an object",
        ),
        pytest.param(
            {"type": "Object", "object": {"target": INGRESS, "metricName": "hits", "targetValue": "0", "averageValue": "7"}},
            {"type": "Object", "object": {"describedObject": INGRESS, "metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "7"}}},
            id="the average of an object",
        ),
        pytest.param(
            {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
            id="a resource",
        ),
        pytest.param(
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "targetAverageUtilization": 70}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": {"type": "Utilization", "averageUtilization": 70}}},
            id="a resource of a container",
        ),
    ],
)  # fmt: skip
def test_autoscaling_v1_has_other_metrics_in_an_annotation(written, expected):
    alone = with_annotations(metrics=[written]).autoscaler["spec"]
    assert alone["metrics"] == [expected]
    spec = {"targetCPUUtilizationPercentage": 60}
    with_cpu = with_annotations(metrics=[written], spec=spec).autoscaler["spec"]
    assert with_cpu["metrics"] == [expected, *METRICS], "in the order of kube-apiserver"


def test_autoscaling_v1_has_its_behavior_in_an_annotation_with_the_names_of_go():
    policy = {"Type": "Pods", "Value": 4, "PeriodSeconds": 60}
    down = {
        "StabilizationWindowSeconds": 60,
        "SelectPolicy": "Min",
        "Policies": [policy],
        "Tolerance": "50m",
    }
    up = {
        "StabilizationWindowSeconds": None,
        "SelectPolicy": None,
        "Policies": None,
        "Tolerance": None,
    }
    found = with_annotations(behavior={"ScaleUp": up, "ScaleDown": down}).autoscaler["spec"]
    assert found["behavior"] == {
        "scaleUp": {},
        "scaleDown": {
            "stabilizationWindowSeconds": 60,
            "selectPolicy": "Min",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}],
            "tolerance": "50m",
        },
    }  # fmt: skip


@pytest.mark.parametrize("version", ["autoscaling/v1", "autoscaling/v2beta2"])
def test_tolerances_may_be_in_annotations_of_their_own(version):
    found = with_annotations(version, scale_up_tolerance="10m", scale_down_tolerance="20m")
    with_window = with_annotations(
        "autoscaling/v2beta2",
        scale_down_tolerance="20m",
        spec={"behavior": {"scaleDown": {"stabilizationWindowSeconds": 9}}},
    )
    assert with_window.autoscaler["spec"]["behavior"]["scaleDown"] == {
        "stabilizationWindowSeconds": 9,
        "tolerance": "20m",
    }
    assert found.autoscaler["spec"]["behavior"] == {
        "scaleDown": {"tolerance": "20m"},
        "scaleUp": {"tolerance": "10m"},
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics", "["),
        ("metrics", '[{"type": "Pods", "pods": {}}]'),
        ("metrics", "5"),
        ("metrics", '[{"type": "Pods", "pods": {"metricName": 5, "targetAverageValue": "9"}}]'),
        ("metrics", '[{"type": "Pods", "pods": {"metricName": "a", "targetAverageValue": [9]}}]'),
        ("metrics", '{"type": "Pods"}'),
        ("metrics", "[" * 100_000),
        ("behavior", '{"Future": 1}'),
        ("behavior", "[1]"),
        ("behavior", '"x"'),
        ("behavior", '{"scaleUp": 5}'),
        ("behavior", '{"scaleUp": {"stabilizationWindowSeconds": "5"}}'),
        ("scale_up_tolerance", "much"),
        ("scale_up_tolerance", "-1"),
    ],
)
def test_an_annotation_that_cannot_be_read_is_reported(name, text):
    converted = with_annotations(**{name: text}, scale_down_tolerance="10m")
    assert [each.field for each in converted.remarks] == [
        f"metadata.annotations[{PREFIX}{name.replace('_', '-')}]"
    ]
    spec = converted.autoscaler["spec"]
    assert spec["behavior"] == {"scaleDown": {"tolerance": "10m"}}
    assert "metrics" not in spec


def test_the_annotations_of_an_hpa_of_v2_do_not_count():
    assert "metrics" not in with_annotations("autoscaling/v2", metrics=[]).autoscaler["spec"]


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


MARKS = (
    "addonmanager.kubernetes.io/mode",
    "app.kubernetes.io/managed-by",
    "applyset.kubernetes.io/part-of",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/installation-id",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/tracking-id",
    "config.k8s.io/owning-inventory",
    "configmanagement.gke.io/managed",
    "configsync.gke.io/resource-id",
    "helm.sh/chart",
    "helm.sh/hook",
    "helm.sh/hook-weight",
    "helm.toolkit.fluxcd.io/name",
    "kapp.k14s.io/app",
    "kapp.k14s.io/identity",
    "kustomize.toolkit.fluxcd.io/name",
    "meta.helm.sh/release-name",
    "objectset.rio.cattle.io/hash",
)


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("mark", MARKS)
def test_a_tool_does_not_take_the_new_object_for_one_that_it_has_created(field, mark):
    """It would delete what is not in its repository or release."""
    metadata = {field: {mark: "shop", "argocd.argoproj.io/sync-options": "Prune=false"}}
    found = from_hpa(hpa(metadata=metadata), dry_run=False)
    assert found.autoscaler["metadata"][field] == {"argocd.argoproj.io/sync-options": "Prune=false"}
    assert found.remarks == ()


def test_the_label_instance_of_an_object_of_the_cluster_is_omitted_with_a_remark():
    """Argo CD before 3.0 finds its objects by this label, which many charts set, too."""
    labels = {"app.kubernetes.io/instance": "shop", "app": "web"}
    found = from_hpa(hpa(metadata={"labels": labels, "uid": "1"}), dry_run=False)
    assert found.autoscaler["metadata"]["labels"] == {"app": "web"}
    assert [each.field for each in found.remarks] == ["metadata.labels[app.kubernetes.io/instance]"]


def test_the_label_instance_of_a_manifest_is_kept():
    """It is in the repository of the tool."""
    labels = {"app.kubernetes.io/instance": "shop"}
    found = from_hpa(hpa(metadata={"labels": labels}), dry_run=False)
    assert found.autoscaler["metadata"]["labels"] == labels
    assert found.remarks == ()


def test_an_unknown_field_is_reported_and_an_unknown_version_is_refused():
    (remark,) = from_hpa(hpa(future=1), dry_run=False).remarks
    assert (remark.object, remark.field) == ("HorizontalPodAutoscaler shop/web", "spec.future")
    with pytest.raises(Unconvertible, match="autoscaling/v3 is not one of"):
        from_hpa(hpa("autoscaling/v3"), dry_run=False)


def of_cpu(**target):
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


NULLS = dict.fromkeys(
    ("labels", "annotations", "ownerReferences", "finalizers", "uid", "namespace", "generation", "resourceVersion")
)  # fmt: skip


def test_a_field_that_is_null_is_missing_as_for_kube_apiserver():
    """Templates of charts leave `labels:` without a value."""
    selector = {"matchLabels": None, "matchExpressions": None}
    metric = {"name": "queue", "selector": selector}
    target = {"type": "Value", "value": 3, "averageValue": None}
    external = {"type": "External", "external": {"metric": metric, "target": target}, "pods": None}
    given = hpa(
        metadata=NULLS,
        minReplicas=None,
        metrics=[external],
        behavior={"scaleUp": None, "scaleDown": {"policies": None, "selectPolicy": None}},
    )
    found = from_hpa({**given, "status": {"currentReplicas": None}}, dry_run=False)
    assert found.remarks == ()
    assert found.autoscaler["metadata"] == {"name": "web"}
    expected = {
        "metric": {"name": "queue", "selector": {}},
        "target": {"type": "Value", "value": 3},
    }
    assert found.autoscaler["spec"] == {
        "scaleTargetRef": TARGET,
        "maxReplicas": 5,
        "metrics": [{"type": "External", "external": expected}],
        "behavior": {"scaleDown": {}},
    }


def test_a_label_that_is_null_is_an_empty_text_as_for_kube_apiserver():
    metric = {"name": "queue", "selector": {"matchLabels": {"queue": None}}}
    external = {"metric": metric, "target": {"type": "Value", "value": 3}}
    given = hpa(
        metadata={"labels": {"team": None}}, metrics=[{"type": "External", "external": external}]
    )
    found = from_hpa(given, dry_run=False).autoscaler
    assert found["metadata"]["labels"] == {"team": ""}
    [written] = found["spec"]["metrics"]
    assert written["external"]["metric"]["selector"] == {"matchLabels": {"queue": ""}}


def test_variables_of_templates_are_named_only_where_there_are_some():
    with pytest.raises(Unconvertible, match=r"at `spec.maxReplicas`$"):
        from_hpa(hpa(maxReplicas="five"), dry_run=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (hpa(maxReplicas="{{ .Values.max }}"), "Expected `int`, got `str` - at `spec.maxReplicas`. Replace variables"),
        (hpa(metrics=[None]), "Expected `object`, got `null` - at `spec.metrics[0]`"),
        (hpa(metrics=5), "at `spec.metrics`"),
        (hpa(metadata={"namespace": ["shop"]}), "at `metadata.namespace`"),
        (hpa(metadata={"name": ""}), "metadata.name: it is missing"),
        ({**hpa(), "spec": None}, "missing required field `spec`"),
        ({**hpa(), "spec": ["a"]}, "at `spec`"),
        (hpa(maxReplicas=0), "spec.maxReplicas: 0 is not from 1 to 2147483647"),
        (hpa(maxReplicas=2**31), "spec.maxReplicas: 2147483648 is not from 1"),
        (hpa(minReplicas=-1), "spec.minReplicas: -1 is not from 0"),
        (hpa(minReplicas=6), "spec.minReplicas: 6 is above maxReplicas, which is 5"),
        (hpa(minReplicas=0, metrics=METRICS), "spec.minReplicas: 0 needs a metric of type Object or External"),
        (hpa("autoscaling/v1", targetCPUUtilizationPercentage="50"), "spec.targetCPUUtilizationPercentage: Expected `int`, got '50'"),
        (hpa("autoscaling/v1", targetCPUUtilizationPercentage=True), "spec.targetCPUUtilizationPercentage: Expected `int`, got True"),
        (hpa("autoscaling/v1", targetCPUUtilizationPercentage=0), "spec.targetCPUUtilizationPercentage: 0 is not from 1"),
        (hpa(metrics=[of_cpu(type="Utilization", averageUtilization=0)]), "spec.metrics[0].resource.target.averageUtilization: 0 is not"),
        (hpa(metrics=[of_cpu(type="AverageValue", averageValue="half")]), "spec.metrics[0].resource.target.averageValue: 'half' is not"),
        (hpa(metrics=[of_cpu(type="AverageValue", averageValue=0)]), "spec.metrics[0].resource.target.averageValue: '0' is not"),
        ({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}, "missing required field `spec`"),
        (hpa(metadata={"name": None}), "HorizontalPodAutoscaler shop/: metadata.name: it is missing"),
    ],
)  # fmt: skip
def test_what_no_api_server_accepts_is_refused_with_its_field(given, message):
    with pytest.raises(Unconvertible) as refused:
        from_hpa(given, dry_run=True)
    assert message in str(refused.value)
