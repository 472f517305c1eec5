"""A real adapter over a Prometheus that can fail, with a client that may do everything."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.conftest import StartProgram
from tests.process.adapter.gateway import Gateway

CONFIGURATION = """
externalRules:
- seriesQuery: 'queue_length{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
"""
Quick = Callable[..., LoadlineProcess]


class AdapterClient:
    """Asks an adapter with the rights of an administrator."""

    def __init__(self, adapter: LoadlineProcess, token: str) -> None:
        self.adapter = adapter
        self._token = token

    def get(self, path: str) -> tuple[int, dict]:
        answer = self.adapter.get(path, Authorization=f"Bearer {self._token}")
        return answer.status, json.loads(answer.body)

    def text(self, path: str) -> str:
        return self.adapter.get(path, Authorization=f"Bearer {self._token}").text

    def metric(self, name: str) -> float:
        """One sample of the adapter's own metrics, by its name and labels."""
        lines = self.text("/metrics").splitlines()
        return float(next(line for line in lines if line.startswith(name + " ")).split(" ")[1])


@pytest.fixture(scope="session")
def token(cluster: Cluster) -> Iterator[str]:
    """Of a ServiceAccount that may do everything."""
    cluster.kubectl("create", "serviceaccount", "process-tests", "-n", "default")
    cluster.kubectl(
        "create",
        "clusterrolebinding",
        "process-tests",
        "--clusterrole=cluster-admin",
        "--serviceaccount=default:process-tests",
    )
    yield cluster.token("default", "process-tests")
    cluster.kubectl("delete", "clusterrolebinding", "process-tests")
    cluster.kubectl("delete", "serviceaccount", "process-tests", "-n", "default")


@pytest.fixture
def gateway(prometheus: PrometheusServer) -> Iterator[Gateway]:
    with Gateway(prometheus.url) as listening:
        yield listening


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    return tmp_path / "config.yaml"


@pytest.fixture
def quick_adapter(loadline_process: StartProgram, cluster: Cluster, config: Path) -> Quick:
    """`quick_adapter(url)`: an adapter that gives up after a second and polls everything often."""

    def start(url: str, *flags: str, wait: bool = True) -> LoadlineProcess:
        return loadline_process(
            "adapter",
            f"--config={config}",
            f"--lister-kubeconfig={cluster.kubeconfig}",
            f"--prometheus-url={url}",
            "--prometheus-timeout=1s",
            "--metrics-relist-interval=1s",
            "--metrics-max-age=1m",
            "--metrics-freshness=100ms",
            "--config-poll-interval=100ms",
            *flags,
            wait=wait,
        )

    return start


@pytest.fixture
def queue(exporter, prometheus, namespace) -> str:
    """The path of an external metric whose value is 12."""
    exporter.set("queue_length", 12, namespace=namespace)
    prometheus.wait_for(f'queue_length{{namespace="{namespace}"}}')
    return f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue_length"


def answers(client: AdapterClient, path: str, value: str, deadline_seconds: float = 10.0) -> None:
    """Wait until the metric has this value."""

    def right() -> bool:
        code, document = client.get(path)
        assert code == 200, document
        assert [item["value"] for item in document["items"]] == [value]
        return True

    until(right, what=f"{value} at {path}", deadline_seconds=deadline_seconds)
