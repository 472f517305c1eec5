"""The adapter as the chart installs it: one Service for all API groups, and a certificate that clients verify."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from testbed import apiservices, ports
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
SERVED: Final = ((CUSTOM, "v1beta1"), (CUSTOM, "v1beta2"), (EXTERNAL, "v1beta1"))
SERVICE: Final = "direct-adapter"
NAMESPACE: Final = "default"
AUDIENCE: Final = f"{SERVICE}.{NAMESPACE}.svc"


class DirectAdapter:
    """A registered adapter, which may be stopped and started again on the same port."""

    def __init__(
        self,
        cluster: Cluster,
        configuration: str,
        directory: Path,
        *flags: str,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        """`certificate`: another one than for the Service, by the CA of the cluster."""
        self.port = ports.reserve()
        self._directory = directory
        (directory / "config.yaml").write_text(configuration)
        file, key = certificate or cluster.serving_certificate(SERVICE, (AUDIENCE,))
        self._flags = (
            f"--config={directory / 'config.yaml'}",
            f"--lister-kubeconfig={cluster.kubeconfig}",
            f"--tls-cert-file={file}",
            f"--tls-private-key-file={key}",
            f"--api-audiences={AUDIENCE}",
            "--metrics-relist-interval=1s",
            *flags,
        )
        self.process = self._started()

    @property
    def scaler_flags(self) -> tuple[str, ...]:
        """What a scaler on this machine needs to read metrics directly."""
        return (
            f"--adapter-service={NAMESPACE}/{SERVICE}",
            f"--adapter-url=https://127.0.0.1:{self.port}",
        )

    def restart(self) -> None:
        """Start it again after `process` was stopped or killed."""
        self.process = self._started()

    def _started(self) -> LoadlineProcess:
        return start_program("adapter", *self._flags, log_directory=self._directory, port=self.port)


def token_flag(cluster: Cluster, namespace: str, account: str, directory: Path) -> str:
    """The flag for a token of the scaler's service account that only this adapter accepts, which is written into `directory`."""
    file = directory / "adapter-token"
    file.write_text(cluster.token(namespace, account, audiences=(AUDIENCE,)))
    return f"--adapter-token-file={file}"


@contextmanager
def direct_adapter(
    cluster: Cluster,
    configuration: str,
    directory: Path,
    *flags: str,
    served: Sequence[tuple[str, str]] = SERVED,
) -> Iterator[DirectAdapter]:
    """Start it, and register it for the group versions until the end."""
    adapter = DirectAdapter(cluster, configuration, directory, *flags)
    names = [
        apiservices.register(
            cluster,
            group,
            version,
            adapter.port,
            ca_bundle=cluster.authority,
            namespace=NAMESPACE,
            service=SERVICE,
        )
        for group, version in served
    ]
    try:
        for name in names:
            apiservices.wait_until_available(cluster, name)
        yield adapter
    finally:
        for name in names:
            apiservices.unregister(cluster, name)
        adapter.process.stop()
