"""The adapter chart: registered APIs, serving and verification, permissions."""

import json
import re
from pathlib import Path

import pytest
import yaml

from adapter.config import parse
from adapter.config.problems import ConfigError
from wire.process import go_yaml

CUSTOM = ["v1beta1.custom.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io"]
EXTERNAL = ["v1beta1.external.metrics.k8s.io"]
RESOURCE = ["v1beta1.metrics.k8s.io"]
CA, CERTIFICATE, KEY = (f"-----BEGIN {name}-----\n" for name in ("CA", "CERTIFICATE", "KEY"))
RATE = {"name": "requests", "describes": "pods", "query": "rate(x[1m])"}
QUEUE = {"name": "queue", "query": "sum(queue)"}


def registered(rendered):
    return sorted(m["metadata"]["name"] for m in rendered.of("APIService"))


def configuration(rendered):
    return go_yaml.load(rendered.one("ConfigMap")["data"]["config.yaml"])


# ---- metrics


@pytest.mark.parametrize(
    ("values", "apis"),
    [
        pytest.param({}, CUSTOM, id="default values: the default rules"),
        pytest.param({"rules": {"default": False}}, [], id="no rule"),
        pytest.param({"rules": {"default": False, "metrics": [RATE]}}, CUSTOM, id="a pod metric"),
        pytest.param({"rules": {"default": False, "metrics": [QUEUE]}}, EXTERNAL, id="a queue"),
        pytest.param(
            {"rules": {"default": False, "metrics": [{**QUEUE, "describes": None}]}},
            EXTERNAL,
            id="a metric that describes nothing",
        ),
        pytest.param(
            {"rules": {"external": [{"seriesQuery": "q"}]}}, CUSTOM + EXTERNAL, id="external rules"
        ),
        pytest.param(
            {"rules": {"resource": {"window": "5m"}}}, CUSTOM + RESOURCE, id="resource rules"
        ),
        pytest.param(
            {"rules": {"existing": "mine"}, "apiServices": {"external": "always"}},
            CUSTOM + EXTERNAL,
            id="forced on, with an existing ConfigMap",
        ),
        pytest.param({"apiServices": {"custom": "never"}}, [], id="forced off"),
    ],
)
def test_an_api_is_registered_if_there_is_a_rule_for_it(adapter, values, apis):
    assert registered(adapter.render(values)) == sorted(apis)


def test_the_newer_version_of_custom_metrics_is_preferred(adapter):
    priority = {
        m["spec"]["version"]: m["spec"]["versionPriority"]
        for m in adapter.render().of("APIService")
    }
    assert priority["v1beta2"] > priority["v1beta1"]


def test_rules_of_all_kinds_are_written_to_one_file(adapter):
    custom, external = {"seriesQuery": "a"}, {"seriesQuery": "b"}
    read = configuration(
        adapter.render(
            {
                "rules": {
                    "custom": [custom],
                    "external": [external],
                    "resource": {"window": "5m"},
                    "metrics": [RATE],
                }
            }
        )
    )
    assert [rule.get("seriesQuery") for rule in read["rules"]][6:] == ["a"]
    assert read["externalRules"] == [external]
    assert read["resourceRules"] == {"window": "5m"}
    assert read["metrics"] == [RATE]


def test_the_default_rules_are_those_of_the_prometheus_community_chart(adapter):
    """They strip prefixes and suffixes, and turn counters into rates (its templates/configmap.yaml)."""
    rules = configuration(adapter.render())["rules"]
    assert [(rule["name"]["matches"], "rate(" in rule["metricsQuery"]) for rule in rules] == [
        ("^container_(.*)_seconds_total$", True),
        ("^container_(.*)_total$", True),
        ("^container_(.*)$", False),
        ("", False),
        ("^(.*)_total$", True),
        ("^(.*)_seconds_total$", True),
    ]
    assert len({rule["seriesQuery"] for rule in rules}) == 2


def test_an_existing_configmap_replaces_the_rules(adapter):
    rendered = adapter.render({"rules": {"existing": "mine"}})
    assert not rendered.of("ConfigMap")
    assert {"name": "config", "configMap": {"name": "mine"}} in rendered.pod["volumes"]


def test_a_changed_rule_does_not_restart_the_pods(adapter):
    """The adapter reloads the file: the pod template must not change, and the directory must be mounted."""
    before = adapter.render()
    after = adapter.render({"rules": {"metrics": [RATE]}})
    assert before.text != after.text
    assert before.one("Deployment") == after.one("Deployment")
    (mount,) = (m for m in after.container["volumeMounts"] if m["name"] == "config")
    assert "subPath" not in mount


@pytest.mark.parametrize(
    ("prometheus", "url"),
    [
        pytest.param({}, "http://prometheus.default.svc:9090", id="default values"),
        pytest.param({"port": 0}, "http://prometheus.default.svc", id="no port"),
        pytest.param({"path": "/p"}, "http://prometheus.default.svc:9090/p", id="with a path"),
        pytest.param(
            {"url": "http://p.{{ .Release.Namespace }}.svc"},
            "http://p.metrics.svc:9090",
            id="a template",
        ),
        pytest.param({"url": "http://p:8080"}, "http://p:8080", id="a port in the URL"),
        pytest.param({"url": "http://p:80", "port": 80}, "http://p:80", id="the same port twice"),
        pytest.param({"url": "http://p:80", "port": 0}, "http://p:80", id="a port in the URL only"),
        pytest.param({"url": "http://p/prom"}, "http://p:9090/prom", id="a path in the URL"),
        pytest.param({"url": "http://p/"}, "http://p:9090", id="a slash at the end"),
        pytest.param(
            {"url": "http://p/a/", "path": "b/"}, "http://p:9090/a/b", id="two parts of the path"
        ),
        pytest.param(
            {"url": "http://p:80/a?tenant=x:1"}, "http://p:80/a?tenant=x:1", id="a parameter"
        ),
        pytest.param({"url": "http://u:1@p"}, "http://u:1@p:9090", id="a password, not a port"),
        pytest.param({"url": "http://[::1]"}, "http://[::1]:9090", id="an IPv6 address"),
        pytest.param({"url": "http://[::1]:80"}, "http://[::1]:80", id="an IPv6 address and port"),
    ],
)
def test_the_url_of_prometheus_is_built_from_its_parts(adapter, prometheus, url):
    assert f"--prometheus-url={url}" in adapter.render({"prometheus": prometheus}).arguments


# ---- serving


@pytest.mark.parametrize(
    ("values", "flags"),
    [
        pytest.param(
            {},
            ["--wide-queries=true", "--prometheus-concurrency=20"],
            id="the program's defaults",
        ),
        pytest.param(
            {"metricsFreshness": "0s", "wideQueries": False, "prometheus": {"concurrency": 5}},
            ["--metrics-freshness=0s", "--wide-queries=false", "--prometheus-concurrency=5"],
            id="no sharing",
        ),
        pytest.param(
            {"metricsFreshness": None, "wideQueries": None, "prometheus": {"concurrency": None}},
            [],
            id="unset",
        ),
    ],
)
def test_queries_are_shared_and_limited_as_the_values_say(adapter, values, flags):
    (container,) = adapter.render(values).one("Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    names = ("--metrics-freshness=", "--wide-queries=", "--prometheus-concurrency=")
    assert [each for each in container["args"] if each.startswith(names)] == flags


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        pytest.param(
            {"tls": {"enable": True, "generate": True}}, "choose only one", id="two sources"
        ),
        pytest.param({"tls": {"existingSecret": "mine"}}, "requires tls.ca", id="unverifiable"),
        pytest.param(
            {"service": {"type": "ExternalName"}},
            "requires service.externalName",
            id="no external name",
        ),
        pytest.param(
            {"tls": {"enable": True, "certificate": CERTIFICATE, "key": KEY}},
            "tls.enable requires tls.ca",
            id="no CA certificate",
        ),
        pytest.param(
            {"tls": {"enable": True, "ca": CA, "key": KEY}},
            "tls.enable requires tls.certificate",
            id="no certificate",
        ),
        pytest.param(
            {"tls": {"enable": True, "ca": CA, "certificate": CERTIFICATE, "key": "# Private key"}},
            "tls.enable requires tls.key",
            id="a placeholder for a key",
        ),
        pytest.param(
            {"prometheus": {"url": "prometheus.svc"}}, "must be http:// or https://", id="no scheme"
        ),
        pytest.param({"prometheus": {"url": ""}}, "must be http:// or https://", id="no URL"),
        pytest.param(
            {"prometheus": {"url": "http://p:80", "port": 81}},
            "set only one of them",
            id="two ports of Prometheus",
        ),
        pytest.param(
            {"image": {"repository": "registry.k8s.io/prometheus-adapter/prometheus-adapter"}},
            "the image of prometheus-adapter",
            id="the image of prometheus-adapter",
        ),
        pytest.param(
            {"rules": {"metrics": [{**RATE, "desribes": "pods"}]}},
            "desribes",
            id="an unknown field of a named metric",
        ),
        pytest.param(
            {"rules": {"metrics": [{**RATE, "signal": {"onEmpty": "ignore"}}]}},
            "onEmpty",
            id="an unknown choice of a signal policy",
        ),
    ],
)
def test_contradicting_values_are_rejected_with_the_fix(adapter, refused, values, fix):
    with pytest.raises(refused, match=fix):
        adapter.render(values)


def test_an_adapter_outside_the_cluster_is_registered_by_name_and_port(adapter):
    outside = {"type": "ExternalName", "externalName": "localhost", "port": 16443}
    rendered = adapter.render({"service": outside})
    service = rendered.one("Service")["spec"]
    assert service["type"] == "ExternalName"
    assert service["externalName"] == "localhost"
    assert "selector" not in service
    assert {m["spec"]["service"]["port"] for m in rendered.of("APIService")} == {16443}


def test_host_network_sets_its_dns_policy(adapter):
    pod = adapter.render({"hostNetwork": {"enabled": True}}).pod
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


# ---- permissions


def test_the_adapter_may_only_list_and_watch_described_resources(adapter):
    rendered = adapter.render()
    rules = rendered.one("ClusterRole", ":described-resources")["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list", "watch"}
    granted = {(g, r) for rule in rules for g in rule["apiGroups"] for r in rule["resources"]}
    assert {("", "pods"), ("", "nodes"), ("apps", "deployments")} <= granted
    assert not any("*" in pair for pair in granted)
    assert not {("", "secrets"), ("", "configmaps")} & granted


def test_groups_of_described_resources_can_be_added_and_removed(adapter):
    values = {"example.com": ["widgets"], "batch": None, "core": ["pods"]}
    rendered = adapter.render({"rbac": {"describedResources": values}})
    rules = rendered.one("ClusterRole", ":described-resources")["rules"]
    by_group = {rule["apiGroups"][0]: rule["resources"] for rule in rules}
    assert by_group["example.com"] == ["widgets"]
    assert by_group[""] == ["pods"]
    assert "batch" not in by_group
    assert "apps" in by_group


def test_a_wildcard_described_resource_is_rejected(adapter, refused):
    with pytest.raises(refused, match=r"describedResources"):
        adapter.render({"rbac": {"describedResources": {"core": ["*"]}}})


def test_the_adapter_is_bound_to_exactly_these_roles(adapter):
    rendered = adapter.render({"rules": {"resource": {"window": "5m"}}})
    bound = {
        binding["roleRef"]["name"]
        for binding in rendered.of("ClusterRoleBinding") + rendered.of("RoleBinding")
        if any(s["name"] == "r-loadline-adapter" for s in binding["subjects"])
    }
    assert bound == {
        "system:auth-delegator",
        "extension-apiserver-authentication-reader",
        "r-loadline-adapter:described-resources",
        "r-loadline-adapter:certificate",
    }


def test_the_hpa_controller_may_read_metrics_and_nothing_else(adapter):
    rendered = adapter.render()
    assert rendered.one("ClusterRole", ":metrics-reader")["rules"] == [
        {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["*"], "verbs": ["get"]},
        {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["list"]},
    ]
    assert rendered.one("ClusterRoleBinding", ":metrics-reader")["subjects"] == [
        {
            "kind": "ServiceAccount",
            "name": "horizontal-pod-autoscaler",
            "namespace": "kube-system",
        }
    ]


def test_a_reader_that_is_a_service_account_has_a_namespace(adapter, refused):
    """kube-apiserver refuses a binding without, after Helm has changed other objects."""
    with pytest.raises(refused, match="namespace"):
        adapter.render({"rbac": {"readers": [{"kind": "ServiceAccount", "name": "a"}]}})
    for reader in (
        {"kind": "ServiceAccount", "name": "a", "namespace": "b"},
        {"kind": "User", "name": "a"},
        {"kind": "Group", "name": "a"},
    ):
        adapter.render({"rbac": {"readers": [reader]}})


def test_readers_can_be_restricted_to_single_metrics(adapter):
    rbac = {
        "customMetrics": {"resources": ["pods/requests"]},
        "externalMetrics": {"resources": ["queue"]},
    }
    rules = adapter.render({"rbac": rbac}).one("ClusterRole", ":metrics-reader")["rules"]
    assert [rule["resources"] for rule in rules] == [["pods/requests"], ["queue"]]


def test_wildcards_stand_for_metric_names_only(adapter):
    wild = [
        rule
        for rule in adapter.render().rules()
        if "*" in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", [])
    ]
    assert [rule["apiGroups"] for rule in wild] == [
        ["custom.metrics.k8s.io"],
        ["external.metrics.k8s.io"],
    ]
    assert all("*" not in rule["verbs"] for rule in wild)


def test_a_values_file_of_the_prometheus_community_chart_is_accepted(adapter):
    values = Path(__file__).with_name("prometheus-community-values.yaml").read_text()
    rendered = adapter.render(go_yaml.load(values))
    deployment = rendered.one("Deployment")
    assert deployment["metadata"]["namespace"] == "elsewhere"
    assert deployment["spec"]["replicas"] == 2
    assert {"--secure-port=8443", "--v=6", "--prometheus-url=http://p:80"} <= set(
        rendered.arguments
    )
    assert rendered.container["livenessProbe"]["httpGet"] == {
        "path": "/healthz",
        "port": "https",
        "scheme": "HTTPS",
    }
    reader = rendered.one("RoleBinding", ":auth-reader")
    assert reader["roleRef"]["kind"] == "ClusterRole"


@pytest.mark.parametrize("block", ["", "labels", "signal"])
def test_the_schema_knows_the_fields_of_a_named_metric_that_the_adapter_knows(adapter, block):
    """The adapter lists its fields in the error for an unknown one."""
    schema = json.loads((adapter.path / "values.schema.json").read_text("utf-8"))
    known = schema["properties"]["rules"]["properties"]["metrics"]["items"]["properties"]
    metric = dict(RATE, **({block: {"zzzzzzzz": 1}} if block else {"zzzzzzzz": 1}))
    with pytest.raises(ConfigError) as rejected:
        parse(yaml.safe_dump({"metrics": [metric]}))
    (fields,) = re.findall(r": ((?:\w+, )+\w+)\.", str(rejected.value))
    assert sorted(known[block]["properties"] if block else known) == fields.split(", ")
