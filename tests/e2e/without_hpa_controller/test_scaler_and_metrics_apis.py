"""The scaler beside every kind of metrics API: prometheus-adapter, one without aggregated discovery, faulty ones.

Each is registered for custom.metrics.k8s.io, before, while or after the scaler starts. External metrics come from
another API, which must not be affected.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from testbed import apiservices, ports
from testbed.cluster import Cluster
from testbed.metrics_api_server import CUSTOM, EXTERNAL, Fault, MetricsAPIServer
from testbed.programs import start_prometheus_adapter
from testbed.waiting import until
from tests.e2e.scaler_objects import Json, Workspace, autoscaler, plain_queue, workload

RPS = {
    "type": "Pods",
    "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
PROMETHEUS_ADAPTER = """
rules:
- seriesQuery: 'rps{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: 'queue{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
"""
# Longer than the period after which the scaler reads discovery again.
DEADLINE_SECONDS = 60.0


@pytest.fixture
def by_rps(cluster: Cluster, namespace: str) -> Workspace:
    return Workspace(cluster, namespace, name="by-rps")


@pytest.fixture
def by_queue(cluster: Cluster, namespace: str) -> Workspace:
    return Workspace(cluster, namespace, name="by-queue")


@pytest.fixture
def custom_api(cluster: Cluster) -> Iterator[MetricsAPIServer]:
    """A server for custom.metrics.k8s.io, not registered yet."""
    with MetricsAPIServer(*cluster.serving_certificate("custom-metrics")) as api:
        yield api


@contextmanager
def registered(cluster: Cluster, group: str, port: int) -> Iterator[str]:
    """An APIService; not necessarily Available."""
    name = apiservices.register(cluster, group, "v1beta1", port)
    try:
        yield name
    finally:
        apiservices.unregister(cluster, name)


def workloads(namespace: str) -> list[Json]:
    """One Deployment with an autoscaler on a Pods metric, and one with an autoscaler on an External metric."""
    return [
        workload("Deployment", namespace, 1, "by-rps"),
        workload("Deployment", namespace, 1, "by-queue"),
        autoscaler(namespace, RPS, name="by-rps", target="by-rps"),
        autoscaler(namespace, plain_queue("10"), name="by-queue", target="by-queue"),
    ]


def pods_of(cluster: Cluster, workspace: Workspace) -> list[str]:
    path = f"/api/v1/namespaces/{workspace.namespace}/pods?labelSelector=app%3D{workspace.name}"
    return until(
        lambda: [
            pod["metadata"]["name"]
            for pod in cluster.get(path)["items"]
            if pod["status"].get("phase") == "Running"
        ],
        what="a running pod",
    )


def set_rps(cluster: Cluster, api: MetricsAPIServer, workspace: Workspace, value: str) -> None:
    api.pods[f"{workspace.namespace}/rps"] = dict.fromkeys(pods_of(cluster, workspace), value)


def test_it_scales_on_metrics_of_the_real_prometheus_adapter(
    cluster, namespace, prometheus, exporter, by_rps, by_queue, start_scaler, tmp_path
):
    (tmp_path / "config.yaml").write_text(PROMETHEUS_ADAPTER)
    cluster.apply(*workloads(namespace))
    [pod] = pods_of(cluster, by_rps)
    exporter.set("rps", 20, namespace=namespace, pod=pod)
    exporter.set("queue", 30, namespace=namespace)
    prometheus.wait_for(f'queue{{namespace="{namespace}"}}')
    flags = [
        f"--config={tmp_path / 'config.yaml'}",
        f"--prometheus-url={prometheus.url}",
        f"--cert-dir={tmp_path / 'certificates'}",
        "--metrics-relist-interval=1s",
        *(f"--{use}-kubeconfig={cluster.kubeconfig}" for use in ("lister", "authentication", "authorization")),
    ]  # fmt: skip
    with ExitStack() as stack:
        port = ports.reserve()
        stack.callback(ports.release, port)
        adapter = start_prometheus_adapter(flags, port=port, log_directory=tmp_path)
        stack.enter_context(adapter)
        for group in (CUSTOM, EXTERNAL):
            name = stack.enter_context(registered(cluster, group, port))
            apiservices.wait_until_available(cluster, name)
        start_scaler()
        by_rps.reaches(2, deadline_seconds=DEADLINE_SECONDS)
        by_queue.reaches(3)


@pytest.mark.parametrize("order", ["before", "while", "after"])
def test_it_scales_on_metrics_of_an_api_without_aggregated_discovery_registered(
    cluster, namespace, metrics_api, custom_api, by_rps, by_queue, start_scaler, order
):
    cluster.apply(*workloads(namespace))
    set_rps(cluster, custom_api, by_rps, "20")
    metrics_api.values[f"{namespace}/queue"] = "30"
    with ExitStack() as stack:
        if order == "after":
            start_scaler()
            by_queue.reaches(3)
        if order == "while":
            scaler = start_scaler(wait=False)
        name = stack.enter_context(registered(cluster, CUSTOM, custom_api.port))
        apiservices.wait_until_available(cluster, name)
        if order == "while":
            scaler.wait_until_ready()
        if order == "before":
            until(lambda: has_null_verbs(cluster), what="null verbs in discovery")
            start_scaler()
        by_rps.reaches(2, deadline_seconds=DEADLINE_SECONDS)
        by_queue.reaches(3)


def has_null_verbs(cluster: Cluster) -> bool:
    """Whether kube-apiserver's aggregated discovery document has a parent resource without verbs."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    document = cluster.get("/apis", accept=accept)
    return any(
        resource["verbs"] is None
        for group in document["items"]
        if group["metadata"]["name"] == CUSTOM
        for version in group["versions"]
        for resource in version.get("resources") or []
    )


TOLERABLE = (Fault.NULLS, Fault.UNKNOWN_FIELDS)


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.value)
def test_a_faulty_metrics_api_does_not_affect_other_groups(
    cluster, namespace, metrics_api, custom_api, by_rps, by_queue, start_scaler, fault
):
    cluster.apply(*workloads(namespace))
    set_rps(cluster, custom_api, by_rps, "20")
    metrics_api.values[f"{namespace}/queue"] = "30"
    custom_api.fault = fault
    with registered(cluster, CUSTOM, custom_api.port):
        start_scaler("--downscale-stabilization=1s")
        by_queue.reaches(3)
        if fault in TOLERABLE:
            by_rps.reaches(2, deadline_seconds=DEADLINE_SECONDS)
        else:
            message = by_rps.has_condition("ScalingActive", "False", "FailedGetPodsMetric")
            assert "unable to get metric rps" in message
            assert by_rps.replicas() == 1
        metrics_api.values[f"{namespace}/queue"] = "10"
        by_queue.reaches(1)


def test_a_value_of_null_is_an_error_and_not_zero(
    cluster, namespace, metrics_api, custom_api, by_rps, start_scaler
):
    cluster.apply(*workloads(namespace))
    set_rps(cluster, custom_api, by_rps, "20")
    with registered(cluster, CUSTOM, custom_api.port) as name:
        apiservices.wait_until_available(cluster, name)
        start_scaler("--downscale-stabilization=0s")
        by_rps.reaches(2, deadline_seconds=DEADLINE_SECONDS)
        custom_api.pods[f"{namespace}/rps"] = dict.fromkeys(pods_of(cluster, by_rps))
        by_rps.has_condition("ScalingActive", "False", "FailedGetPodsMetric")
        assert by_rps.replicas() == 2
