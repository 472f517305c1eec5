"""The two adapters, started with the same flags."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from testbed import ports, web
from testbed.as_in_a_pod import PodIdentity
from testbed.cluster import Cluster
from testbed.programs import REPOSITORY, start_program, start_prometheus_adapter


class ProgramSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A program and its additional flags."""

    name: str
    program: Literal["prometheus-adapter", "adapter"]
    flags: tuple[str, ...] = ()
    repository: Path = REPOSITORY  # the checkout with Loadline's code


class RunningAdapter(msgspec.Struct, frozen=True, kw_only=True):
    """A running adapter, and the TLS context to reach it as the aggregator does."""

    name: str
    port: int
    pid: int
    tls: ssl.SSLContext

    def get(self, path: str, headers: dict[str, str]) -> web.Response:
        """GET. Raises AssertionError without a response."""
        response = web.get(self.port, path, tls=self.tls, headers=headers)
        assert response is not None, f"{self.name} does not respond to {path}"
        return response


@contextmanager
def started(
    setup: ProgramSetup,
    cluster: Cluster,
    configuration: Path,
    prometheus_url: str,
    directory: Path,
    identity: PodIdentity,
) -> Iterator[RunningAdapter]:
    """Start it and wait for /readyz; stopped afterwards. Loadline runs as in a pod, because a kubeconfig takes memory."""
    port = ports.reserve()
    flags = (
        f"--config={configuration}",
        f"--prometheus-url={prometheus_url}",
        f"--cert-dir={directory / f'certificates-{port}'}",
        "--metrics-relist-interval=1m",
        *setup.flags,
    )
    if setup.program == "adapter":
        process = start_program(
            "adapter",
            *flags,
            log_directory=directory,
            port=port,
            identity=identity,
            repository=setup.repository,
        ).process
    else:
        uses = ("lister", "authentication", "authorization")
        kubeconfigs = (f"--{use}-kubeconfig={cluster.kubeconfig}" for use in uses)
        process = start_prometheus_adapter(
            (*flags, *kubeconfigs), port=port, log_directory=directory
        )
    try:
        yield RunningAdapter(name=setup.name, port=port, pid=process.pid, tls=_aggregator(cluster))
    finally:
        process.stop()
        ports.release(port)


def _aggregator(cluster: Cluster) -> ssl.SSLContext:
    tls = web.trusting(None)
    tls.load_cert_chain(cluster.front_proxy_certificate_path, cluster.front_proxy_key_path)
    return tls
