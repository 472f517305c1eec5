"""A candidate with an SLO query, and a forecast, on a real control plane with metrics from Prometheus."""

from collections.abc import Iterator

import pytest

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.conftest import StartScaler
from tests.e2e.scaler_objects import CRD, Workspace, autoscaler, queue, workload

# The SLO is a query over two series of the workload, as for a burn rate.
CONFIGURATION = """
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
- seriesQuery: 'errors{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  name: {as: error_ratio}
  metricsQuery: 'sum(errors{<<.LabelMatchers>>}) / sum(requests{<<.LabelMatchers>>})'
"""
STEPS = [{"weightPercent": 50, "holdSeconds": 5}, {"weightPercent": 100, "holdSeconds": 3600}]
ERRORS = {"metric": {"name": "error_ratio"}, "above": "0.01", "forSeconds": 1}


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """The external metrics API, and the CRD."""
    cluster.apply(CRD.read_text())
    folder = tmp_path_factory.mktemp("adapter")
    (folder / "config.yaml").write_text(CONFIGURATION)
    running = start_program(
        "adapter",
        f"--config={folder / 'config.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
        "--metrics-relist-interval=1s",
        "--metrics-max-age=1h",
        log_directory=folder,
    )
    name = apiservices.register(cluster, "external.metrics.k8s.io", "v1beta1", running.port)
    apiservices.wait_until_available(cluster, name)
    yield running
    apiservices.unregister(cluster, name)
    running.stop()


def test_a_candidate_takes_over_step_by_step_until_the_slo_is_missed(
    cluster: Cluster, adapter, exporter, namespace: str, start_scaler: StartScaler
):
    labels = {"namespace": namespace}
    exporter.set("queue_length", 60, queue="mail", **labels)
    exporter.set("requests", 1000, **labels)
    exporter.set("errors", 2, **labels)
    running = start_scaler()
    document = autoscaler(namespace, queue("30"))
    document["spec"]["candidate"] = {
        "metrics": [queue("10")],
        "steps": STEPS,
        "abortWhen": [ERRORS],
    }
    cluster.apply(workload("Deployment", namespace, 2), document)
    workspace = Workspace(cluster, namespace)
    workspace.reaches(4)
    workspace.reaches(6)
    assert workspace.has_condition("CandidateProgressing", "True", "Progressing").startswith(
        "step 2 of 2"
    )

    exporter.set("errors", 20, **labels)
    workspace.reaches(2)
    message = workspace.has_condition("CandidateProgressing", "False", "Aborted")
    assert "error_ratio is 20m, and has been above 10m for" in message
    assert workspace.has_event("CandidateAborted")["type"] == "Warning"

    exporter.set("errors", 2, **labels)
    running.stop()
    start_scaler()
    exporter.set("queue_length", 90, queue="mail", **labels)
    workspace.reaches(3)
    workspace.has_condition("CandidateProgressing", "False", "Aborted")


def test_a_forecast_shows_its_state_and_stores_what_it_learns(
    cluster: Cluster, adapter, exporter, namespace: str, start_scaler: StartScaler
):
    exporter.set("queue_length", 60, queue="mail", namespace=namespace)
    start_scaler()
    document = autoscaler(namespace, {**queue("30"), "name": "load"})
    document["spec"]["forecast"] = {"metric": "load", "mode": "Add"}
    cluster.apply(workload("Deployment", namespace, 1), document)
    workspace = Workspace(cluster, namespace)
    workspace.reaches(2)
    message = workspace.has_condition("ForecastReliable", "False", "Learning")
    assert "needs 3 days of load" in message

    def stored() -> str:
        status = workspace.status()
        assert status["forecast"]["last24Hours"]["addedReplicaMinutes"] == 0
        digest: str = status["history"]["forecast"]
        return digest

    assert until(stored, what="the digest of the forecast")
