"""ScaledObjects become LoadAutoscalers and named metrics; docs/keda-fields.md has the same table."""

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from adapter.config import parse
from kubectl_loadline.migration import AdapterNames, Unconvertible, from_scaled_object
from testbed.programs import CRD
from tests.crd_schema import schema_in, unknown_fields, violations

DOCS = Path(__file__).parents[4] / "docs"
PAGE = DOCS / "keda-fields.md"
SERVER = "http://prometheus.monitoring.svc:9090"


def prometheus(query="sum(queue)", threshold="30", metric_type=None, name=None, **metadata):
    trigger = {
        "type": "prometheus",
        "metadata": {"serverAddress": SERVER, "query": query, "threshold": threshold, **metadata},
    }
    if metric_type:
        trigger["metricType"] = metric_type
    if name:
        trigger["name"] = name
    return trigger


CPU = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}


def converted(
    *triggers, annotations=None, as_objects=False, names=None, of=("shop", "worker"), **spec
):
    return from_scaled_object(
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": of[1], "namespace": of[0], "annotations": annotations or {}},
            "spec": {"scaleTargetRef": {"name": "worker"}, "triggers": list(triggers), **spec},
        },
        dry_run=False,
        as_objects=as_objects,
        names=names,
    )


def spec_of(*triggers, **spec):
    return converted(*triggers, **spec).autoscaler["spec"]


def remarked(*triggers, **spec):
    return [remark.field for remark in converted(*triggers, **spec).remarks]


def test_kedas_defaults_become_explicit():
    assert spec_of(prometheus()) == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "worker"},
        "minReplicas": 0,
        "maxReplicas": 100,
        "scaleToZero": {"cooldownSeconds": 300},
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


def test_a_prometheus_trigger_becomes_a_named_metric_that_the_adapter_accepts():
    found = converted(
        prometheus("sum(a)", name="Mail Queue"), prometheus("sum(b)", ignoreNullValues="false")
    )
    assert list(found.metrics) == [
        {"name": "shop_worker_mail_queue", "query": "sum(a)", "backend": "prometheus-monitoring", "signal": {"onEmpty": "zero", "onNaN": "zero"}},
        {"name": "shop_worker_1", "query": "sum(b)", "backend": "prometheus-monitoring"},
    ]  # fmt: skip
    assert list(found.backends) == [{"name": "prometheus-monitoring", "url": SERVER}]
    file = yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)})
    assert [rule.name for rule in parse(file).rules] == ["shop_worker_mail_queue", "shop_worker_1"]
    first, second = found.autoscaler["spec"]["metrics"]
    assert (first["name"], second["name"]) == ("mail-queue", "prometheus-1")


def at(address, **metadata):
    return prometheus(serverAddress=address, **metadata)


@pytest.mark.parametrize(
    ("triggers", "backends"),
    [
        pytest.param(
            [at("http://p.a.svc:9090"), at("HTTP://P.a.svc:9090/")],
            {"p-a": "http://p.a.svc:9090"},
            id="one server",
        ),
        pytest.param(
            [at("http://p.a.svc:80/"), at("http://p.a.svc")],
            {"p-a": "http://p.a.svc"},
            id="the port of the scheme",
        ),
        pytest.param(
            [at("http://p.a.svc:9090"), at("http://p.a.svc:10902")],
            {"p-a": "http://p.a.svc:9090", "p-a-10902": "http://p.a.svc:10902"},
            id="two ports",
        ),
        pytest.param(
            [at("http://v/select/1/prometheus"), at("http://v/select/2/prometheus")],
            {
                "v-select-1-prometheus": "http://v/select/1/prometheus",
                "v-select-2-prometheus": "http://v/select/2/prometheus",
            },
            id="two paths",
        ),
        pytest.param(
            [at("http://p.svc-a.example"), at("http://p.svc-b.example")],
            {
                "p-svc-a-example": "http://p.svc-a.example",
                "p-svc-b-example": "http://p.svc-b.example",
            },
            id="hosts with .svc in the middle",
        ),
        pytest.param(
            [at("http://a.b"), at("http://a-b"), at("https://a.b")],
            {"a-b": "http://a.b", "a-b-2": "http://a-b", "a-b-3": "https://a.b"},
            id="the same name",
        ),
        pytest.param([at("http://default")], {"default-2": "http://default"}, id="of the flags"),
        pytest.param(
            [at("http://p", namespace="a"), at("http://p", namespace="b"), at("http://p", namespace="a")],
            {"p": "http://p", "p-2": "http://p"},
            id="two tenants",
        ),
        pytest.param([at("p:9090")], {}, id="no URL"),
        pytest.param([at("http://p:x")], {}, id="no port"),
    ],
)  # fmt: skip
def test_each_server_and_tenant_is_a_backend_with_its_own_name(triggers, backends):
    found = converted(*triggers)
    assert {each["name"]: each["url"] for each in found.backends} == backends
    used = {each["backend"] for each in found.metrics if "backend" in each}
    assert used == set(backends)


def test_names_are_unique_among_objects_that_are_converted_together():
    names = AdapterNames()
    first = converted(prometheus(), of=("shop-eu", "worker"), names=names)
    second = converted(prometheus(), of=("shop", "eu-worker"), names=names)
    assert [each.metrics[0]["name"] for each in (first, second)] == [
        "shop_eu_worker_0",
        "shop_eu_worker_0_2",
    ]
    assert second.autoscaler["spec"]["metrics"][0]["external"]["metric"] == {
        "name": "shop_eu_worker_0_2"
    }
    assert first.backends == second.backends


def test_the_names_of_the_metrics_of_an_object_are_unique_labels():
    names = ("Mail Queue", "mail-queue", "__", "x" * 100)
    metrics = spec_of(*(prometheus(name=each) for each in names))["metrics"]
    shown = [each["name"] for each in metrics]
    assert shown[:3] == ["mail-queue", "mail-queue-2", "prometheus-2"]
    assert len(shown[3]) <= 63


@pytest.mark.parametrize(
    ("given", "is_zero", "remarks"),
    [
        ("0", False, []),
        ("F", False, []),
        (" false ", False, []),
        (False, False, []),
        ("T", True, []),
        ("1", True, []),
        ("", True, []),
        ("no", True, ["spec.triggers[0].metadata.ignoreNullValues"]),
    ],
)
def test_null_values_are_ignored_as_go_reads_booleans(given, is_zero, remarks):
    found = converted(prometheus(ignoreNullValues=given))
    assert ("signal" in found.metrics[0]) is is_zero
    assert [each.field for each in found.remarks] == remarks


@pytest.mark.parametrize(
    ("target", "resource", "label"),
    [
        pytest.param({"name": "worker"}, "deployments.apps", "deployment", id="the default"),
        pytest.param(
            {"kind": "StatefulSet", "name": "db"},
            "statefulsets.apps",
            "statefulset",
            id="StatefulSet",
        ),
        pytest.param(
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"},
            "rollouts.argoproj.io",
            "rollout",
            id="a custom resource",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Proxy", "name": "in"},
            "proxies.example.com",
            "proxy",
            id="a plural in ies",
        ),
    ],
)
def test_as_objects_a_trigger_becomes_a_metric_of_the_scale_target(target, resource, label):
    found = converted(
        prometheus("sum(a)", activationThreshold="5"),
        as_objects=True,
        scaleTargetRef=target,
        fallback={"failureThreshold": 3, "replicas": 6},
    )
    spec = found.autoscaler["spec"]
    [metric] = spec["metrics"]
    assert metric["type"] == "Object"
    assert metric["object"] == {
        "describedObject": spec["scaleTargetRef"],
        "metric": {"name": "shop_worker_0"},
        "target": {"type": "AverageValue", "averageValue": "30"},
    }
    assert metric["activationValue"] == "5"
    assert metric["fallback"]["replicas"] == 6
    assert spec["minReplicas"] == 0
    file = yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)})
    [rule] = parse(file).rules
    assert found.metrics[0]["labels"] == {"object": label, "namespace": "namespace"}
    assert (str(rule.describes), rule.object_label, rule.namespace_label) == (
        resource,
        label,
        "namespace",
    )
    assert rule.query == (
        'label_replace(label_replace(sum(a), "namespace", "shop", "", ""), '
        f'"{label}", "{target["name"]}", "", "")'
    )


def test_the_documentation_shows_what_is_written_as_objects():
    found = from_scaled_object(
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": "worker", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"name": "worker"},
                "maxReplicaCount": 50,
                "triggers": [prometheus('sum(queue_messages_ready{queue="mail"})')],
            },
        },
        dry_run=True,
        as_objects=True,
    )
    page = (DOCS / "keda.md").read_text("utf-8")
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE)
    autoscaler, values = (yaml.safe_load(textwrap.dedent(each)) for each in blocks)
    assert found.autoscaler == autoscaler
    [rule] = found.metrics
    [shown] = values["rules"]["metrics"]
    assert rule == {**shown, "backend": "prometheus-monitoring"}


def test_as_objects_the_label_of_an_irregular_plural_is_that_of_the_query():
    target = {"apiVersion": "example.com/v1", "kind": "Redis", "name": "cache"}
    found = converted(prometheus(), as_objects=True, scaleTargetRef=target)
    file = yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)})
    [rule] = parse(file).rules
    assert rule.object_label == "redis"
    assert '"redis", "cache"' in rule.query
    assert [each.field for each in found.remarks] == ["spec.scaleTargetRef"]


def test_as_objects_a_query_may_end_with_a_comment():
    found = converted(prometheus("sum(a) # of all queues"), as_objects=True)
    file = yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)})
    [rule] = parse(file).rules
    assert "sum(a) # of all queues\n, " in rule.query


def test_as_objects_a_namespace_is_needed():
    scaled_object = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "worker"},
        "spec": {"scaleTargetRef": {"name": "worker"}, "triggers": [prometheus()]},
    }
    with pytest.raises(Unconvertible, match=r"metadata\.namespace is missing"):
        from_scaled_object(scaled_object, dry_run=True, as_objects=True)
    assert (
        from_scaled_object(scaled_object, dry_run=True).autoscaler["metadata"]["name"] == "worker"
    )


def test_as_objects_the_target_is_written_without_aliases():
    spec = spec_of(prometheus(), as_objects=True)
    assert "&id" not in yaml.safe_dump(spec)


def test_a_trigger_of_type_value_divides_the_whole_value():
    (metric,) = spec_of(prometheus(metric_type="Value"))["metrics"]
    assert metric["external"]["target"] == {"type": "Value", "value": "30"}


@pytest.mark.parametrize(("least", "activation"), [(0, "5"), (1, None)])
def test_the_activation_threshold_matters_only_at_zero(least, activation):
    (metric,) = spec_of(prometheus(activationThreshold="5"), minReplicaCount=least)["metrics"]
    assert metric.get("activationValue") == activation


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


def test_cpu_alone_never_goes_to_zero_as_in_keda():
    assert spec_of(CPU)["minReplicas"] == 1
    assert remarked(CPU) == ["spec.minReplicaCount"]


def test_cpu_beside_a_query_does_not_keep_the_target_from_zero():
    """KEDA reads no activity from cpu and memory."""
    container = {"type": "memory", "metadata": {"value": "60", "containerName": "app"}}
    found = converted(prometheus(), CPU, container).autoscaler
    metrics = found["spec"]["metrics"]
    assert [each.get("activationValue") for each in metrics] == [None, "1P", "1P"]
    spec = schema_in(CRD)["properties"]["spec"]
    assert [*violations(found["spec"], spec), *unknown_fields(found["spec"], spec)] == []


def test_cpu_and_cron_say_that_keda_would_go_to_zero():
    trigger = cron("0 8 * * *", "0 9 * * *")
    found = converted(CPU, trigger)
    assert found.autoscaler["spec"]["minReplicas"] == 1
    assert "activationValue" not in found.autoscaler["spec"]["metrics"][0]
    (remark,) = found.remarks
    assert remark.field == "spec.minReplicaCount"
    assert (
        "KEDA scales to zero while no trigger other than cpu and memory is active" in remark.message
    )


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        pytest.param(
            {"failureThreshold": 3, "replicas": 6},
            {"type": "Replicas", "replicas": 6, "failureDurationSeconds": 90},
            id="a fixed count after three polls of 30 s",
        ),
        pytest.param(
            {"failureThreshold": 2, "replicas": 6, "behavior": "currentReplicas"},
            {"type": "Hold", "failureDurationSeconds": 60},
            id="the current count",
        ),
        pytest.param(
            {"failureThreshold": 2, "replicas": 6, "behavior": "currentReplicasIfHigher"},
            None,
            id="no counterpart",
        ),
    ],
)
def test_the_fallback_applies_to_the_external_metrics(fallback, expected):
    external, cpu = spec_of(prometheus(), CPU, fallback=fallback)["metrics"]
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
    ],
)
def test_a_paused_object_stays_suspended(annotation, value, suspension):
    annotations = {f"autoscaling.keda.sh/{annotation}": value}
    assert spec_of(prometheus(), annotations=annotations).get("suspend") == suspension


def test_an_object_that_may_scale_neither_in_nor_out_is_suspended_in_both_directions():
    prefix = "autoscaling.keda.sh/paused-scale"
    annotations = {f"{prefix}-in": "true", f"{prefix}-out": "true"}
    assert spec_of(prometheus(), annotations=annotations)["suspend"] == {"direction": "Both"}


def test_an_annotation_without_counterpart_is_reported_for_a_paused_object_too():
    names = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/force-activation")
    assert remarked(prometheus(), annotations=dict.fromkeys(names, "true")) == [
        "metadata.annotations[autoscaling.keda.sh/force-activation]"
    ]


def cron(start, end, **metadata):
    times = {"start": start, "end": end, "desiredReplicas": "6", "timezone": "Europe/Berlin"}
    return {"type": "cron", "metadata": {**times, **metadata}}


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        pytest.param("0 8 * * 1-5", "30 18 * * 1-5", 37800, id="office hours"),
        pytest.param("0 22 * * *", "0 6 * * *", 28800, id="overnight, every day"),
        pytest.param("0 22 * * 1-5", "0 6 * * 1-5", None, id="overnight, on some days"),
        pytest.param("0 8 * * *", "0 8 * * *", None, id="no time at all"),
        pytest.param("*/5 * * * *", "0 6 * * *", None, id="many starts"),
        pytest.param("0 8 1 * *", "0 8 3 * *", None, id="several days"),
    ],
)
def test_a_cron_trigger_becomes_a_schedule_if_its_duration_is_fixed(start, end, seconds):
    trigger = cron(start, end)
    found = spec_of(prometheus(), trigger, minReplicaCount=1).get("schedules")
    if seconds is None:
        assert found is None
        assert remarked(prometheus(), trigger, minReplicaCount=1) == ["spec.triggers[1]"]
    else:
        (schedule,) = found
        assert schedule == {
            "name": "cron-1",
            "schedule": start,
            "durationSeconds": seconds,
            "timeZone": "Europe/Berlin",
            "minReplicas": 6,
        }


def test_a_cron_trigger_does_not_exceed_the_upper_bound():
    found = spec_of(prometheus(), cron("0 8 * * *", "0 9 * * *"), maxReplicaCount=4)
    assert found["schedules"][0]["minReplicas"] == 4


@pytest.mark.parametrize(
    ("cooldown", "window", "remarks"),
    [
        (300, None, []),
        (10, None, ["spec.cooldownPeriod"]),
        (10, 10, []),
        (10, 60, ["spec.cooldownPeriod"]),
    ],
)
def test_a_stabilization_window_that_delays_zero_is_reported(cooldown, window, remarks):
    behavior = {"scaleDown": {} if window is None else {"stabilizationWindowSeconds": window}}
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    assert remarked(prometheus(), cooldownPeriod=cooldown, advanced=advanced) == remarks


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
        ({"advanced": {"restoreToOriginalReplicaCount": True}}, "spec.advanced.restoreToOriginalReplicaCount"),
        ({"advanced": {"scalingModifiers": {"formula": "a"}}}, "spec.advanced.scalingModifiers"),
    ],
)  # fmt: skip
def test_a_field_without_counterpart_is_reported(spec, field):
    assert remarked(prometheus(), **spec) == [field]


def test_credentials_and_other_triggers_are_reported():
    kafka = {"type": "kafka", "metadata": {}}
    secured = {**prometheus(unsafeSsl="true", namespace="shop"), "authenticationRef": {"name": "a"}}
    assert remarked(secured, kafka) == [
        "spec.triggers[0].authenticationRef",
        "spec.triggers[0].metadata.namespace",
        "spec.triggers[0].metadata.unsafeSsl",
        "spec.triggers[1]",
    ]


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
