"""A candidate with an SLO query, and a forecast, on a real control plane with metrics from Prometheus."""

import json
from collections.abc import Iterator

import pytest

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.conftest import StartScaler
from tests.e2e.learned_days import learned_days
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
    workspace.has_condition("CandidateProgressing", "True", "Progressing", "step 2 of 2")

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


def start_with_learned_days(
    cluster: Cluster, namespace: str, start_scaler: StartScaler, *, wasted_percent: float
) -> Workspace:
    """A target with two replicas for a queue of 60, and a forecast that expects 120 within its lead."""
    document = autoscaler(namespace, {**queue("30"), "name": "load"})
    document["spec"]["forecast"] = {"metric": "load", "mode": "Add"}
    cluster.apply(workload("Deployment", namespace, 2), document)
    digest = learned_days(document["spec"], wasted_percent=wasted_percent)
    patch = json.dumps({"status": {"history": {"forecast": digest}}})
    arguments = ("patch", "la", "web", f"-n{namespace}", "--subresource=status", "--type=merge")
    cluster.kubectl(*arguments, "--patch", patch)
    start_scaler()
    return Workspace(cluster, namespace)


def test_a_forecast_adds_replicas_before_the_load_arrives(
    cluster: Cluster, adapter, exporter, namespace: str, start_scaler: StartScaler
):
    exporter.set("queue_length", 60, queue="mail", namespace=namespace)
    workspace = start_with_learned_days(cluster, namespace, start_scaler, wasted_percent=1.0)
    workspace.reaches(4)
    # The status is written after the scale.
    assert workspace.has_condition("ForecastReliable", "True", "Reliable")
    assert workspace.status()["forecast"]["addedReplicas"] == 2
    assert workspace.has_event("SuccessfulRescale", lambda message: "forecast of load" in message)
    exporter.set("queue_length", 120, queue="mail", namespace=namespace)

    def needed() -> bool:
        return bool(workspace.status()["forecast"]["addedReplicas"] == 0)

    assert until(needed, what="the load that was expected")
    assert workspace.replicas() == 4


def test_a_forecast_that_wasted_too_much_says_what_it_would_add_and_adds_nothing(
    cluster: Cluster, adapter, exporter, namespace: str, start_scaler: StartScaler
):
    exporter.set("queue_length", 60, queue="mail", namespace=namespace)
    # Nearly the whole budget of 40%, so that what it would add is still within it.
    workspace = start_with_learned_days(cluster, namespace, start_scaler, wasted_percent=39.0)
    assert workspace.has_condition("ForecastReliable", "False", "TooMuchWaste")

    def would_add() -> bool:
        return bool(workspace.status()["forecast"].get("addedReplicas") == 2)

    assert until(would_add, what="the replicas that the forecast would add")
    assert workspace.replicas() == 2
