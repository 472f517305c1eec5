"""The adapter behind the aggregator of a test cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer

CUSTOM, EXTERNAL, RESOURCE = "custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io"
METRICS = ((CUSTOM, "v1beta1"), (CUSTOM, "v1beta2"), (EXTERNAL, "v1beta1"))


@contextmanager
def registered_adapter(
    cluster: Cluster,
    prometheus: PrometheusServer,
    configuration: str,
    directory: Path,
    *flags: str,
    served: Sequence[tuple[str, str]] = METRICS,
) -> Iterator[LoadlineProcess]:
    """Start it with this configuration, and register it for the group versions until the end."""
    (directory / "config.yaml").write_text(configuration)
    running = start_program(
        "adapter",
        f"--config={directory / 'config.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
        "--metrics-relist-interval=1s",
        *flags,
        log_directory=directory,
    )
    names = [
        apiservices.register(cluster, group, version, running.port) for group, version in served
    ]
    for name in names:
        apiservices.wait_until_available(cluster, name)
    yield running
    for name in names:
        apiservices.unregister(cluster, name)
    assert running.stop() == 0
