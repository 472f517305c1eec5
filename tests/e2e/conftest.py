"""Fixtures of the end-to-end tests: registered APIs, an external metrics API, scalers with a short sync period."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from testbed import apiservices, ports
from testbed.audit_log import AuditLog
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions, HPAOptions
from testbed.metrics_api_server import EXTERNAL, MetricsAPIServer
from testbed.programs import LoadlineProcess, start_program

SYNC_PERIOD_SECONDS = 0.5
"""Of the scalers that `start_scaler` starts."""


class Register(Protocol):
    """The type of the fixture `aggregated`."""

    def __call__(
        self, group: str, version: str, port: int, *, ca_bundle: bytes | None = None
    ) -> str: ...


@pytest.fixture
def aggregated(cluster: Cluster) -> Iterator[Register]:
    """`aggregated("custom.metrics.k8s.io", "v1beta1", port)` registers an API until the end of the test and waits until it is Available."""
    registered: list[str] = []

    def add(group: str, version: str, port: int, *, ca_bundle: bytes | None = None) -> str:
        name = apiservices.register(cluster, group, version, port, ca_bundle=ca_bundle)
        registered.append(name)
        apiservices.wait_until_available(cluster, name)
        return name

    yield add
    for name in registered:
        apiservices.unregister(cluster, name)


@pytest.fixture(scope="module")
def forwarding_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with a kubelet that forwards the ports of the programs and of Prometheus."""
    local = {10443: ports.reserve(), 6443: ports.reserve(), 9090: ports.reserve()}
    options = ClusterOptions(
        hpa=HPAOptions(sync_period_seconds=1), forwarded_ports=tuple(local.items())
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("cluster")) as running:
        yield running
    for port in local.values():
        ports.release(port)


@pytest.fixture(scope="module")
def metrics_api(cluster: Cluster) -> Iterator[MetricsAPIServer]:
    """An external metrics API whose values a test sets."""
    with MetricsAPIServer(*cluster.serving_certificate("external-metrics")) as api:
        name = apiservices.register(cluster, EXTERNAL, "v1beta1", api.port)
        apiservices.wait_until_available(cluster, name)
        yield api
        apiservices.unregister(cluster, name)


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return AuditLog(tmp_path_factory.mktemp("audit"))


class StartScaler(Protocol):
    """The type of the fixture `start_scaler`."""

    def __call__(
        self, *flags: str, kubeconfig: Path | None = None, wait: bool = True
    ) -> LoadlineProcess: ...


@pytest.fixture
def start_scaler(cluster: Cluster, tmp_path: Path) -> Iterator[StartScaler]:
    """Start a scaler with a short sync period; all are stopped after the test."""
    started: list[LoadlineProcess] = []

    def start(*flags: str, kubeconfig: Path | None = None, wait: bool = True) -> LoadlineProcess:
        running = start_program(
            "scaler",
            f"--kubeconfig={kubeconfig or cluster.kubeconfig}",
            f"--sync-period={SYNC_PERIOD_SECONDS}s",
            *flags,
            log_directory=tmp_path,
            wait=wait,
        )
        started.append(running)
        return running

    yield start
    for running in started:
        running.stop()
