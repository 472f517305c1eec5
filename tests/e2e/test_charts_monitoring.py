"""Alerts and dashboards of both charts, evaluated by a real Prometheus that scrapes both programs while they work."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from testbed import apiservices, ports
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.helm import CHARTS, Helm
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import autoscaler
from wire.process import go_yaml

SCRAPE_INTERVAL_SECONDS = 0.5
SCRAPE_JOB = """\
- job_name: loadline-{program}
  scheme: https
  tls_config: {{ca_file: {ca_file}, server_name: {server_name}}}
  authorization: {{credentials: {token}}}
  static_configs:
  - targets: ['127.0.0.1:{port}']
    labels: {{job: loadline, namespace: {namespace}, pod: {program}-0}}
"""
METRICS = [
    {"name": "load", "describes": "pods", "query": "sum by (namespace, pod) (watched_load)"},
]
DISCOVERED = {
    "seriesQuery": 'watched_load{namespace!="",pod!=""}',
    "resources": {"template": "<<.Resource>>"},
    "name": {"as": "discovered_load"},
    "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
}
# Panels without a line while nothing fails, and those of kube-state-metrics, which does not run here.
EMPTY_WHEN_HEALTHY = {
    "Metrics that failed",
    "Events not written",
    "Failing reconciles",
    "Replicas of LoadAutoscalers",
}


@pytest.fixture(scope="module")
def watched(
    cluster: Cluster,
    prometheus: PrometheusServer,
    exporter: Exporter,
    namespace_of_module: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[PrometheusServer]:
    """A Prometheus that scrapes the programs of both charts, which scale a Deployment."""
    namespace, directory = namespace_of_module, tmp_path_factory.mktemp("watched")
    cluster.kubectl("create", "serviceaccount", "scraper", f"-n{namespace}")
    port, helm = ports.reserve(), Helm(cluster, namespace)
    monitor = {"scrapers": [{"name": "scraper", "namespace": namespace}]}
    values = {
        "service": {"type": "ExternalName", "externalName": "localhost", "port": port},
        "tls": {"generate": True},
        "prometheus": {"url": prometheus.url},
        "metricsRelistInterval": "1s",
        "rules": {"default": False, "metrics": METRICS, "custom": [DISCOVERED]},
        "serviceMonitor": monitor,
    }
    helm.install("adapter", release="a", values=values)
    # Autoscalers that other tests have left, without their metrics, would fail here.
    scaler_values = {
        "syncPeriod": "1s",
        "serviceMonitor": monitor,
        "watchNamespaces": [namespace],
        "tls": {"existingSecret": "scaler-certificate"},
    }
    create_certificate(cluster, namespace, "scaler-certificate")
    helm.install("scaler", release="s", values=scaler_values)
    token = cluster.token(namespace, "scraper")
    place = {"namespace": namespace, "directory": directory}
    with (
        start_chart_program(cluster, "adapter", release="a", port=port, **place) as adapter,
        start_chart_program(cluster, "scaler", release="s", **place) as scaler,
        PrometheusServer(
            PrometheusOptions(
                scrape_interval_seconds=SCRAPE_INTERVAL_SECONDS,
                extra_configuration="".join(
                    SCRAPE_JOB.format(
                        program=program,
                        port=running.port,
                        token=token,
                        namespace=namespace,
                        **verification(cluster, namespace, helm, program, chart_values, directory),
                    )
                    for program, running, chart_values in (
                        ("adapter", adapter, values),
                        ("scaler", scaler, scaler_values),
                    )
                ),
            ),
            directory=directory / "watching",
        ) as watching,
    ):
        apiservices.wait_until_available(cluster, "v1beta2.custom.metrics.k8s.io")
        scale_a_deployment(cluster, exporter, namespace)
        watching.wait_for(
            'increase(loadline_scaler_reconciliations_total{error="none"}[10s]) > 5',
            deadline_seconds=60,
        )
        yield watching
    for release in helm.releases():
        helm.uninstall(release)
    exporter.remove("watched_load", namespace=namespace)


def create_certificate(cluster: Cluster, namespace: str, name: str) -> None:
    """A Secret for the value `tls.existingSecret` of the scaler."""
    certificate, key = cluster.serving_certificate(name, (f"s-loadline-scaler.{namespace}.svc",))
    files = {"tls.crt": certificate, "tls.key": key, "ca.crt": cluster.authority_path}
    arguments = [f"--from-file={file}={path}" for file, path in files.items()]
    cluster.kubectl("create", "secret", "generic", name, f"-n{namespace}", *arguments)


def verification(
    cluster: Cluster,
    namespace: str,
    helm: Helm,
    program: Literal["adapter", "scaler"],
    values: dict[str, Any],
    directory: Path,
) -> dict[str, str]:
    """What the ServiceMonitor of the chart says about the certificate. Its CRD is not installed here."""
    monitor = {**values["serviceMonitor"], "enabled": True}
    text = helm.template(program, release=program[0], values={**values, "serviceMonitor": monitor})
    (spec,) = [
        each["spec"] for each in go_yaml.load_all(text) if each and each["kind"] == "ServiceMonitor"
    ]
    tls = spec["endpoints"][0]["tlsConfig"]
    source = tls["ca"]["secret"]
    secret = cluster.get(f"/api/v1/namespaces/{namespace}/secrets/{source['name']}")
    ca_file = directory / f"{program}-ca.crt"
    ca_file.write_bytes(base64.b64decode(secret["data"][source["key"]]))
    return {"ca_file": str(ca_file), "server_name": tls["serverName"]}


def scale_a_deployment(cluster: Cluster, exporter: Exporter, namespace: str) -> None:
    """A Deployment with a LoadAutoscaler that reads a metric of its pods."""
    cluster.kubectl("create", "deployment", "web", "--image=web", f"-n{namespace}")
    cluster.kubectl("rollout", "status", "deployment/web", f"-n{namespace}", "--timeout=60s")
    for pod in cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]:
        exporter.set("watched_load", 7, namespace=namespace, pod=pod["metadata"]["name"])
    pods = {"metric": {"name": "load"}, "target": {"type": "AverageValue", "averageValue": "7"}}
    cluster.apply(autoscaler(namespace, {"type": "Pods", "pods": pods}, maxReplicas=3))


def queries_of(chart: str) -> list[tuple[str, str]]:
    """Panel and PromQL query, with the values that Grafana would write for the variables."""
    dashboard = json.loads((CHARTS / chart / "files" / "dashboard.json").read_text())
    return [
        (panel["title"], re.sub(r"\$(object_)?namespace", ".*", target["expr"]))
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


@pytest.mark.parametrize("chart", ["adapter", "scaler"])
def test_every_panel_of_a_dashboard_shows_values(watched, chart):
    def shown() -> bool:
        empty = [
            f"{panel}: {query}"
            for panel, query in queries_of(chart)
            if not watched.query(query.replace("$__rate_interval", "10s"))
            and panel not in EMPTY_WHEN_HEALTHY
        ]
        assert not empty, "\n".join(empty)
        return True

    until(shown, what="values for every panel", every_seconds=1)


def test_no_alert_is_pending_while_both_programs_work(watched):
    """Rates are of the last seconds: both programs started before there were metrics, which is not what is tested."""
    rules = [
        rule
        for chart in ("adapter", "scaler")
        for group in go_yaml.load((CHARTS / chart / "files" / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]

    def quiet() -> bool:
        pending = {
            rule["alert"]: found
            for rule in rules
            if (found := watched.query(re.sub(r"(rate\([^[]*)\[\d+m\]", r"\1[10s]", rule["expr"])))
        }
        assert not pending
        return True

    until(quiet, what="no pending alert", every_seconds=1)


def test_the_documented_queries_of_variables_have_values(watched):
    for chart in ("adapter", "scaler"):
        assert watched.query(f"count by (namespace) (loadline_{chart}_build_info)")


def test_the_output_of_the_metrics_is_what_promtool_accepts(watched: PrometheusServer):
    """Both programs are scraped: Prometheus reports no parse error."""
    assert {v.value for v in watched.query('up{job="loadline"}')} == {1.0}
    assert Path(watched.log_path).read_text().count("parse") == 0
