"""Properties of both charts: strict and documented values, a restricted pod, no unused values."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.charts.conftest import UNVERIFIED

ROOT = Path(__file__).resolve().parents[3]


def described(schema, path=""):
    """Path and description of each value of a schema."""
    for name, inner in schema["properties"].items():
        here = f"{path}{name}"
        if "description" in inner:
            yield here, inner["description"]
        else:
            yield from described(inner, f"{here}.")


def objects(schema):
    """Each object of a schema that has named properties."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for name, inner in schema.items():
            if name != "if":  # a condition, which accepts nothing
                yield from objects(inner)


def settled(values, path):
    for name in path.split("."):
        if not isinstance(values, dict) or name not in values:
            return ""
        values = values[name]
    return f"`{json.dumps(values)}`"


def schema_of(chart):
    return json.loads((chart.path / "values.schema.json").read_text())


def test_helm_lint_reports_no_problem(chart):
    done = subprocess.run(
        [Path(sys.executable).with_name("helm"), "lint", "--strict", chart.path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        pytest.param({"replica": 2}, "replica", id="a misspelt name"),
        pytest.param({"image": {"tagg": "1"}}, "tagg", id="a misspelt nested name"),
        pytest.param({"replicas": "2"}, "replicas", id="a number as text"),
        pytest.param({"logLevel": 11}, "logLevel", id="a number out of range"),
        pytest.param({"image": {"digest": "sha256:1"}}, "digest", id="half a digest"),
        pytest.param({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy", id="an unknown choice"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_name(chart, refused, values, complaint):
    with pytest.raises(refused, match=complaint):
        chart.render(values)


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({"requests": {"memory": "1Gi"}}, id="a request above the default limit"),
        pytest.param({"limits": {"cpu": "50m"}}, id="a limit below the default request"),
        pytest.param({}, id="none, as in the chart of prometheus-adapter"),
    ],
)
def test_resources_replace_all_of_the_default(chart, resources):
    """With a part of it, kube-apiserver would refuse a request above the limit."""
    assert chart.render({"resources": resources}).container.get("resources", {}) == resources
    assert chart.render().container["resources"]["limits"].keys() == {"memory"}


def test_a_namespace_of_digits_is_text(chart):
    values = {"serviceMonitor": {"enabled": True, "tlsConfig": UNVERIFIED}}
    manifests = chart.render(values, namespace="5e12345").manifests
    named = [*(each["metadata"] for each in manifests)]
    named += [subject for each in manifests for subject in each.get("subjects") or ()]
    namespaces = {each["namespace"] for each in named if "namespace" in each}
    assert "5e12345" in namespaces
    assert {type(each) for each in namespaces} == {str}


def test_no_object_of_the_schema_accepts_unknown_names(chart):
    loose = [
        sorted(known["properties"])
        for known in objects(schema_of(chart))
        if known.get("additionalProperties") is not False
    ]
    assert not loose


def test_every_value_is_in_the_schema_with_a_description(chart):
    explained = dict(described(schema_of(chart)))
    assert all(len(text) > 10 for text in explained.values())

    def leaves(values, path=""):
        for name, inner in values.items():
            here = f"{path}{name}"
            if here in explained:
                continue
            assert isinstance(inner, dict), f"{here} is not in the schema"
            yield from leaves(inner, f"{here}.")

    assert not list(leaves(chart.values))


def test_the_documentation_lists_every_value_with_its_default(chart):
    page = (ROOT / "docs" / "charts.md").read_text()
    section = page.split(f"## Values of charts/{chart.path.name}\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\S+)` \| (.*?) \| (.*) \|$", section, re.MULTILINE)
    expected = [
        (path, settled(chart.values, path), text)
        for path, text in described(schema_of(chart))
        if path not in ("global", "enabled")
    ]
    unescaped = [(path, *(cell.replace(r"\|", "|") for cell in cells)) for path, *cells in listed]
    assert sorted(unescaped) == sorted(expected)


def test_the_pod_meets_the_restricted_pod_security_standard(chart):
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted"""
    rendered = chart.render()
    pod, container = rendered.pod, rendered.container
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert {next(iter(set(volume) - {"name"})) for volume in pod["volumes"]} <= {
        "configMap",
        "emptyDir",
        "projected",
        "secret",
    }
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert not any("hostPort" in port for port in container["ports"])


def test_the_pods_of_hooks_meet_the_restricted_pod_security_standard_too(chart):
    pods = [
        hook["spec"]["template"]["spec"] if hook["kind"] == "Job" else hook["spec"]
        for hook in chart.render().hooks
        if hook["kind"] in {"Job", "Pod"}
    ]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert (
            pod["containers"][0]["securityContext"] == chart.render().container["securityContext"]
        )


def test_the_probes_use_the_health_endpoints(chart):
    container = chart.render().container
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_selector_of_a_deployment_survives_an_upgrade(chart):
    """It is immutable, so neither a version nor a label of the user may be in it."""
    deployment = chart.render({"customLabels": {"team": "a"}}).one("Deployment")
    assert set(deployment["spec"]["selector"]["matchLabels"]) == {
        "app.kubernetes.io/name",
        "app.kubernetes.io/instance",
    }
    assert deployment["spec"]["template"]["metadata"]["labels"]["team"] == "a"


def test_values_that_only_pass_through_arrive(chart):
    mount = {"name": "token", "mountPath": "/etc/token"}
    volume = {"name": "token", "secret": {"secretName": "t"}}
    rendered = chart.render(
        {
            "image": {"repository": "example.com/l", "digest": f"sha256:{'0' * 64}"},
            "extraArguments": ["--v=9"],
            "env": [{"name": "A", "value": "b"}],
            "extraVolumes": [volume],
            "extraVolumeMounts": [mount],
            "extraContainers": [{"name": "beside", "image": "x"}],
            "extraManifests": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}],
            "priorityClassName": "system-cluster-critical",
            "nodeSelector": {"disk": "fast"},
            "tolerations": [{"operator": "Exists"}],
            "podAnnotations": {"a": "b"},
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        }
    )
    assert rendered.container["image"] == f"example.com/l@sha256:{'0' * 64}"
    assert rendered.arguments[-1] == "--v=9"
    assert rendered.container["env"] == [{"name": "A", "value": "b"}]
    assert volume in rendered.pod["volumes"]
    assert mount in rendered.container["volumeMounts"]
    assert [c["name"] for c in rendered.pod["containers"]][1:] == ["beside"]
    assert {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}} in rendered.manifests
    assert rendered.pod["priorityClassName"] == "system-cluster-critical"
    assert rendered.pod["nodeSelector"] == {"disk": "fast"}
    assert rendered.pod["tolerations"] == [{"operator": "Exists"}]
    assert rendered.one("PodDisruptionBudget")["spec"]["minAvailable"] == 1
    assert "maxUnavailable" not in rendered.one("PodDisruptionBudget")["spec"]


def test_nothing_is_bound_without_rbac_create(chart):
    kinds = {m["kind"] for m in chart.render({"rbac": {"create": False}}).manifests}
    assert not {"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"} & kinds


def test_who_scrapes_may_get_metrics_and_nothing_else(chart):
    rendered = chart.render(
        {
            "serviceMonitor": {
                "enabled": True,
                "tlsConfig": UNVERIFIED,
                "labels": {"release": "kube-prometheus"},
                "scrapers": [{"name": "prometheus-k8s", "namespace": "monitoring"}],
            }
        }
    )
    assert rendered.one("ClusterRole", ":scraper")["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]
    monitor = rendered.one("ServiceMonitor")
    service = rendered.one("Service")
    assert monitor["metadata"]["labels"]["release"] == "kube-prometheus"
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    assert wanted <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_a_network_policy_lets_in_the_https_port_only(chart):
    policy = chart.render({"networkPolicy": {"enabled": True}}).one("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    assert policy["ingress"] == [{"ports": [{"port": "https", "protocol": "TCP"}]}]


def test_requests_are_not_logged_by_default(chart):
    """The adapter logs each request from 3 on: a line for every metric of every autoscaler, every 15 seconds."""
    assert "--v=2" in chart.render().arguments


def test_a_chart_without_values_uses_the_image_that_a_checkout_builds(chart):
    image = chart.render({"image": {}}).container["image"]
    assert image == "loadline-autoscaler:0.1.0"


def test_an_empty_image_repository_is_reported_with_the_fix(chart, refused):
    with pytest.raises(refused, match=r"image\.repository is empty: leave it out"):
        chart.render({"image": {"repository": ""}})


# Values that must be set: the chart cannot choose them, or the pod needs them.
REQUIRED = {
    "adapter": {"image.repository", "listenPort", "prometheus.url", "service.port", "service.type"},
    "scaler": {"image.repository", "securePort", "watch"},
}
FEATURES = (
    "certManager",
    "grafanaDashboard",
    "networkPolicy",
    "podDisruptionBudget",
    "prometheusRule",
    "serviceMonitor",
)


def all_null(values, kept, path=""):
    """The same tree with null for every value, except for those to keep."""
    nulls = {}
    for name, inner in values.items():
        here = f"{path}{name}"
        if isinstance(inner, dict) and inner:
            nulls[name] = all_null(inner, kept, f"{here}.")
        else:
            nulls[name] = inner if here in kept else None
    return nulls


def nulls_of(manifest, path=""):
    """The paths of all nulls in a manifest."""
    items = manifest.items() if isinstance(manifest, dict) else enumerate(manifest)
    for name, inner in items:
        if inner is None:
            yield f"{path}{name}"
        elif isinstance(inner, dict | list):
            yield from nulls_of(inner, f"{path}{name}.")


def test_null_leaves_a_value_to_its_default(chart):
    """Helm removes a value that is set to null, so no template may depend on it."""
    values = all_null(chart.values, REQUIRED[chart.path.name])
    values["image"]["repository"] = "example.com/l"
    values["rbac"] |= {name: True for name in ("create", "authDelegator") if name in values["rbac"]}
    for feature in FEATURES:
        if feature in values:
            values[feature]["enabled"] = True
    values["serviceMonitor"]["tlsConfig"] = UNVERIFIED
    rendered = chart.render(values)
    found = [f"{m['kind']}: {path}" for m in rendered.manifests for path in nulls_of(m)]
    assert not found
    assert "<nil>" not in rendered.text
    assert not [argument for argument in rendered.arguments if argument.endswith("=")]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (name, path)
        for name, paths in REQUIRED.items()
        for path in sorted(paths)
        if path != "image.repository"
    ],
)
def test_null_for_a_required_value_is_rejected_with_its_name(request, refused, name, path):
    values = None
    for part in reversed(path.split(".")):
        values = {part: values}
    with pytest.raises(refused, match=path.split(".")[-1]):
        request.getfixturevalue(name).render(values)


EVERYTHING = {
    "replicas": 2,
    "customAnnotations": {"team": "a"},
    "networkPolicy": {"enabled": True},
    "podDisruptionBudget": {"enabled": True},
    "serviceMonitor": {"enabled": True, "namespace": "monitoring", "tlsConfig": UNVERIFIED},
    "prometheusRule": {"enabled": True},
    "grafanaDashboard": {"enabled": True},
}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="default values"),
        pytest.param(
            {"tls": {"generate": True}, "rules": {"resource": {"window": "5m"}}},
            id="a generated certificate",
        ),
        pytest.param({"certManager": {"enabled": True}}, id="cert-manager"),
    ],
)
def test_custom_annotations_are_added_to_every_object(chart, values):
    own = values if chart.path.name == "adapter" else {}
    rendered = chart.render({**EVERYTHING, **own})
    without = [
        f"{m['kind']} {m['metadata']['name']}"
        for m in rendered.manifests + rendered.hooks
        if m["metadata"].get("annotations", {}).get("team") != "a"
    ]
    assert not without
    pod = rendered.one("Deployment")["spec"]["template"]["metadata"]
    assert pod["annotations"]["team"] == "a"


def test_prometheus_authenticates_with_a_token_that_may_only_get_metrics(chart):
    monitor = {"enabled": True, "namespace": "monitoring", "tlsConfig": UNVERIFIED}
    rendered = chart.render({"serviceMonitor": monitor})
    (endpoint,) = rendered.one("ServiceMonitor")["spec"]["endpoints"]
    credentials = endpoint["authorization"]["credentials"]
    secret, account = rendered.one("Secret", "-scraper"), rendered.one("ServiceAccount", "-scraper")
    assert credentials == {"name": secret["metadata"]["name"], "key": "token"}
    assert secret["type"] == "kubernetes.io/service-account-token"
    named = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    assert named == account["metadata"]["name"]
    assert {secret["metadata"]["namespace"], account["metadata"]["namespace"]} == {"monitoring"}
    assert rendered.one("ClusterRoleBinding", ":scraper")["subjects"] == [
        {"kind": "ServiceAccount", "name": named, "namespace": "monitoring"}
    ]
    assert rendered.one("ClusterRole", ":scraper")["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]
    assert "bearerTokenFile" not in rendered.text


def test_given_credentials_replace_the_created_token(chart):
    given = {"type": "Bearer", "credentials": {"name": "mine", "key": "token"}}
    monitor = {"enabled": True, "authorization": given, "tlsConfig": UNVERIFIED}
    rendered = chart.render({"serviceMonitor": monitor})
    (endpoint,) = rendered.one("ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["authorization"] == given
    assert not [s for s in rendered.of("Secret") if s["metadata"]["name"].endswith("-scraper")]
    assert not [r for r in rendered.of("ClusterRole") if r["metadata"]["name"].endswith(":scraper")]
