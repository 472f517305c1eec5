"""Both charts with their default values for the connection, in two namespaces: the scaler finds the adapter, which streams."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import apiservices, ports, web
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.helm import Helm
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import autoscaler, workload

METRICS = [{"name": "waiting", "query": "sum by (namespace) (direct_chart_waiting)"}]


@pytest.fixture
def scaler(
    cluster: Cluster, prometheus: PrometheusServer, namespace: str, tmp_path: Path
) -> Iterator[LoadlineProcess]:
    cluster.kubectl("create", "serviceaccount", "scraper", f"-n{namespace}")
    port = ports.reserve()
    elsewhere = f"{namespace}-scaler"
    cluster.create_namespace(elsewhere)
    helms = Helm(cluster, namespace), Helm(cluster, elsewhere)
    adapter_values = {
        "service": {"type": "ExternalName", "externalName": "localhost", "port": port},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
        "rules": {"default": False, "metrics": METRICS},
    }
    scaler_values = {
        # Cluster DNS does not run here.
        "extraArguments": [f"--adapter-url=https://127.0.0.1:{port}"],
        "syncPeriod": "10s",
        "serviceMonitor": {"scrapers": [{"name": "scraper", "namespace": namespace}]},
    }
    helms[0].install("adapter", release="a", values=adapter_values)
    helms[1].install("scaler", release="s", values=scaler_values)
    place = {"namespace": namespace, "directory": tmp_path}
    with start_chart_program(cluster, "adapter", release="a", port=port, **place):
        apiservices.wait_until_available(cluster, "v1beta1.external.metrics.k8s.io")
        place["namespace"] = elsewhere
        with start_chart_program(cluster, "scaler", release="s", **place) as running:
            yield running
    for helm in helms:
        for release in helm.releases():
            helm.uninstall(release)


def test_metrics_are_streamed_with_the_default_values_and_permissions_of_the_charts(
    scaler, cluster, prometheus, exporter: Exporter, namespace
):
    labels = {"namespace": namespace}
    exporter.set("direct_chart_waiting", 10, **labels)
    prometheus.wait_for(f'direct_chart_waiting{{namespace="{namespace}"}} == 10')
    token = cluster.token(namespace, "scraper")
    metric = {"name": "waiting", "selector": {"matchLabels": labels}}
    target = {"type": "AverageValue", "averageValue": "10"}
    external = {"type": "External", "external": {"metric": metric, "target": target}}
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, external))

    def has(sample: str) -> bool:
        text = scaler.get("/metrics", Authorization=f"Bearer {token}").text
        assert f"\nloadline_scaler_{sample}" in text
        return True

    until(lambda: has("streamed_metrics 1.0"), what="the metric to be streamed")
    exporter.set("direct_chart_waiting", 40, **labels)

    def scaled() -> bool:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        assert cluster.get(path)["spec"]["replicas"] == 4
        return True

    until(scaled, what="four replicas")
    has(f'direct_connection{{service="{namespace}/a-loadline-adapter"}} 1.0')
    has("reconciles_brought_forward_total")
    log = scaler.process.log()
    assert "metrics are read directly from the adapter" in log
    assert "forbidden" not in log.lower(), scaler.process.log_tail()
    exporter.remove("direct_chart_waiting", **labels)


@pytest.mark.parametrize(
    ("audiences", "code"),
    [
        pytest.param(("a-loadline-adapter.{namespace}.svc",), 401, id="of this adapter"),
        pytest.param((), 403, id="of other adapters"),
    ],
)
def test_the_token_that_an_adapter_receives_scales_nothing(
    scaler, cluster, namespace, audiences, code
):
    """Otherwise an adapter that is taken over could scale whatever the scaler may scale."""
    audiences = [each.format(namespace=namespace) for each in audiences]
    account = "s-loadline-scaler-metrics-reader"
    token = cluster.token(f"{namespace}-scaler", account, audiences=audiences)
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    port = cluster.api_port
    response = web.get(port, path, tls=web.trusting(None), headers=headers)
    assert response is not None
    assert response.status == code
