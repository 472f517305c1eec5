"""Monitoring in both charts: alerts, dashboards, scraping, kube-state-metrics, and the generated tables of values."""

import json
import re
import subprocess

import pytest

from testbed import chart_values
from tests.unit.charts.conftest import ROOT, UNVERIFIED
from wire.process import go_yaml


def alerts_of(chart):
    groups = go_yaml.load((chart.path / "files" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_the_prometheus_rule_has_the_alerts_of_the_file_unchanged(chart):
    rendered = chart.render({"prometheusRule": {"enabled": True, "labels": {"release": "k"}}})
    rule = rendered.one("PrometheusRule")
    assert rule["metadata"]["labels"]["release"] == "k"
    rules = [each for group in rule["spec"]["groups"] for each in group["rules"]]
    assert rules == alerts_of(chart)


def test_an_alert_can_be_left_out_and_each_links_to_its_runbook(chart):
    first = alerts_of(chart)[0]["alert"]
    values = {"enabled": True, "disabled": [first], "runbookUrl": "https://example.com/runbooks"}
    rule = chart.render({"prometheusRule": values}).one("PrometheusRule")
    rules = [each for group in rule["spec"]["groups"] for each in group["rules"]]
    assert [each["alert"] for each in rules] == [a["alert"] for a in alerts_of(chart)[1:]]
    for each in rules:
        link = f"https://example.com/runbooks#{each['alert'].lower()}"
        assert each["annotations"]["runbook_url"] == link


def test_every_alert_says_what_happens_and_has_a_severity(chart):
    for rule in alerts_of(chart):
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_every_alert_has_a_section_in_the_runbook(chart):
    page = (ROOT / "docs" / "runbooks.md").read_text()
    for rule in alerts_of(chart):
        assert f"\n### {rule['alert']}\n" in page


def test_the_dashboard_is_loaded_by_grafanas_sidecar(chart):
    rendered = chart.render({"grafanaDashboard": {"enabled": True, "annotations": {"folder": "K"}}})
    configmap = rendered.one("ConfigMap", "-dashboard")
    assert configmap["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert configmap["metadata"]["annotations"] == {"folder": "K"}
    (text,) = configmap["data"].values()
    assert json.loads(text) == json.loads((chart.path / "files" / "dashboard.json").read_text())


def test_the_panels_of_a_dashboard_do_not_overlap_and_fill_their_rows(chart):
    panels = json.loads((chart.path / "files" / "dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)) == 24 * (max(y for _, y in cells) + 1)
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_a_pod_monitor_selects_the_pods_instead_of_the_service(chart):
    monitor = {"enabled": True, "kind": "PodMonitor", "interval": "15s", "tlsConfig": UNVERIFIED}
    rendered = chart.render({"serviceMonitor": monitor})
    spec = rendered.one("PodMonitor")["spec"]
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    (endpoint,) = spec["podMetricsEndpoints"]
    assert endpoint["port"] == rendered.container["ports"][0]["name"]
    assert endpoint["interval"] == "15s"
    assert not rendered.of("ServiceMonitor")


PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"


def tls_of(rendered):
    """How Prometheus verifies the program."""
    (endpoint,) = rendered.one("ServiceMonitor")["spec"]["endpoints"]
    return endpoint["tlsConfig"]


@pytest.mark.parametrize(
    ("values", "secret"),
    [
        pytest.param({}, "r-loadline-adapter-managed-cert", id="managed"),
        pytest.param(
            {"tls": {"generate": True}}, "r-loadline-adapter-serving-cert", id="generated"
        ),
        pytest.param(
            {"certManager": {"enabled": True}}, "r-loadline-adapter-serving-cert", id="cert-manager"
        ),
    ],
)
@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_prometheus_verifies_the_adapter_with_the_ca_in_the_secret(adapter, values, secret, kind):
    rendered = adapter.render({**values, "serviceMonitor": {"enabled": True, "kind": kind}})
    endpoints = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
    (endpoint,) = rendered.one(kind)["spec"][endpoints]
    assert endpoint["tlsConfig"] == {
        "serverName": "r-loadline-adapter.metrics.svc",
        "ca": {"secret": {"name": secret, "key": "ca.crt"}},
    }


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param({"existingSecret": "mine", "ca": PEM}, id="an existing Secret"),
        pytest.param({"enable": True, "ca": PEM, "certificate": PEM, "key": PEM}, id="inline"),
    ],
)
def test_a_given_ca_is_published_where_the_service_monitor_is(adapter, tls):
    """The existing Secret may be without ca.crt."""
    monitor = {"enabled": True, "namespace": "elsewhere"}
    rendered = adapter.render({"tls": tls, "serviceMonitor": monitor})
    published = rendered.one("ConfigMap", "-serving-ca")
    assert published["data"] == {"ca.crt": PEM}
    assert published["metadata"]["namespace"] == "elsewhere"
    assert tls_of(rendered)["ca"] == {
        "configMap": {"name": published["metadata"]["name"], "key": "ca.crt"}
    }


def test_prometheus_verifies_the_scaler_with_the_ca_of_its_certificate(scaler):
    values = {"tls": {"existingSecret": "mine"}, "serviceMonitor": {"enabled": True}}
    rendered = scaler.render(values)
    assert tls_of(rendered) == {
        "serverName": "r-loadline-scaler.metrics.svc",
        "ca": {"secret": {"name": "mine", "key": "ca.crt"}},
    }
    assert {
        "--tls-cert-file=/var/run/serving-cert/tls.crt",
        "--tls-private-key-file=/var/run/serving-cert/tls.key",
    } <= set(rendered.arguments)
    assert {"name": "serving-cert", "secret": {"secretName": "mine"}} in rendered.pod["volumes"]


def test_a_certificate_is_not_verified_only_if_the_values_say_so(chart):
    monitor = {"enabled": True, "namespace": "elsewhere", "tlsConfig": UNVERIFIED}
    assert tls_of(chart.render({"serviceMonitor": monitor})) == UNVERIFIED


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("scaler", {}, id="the scaler without a Secret"),
        pytest.param(
            "scaler",
            {"tls": {"existingSecret": "mine"}, "serviceMonitor": {"namespace": "elsewhere"}},
            id="the Secret of the scaler is elsewhere",
        ),
        pytest.param("adapter", {"tls": {"managed": False}}, id="self-signed"),
        pytest.param(
            "adapter", {"serviceMonitor": {"namespace": "elsewhere"}}, id="the CA is elsewhere"
        ),
    ],
)
def test_a_monitor_that_cannot_verify_is_rejected_with_the_fix(request, refused, name, values):
    monitor = {"enabled": True, **values.get("serviceMonitor", {})}
    with pytest.raises(refused, match=r"serviceMonitor\.tlsConfig, for example to {insecureSkip"):
        request.getfixturevalue(name).render({**values, "serviceMonitor": monitor})


def test_the_scaler_needs_no_service_for_a_pod_monitor(scaler):
    monitor = {"enabled": True, "kind": "PodMonitor", "tlsConfig": UNVERIFIED}
    assert not scaler.render({"serviceMonitor": monitor}).of("Service")


def test_kube_state_metrics_reads_fields_that_the_crd_has(scaler):
    file = scaler.path / "files" / "kube-state-metrics.yaml"
    (resource,) = go_yaml.load(file.read_text())["spec"]["resources"]
    crd = go_yaml.load((scaler.path / "files" / "crds" / "loadautoscalers.yaml").read_text())[
        "spec"
    ]
    kind = resource["groupVersionKind"]
    assert (kind["group"], kind["kind"]) == (crd["group"], crd["names"]["kind"])
    (schema,) = [
        version["schema"]["openAPIV3Schema"]
        for version in crd["versions"]
        if version["name"] == kind["version"]
    ]

    def has(schema, path):
        if path[:1] == ["metadata"]:
            return path[1] in {"name", "namespace", "generation"}
        for name in path:
            schema = schema["properties"].get(name)
            if schema is None:
                return False
        return True

    for metric in resource["metrics"]:
        each = metric["each"].get("gauge") or metric["each"]["info"]
        path = each.get("path", [])
        assert has(schema, path), path
        if "valueFrom" in each:
            items = {"properties": {}, **schema}
            for name in path:
                items = items["properties"][name]
            assert has(items["items"], each["valueFrom"])
            assert all(has(items["items"], p) for p in each["labelsFromPath"].values())
        elif path == []:
            assert all(has(schema, p) for p in each["labelsFromPath"].values())


def test_alerts_and_the_dashboard_use_metrics_that_kube_state_metrics_has(scaler):
    file = scaler.path / "files" / "kube-state-metrics.yaml"
    (resource,) = go_yaml.load(file.read_text())["spec"]["resources"]
    known = {f"{resource['metricNamePrefix']}_{metric['name']}" for metric in resource["metrics"]}
    for name in ("alerts.yaml", "dashboard.json"):
        used = set(
            re.findall(r"kube_loadautoscaler_\w+", (scaler.path / "files" / name).read_text())
        )
        assert used <= known
    page = (ROOT / "docs" / "monitoring.md").read_text()
    assert set(re.findall(r"`(kube_loadautoscaler_\w+)", page)) <= known


def test_the_values_of_kube_state_metrics_contain_the_configuration(
    documented_block, scaler, tmp_path
):
    (tmp_path / "charts").symlink_to(ROOT / "charts")
    subprocess.run(["bash", "-c", documented_block.text], cwd=tmp_path, check=True)
    values = go_yaml.load((tmp_path / "ksm-values.yaml").read_text())["customResourceState"]
    file = scaler.path / "files" / "kube-state-metrics.yaml"
    assert values == {"enabled": True, "config": go_yaml.load(file.read_text())}


@pytest.mark.parametrize("chart_name", chart_values.CHARTS)
def test_the_readme_of_a_chart_is_generated_from_its_values(chart_name):
    """To write it again: python -m testbed.chart_values"""
    readme = ROOT / "charts" / chart_name / "README.md"
    assert readme.read_text() == chart_values.readme(chart_name)


def test_the_tables_of_values_in_the_documentation_are_generated_from_the_charts():
    """To write them again: python -m testbed.chart_values"""
    assert chart_values.PAGE.read_text() == chart_values.page()
