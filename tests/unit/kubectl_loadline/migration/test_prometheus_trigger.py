"""Prometheus triggers become named metrics of the adapter; docs/keda-fields.md has the same table."""

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from adapter.config import parse
from kubectl_loadline.migration import AdapterNames, Unconvertible, from_scaled_object
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    SERVER,
    converted,
    prometheus,
    remarked,
    spec_of,
)

DOCS = Path(__file__).parents[4] / "docs"


def test_a_prometheus_trigger_becomes_a_named_metric_that_the_adapter_accepts():
    found = converted(
        prometheus("sum(a)", name="Mail Queue"), prometheus("sum(b)", ignoreNullValues="false")
    )
    assert list(found.metrics) == [
        {"name": "shop_worker_mail_queue", "query": "clamp_min(sum(a), 0)", "backend": "prometheus-monitoring", "signal": {"onEmpty": "zero", "onNaN": "zero"}},
        {"name": "shop_worker_1", "query": "clamp_min(sum(b), 0)", "backend": "prometheus-monitoring"},
    ]  # fmt: skip
    assert list(found.backends) == [{"name": "prometheus-monitoring", "url": SERVER}]
    file = yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)})
    assert [rule.name for rule in parse(file).rules] == ["shop_worker_mail_queue", "shop_worker_1"]
    first, second = found.autoscaler["spec"]["metrics"]
    assert (first["name"], second["name"]) == ("mail-queue", "prometheus-1")


def of_credentials(namespace, **reference):
    found = converted(
        {**prometheus(), "authenticationRef": reference}, of=(namespace, "w"), names=NAMES
    )
    return found.backends[0]["name"]


NAMES = AdapterNames()


def test_a_trigger_authentication_is_one_of_its_namespace():
    names = [
        of_credentials("a", name="auth"),
        of_credentials("b", name="auth"),
        of_credentials("a", name="auth", kind="TriggerAuthentication"),
        of_credentials("a", name="auth", kind="ClusterTriggerAuthentication"),
        of_credentials("b", name="auth", kind="ClusterTriggerAuthentication"),
    ]
    a, b, explicit, cluster, other = names
    assert a == explicit
    assert cluster == other
    assert len({a, b, cluster}) == 3


@pytest.mark.parametrize(
    "query", ["sum(x) default 0", "sum(x) keep_metric_names", 'sum(x{a="<<b"})', "sum("]
)
def test_a_query_that_the_adapter_refuses_is_not_converted(query):
    """One such query would make its whole configuration invalid."""
    with pytest.raises(Unconvertible, match=r"spec\.triggers\[0\]\.metadata\.query: .*PromQL"):
        converted(prometheus(query))


@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", "it is missing"),
        (" ", "it is missing"),
        (None, "it is missing"),
        ('"abc"', 'the result of "abc" is text'),
        ("('abc')", r"the result of \('abc'\) is text"),
        ("sum(x)[5m:1m]", "the adapter would refuse its whole configuration"),
        ("# none", "the adapter would refuse its whole configuration"),
    ],
)
def test_a_query_without_values_is_not_converted(query, problem, as_objects):
    with pytest.raises(Unconvertible, match=rf"spec\.triggers\[0\]\.metadata\.query: {problem}"):
        converted(prometheus(query), as_objects=as_objects)


def test_a_trigger_without_a_query_is_not_converted():
    without = {"type": "prometheus", "metadata": {"serverAddress": SERVER, "threshold": "5"}}
    with pytest.raises(Unconvertible, match=r"metadata\.query: it is missing"):
        converted(without)


@pytest.mark.parametrize(
    "field",
    ["authMode", "authModes", "identityOwner", "credentialsFromEnv", "credentialsFromEnvFile"],
)
def test_each_setting_of_the_connection_is_reported(field):
    assert remarked(prometheus(**{field: "x"})) == [f"spec.triggers[0].metadata.{field}"]


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
        pytest.param([at("ftp://p"), at("//p")], {}, id="no server of HTTP"),
    ],
)  # fmt: skip
def test_each_server_and_tenant_is_a_backend_with_its_own_name(triggers, backends):
    found = converted(*triggers)
    assert {each["name"]: each["url"] for each in found.backends} == backends
    used = {each["backend"] for each in found.metrics if "backend" in each}
    assert used == set(backends)


@pytest.mark.parametrize("names", [None, AdapterNames()], ids=["separately", "together"])
def test_two_objects_have_no_metric_of_the_same_name(names):
    objects = [("shop-eu", "worker"), ("shop", "eu-worker"), ("shop", "eu.worker"), ("shop", "eu")]
    triggers = [prometheus(), prometheus(name="worker"), prometheus(name="Worker_0")]
    found = [converted(*triggers, of=each, names=names) for each in objects]
    taken = [metric["name"] for each in found for metric in each.metrics]
    assert taken[:4] == [
        "shop-eu_worker_0",
        "shop-eu_worker_worker",
        "shop-eu_worker_worker_0",
        "shop_eu-worker_0",
    ]
    assert len({*taken}) == len(taken)


def test_the_metrics_of_one_object_have_a_number_if_their_triggers_have_the_same_name():
    found = converted(prometheus(name="Queue"), prometheus(name="queue"))
    names = ["shop_worker_queue", "shop_worker_queue_2"]
    assert [each["name"] for each in found.metrics] == names
    requested = [each["external"]["metric"] for each in found.autoscaler["spec"]["metrics"]]
    assert requested == [{"name": each} for each in names]


def test_objects_that_are_converted_together_have_the_same_backends():
    names = AdapterNames()
    first, second = (converted(prometheus(), of=("shop", each), names=names) for each in "ab")
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
        'label_replace(label_replace(clamp_min(sum(a), 0), "namespace", "shop", "", ""), '
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
    assert "clamp_min(sum(a) # of all queues\n, 0)\n, " in rule.query


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


def test_spaces_around_a_threshold_do_not_count():
    trigger = prometheus(threshold=" 30 ", activationThreshold=" 5 ")
    (metric,) = spec_of(trigger, minReplicaCount=0)["metrics"]
    assert metric["external"]["target"]["averageValue"] == "30"
    assert metric["activationValue"] == "5"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sum(rate(requests_total[1m]))", "sum(rate(requests_total[1m]))"),
        ("sum(queue)", "clamp_min(sum(queue), 0)"),
        ("sum(produced) - sum(consumed)", "clamp_min(sum(produced) - sum(consumed), 0)"),
        ("predict_linear(queue[5m], 60) # soon", "clamp_min(predict_linear(queue[5m], 60) # soon\n, 0)"),
        ("deriv(queue[5m])", "clamp_min(deriv(queue[5m]), 0)"),
    ],
)  # fmt: skip
def test_a_query_that_may_have_a_negative_result_has_zero_instead(query, expected):
    found = converted(prometheus(query))
    assert found.metrics[0]["query"] == expected
    parse(yaml.safe_dump({"metrics": list(found.metrics), "backends": list(found.backends)}))
