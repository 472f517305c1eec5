"""The two adapters, started with the same flags, and the HTTPS client that sends requests to either."""

import gzip
import http.client
import ssl
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from testbed import ports
from testbed.cluster import Cluster
from testbed.differential.adapter.metrics_requests import MetricsRequest
from testbed.differential.adapter.raw_requests import RawRequest, exchange
from testbed.processes import Process
from testbed.programs import start_program, start_prometheus_adapter

Program = Literal["prometheus-adapter", "loadline"]
UPSTREAM: Program = "prometheus-adapter"
LOADLINE: Program = "loadline"
TIMEOUT_SECONDS = 30.0


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP response of an adapter."""

    status: int
    content_type: str
    body: bytes


class AdapterInstance:
    """A running adapter and a connection to it. Use as a context manager."""

    def __init__(
        self, *, process: Process, port: int, tls: ssl.SSLContext, owns_process: bool
    ) -> None:
        self.process = process
        self.port = port
        self._tls = tls
        self._owns_process = owns_process
        self._connection: http.client.HTTPSConnection | None = None

    def send(self, request: MetricsRequest) -> Response:
        """Send a request; reconnects once if the server has closed the connection. Raises ProcessFailed without a response."""
        for attempt in (1, 2):
            if self._connection is None:
                self._connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=TIMEOUT_SECONDS, context=self._tls
                )
            try:
                return self._exchange(self._connection, request)
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                self._connection = None
                if attempt == 2:
                    raise self.process.failed(f"no response to {request}: {error!r}") from error
        raise AssertionError

    @staticmethod
    def _exchange(connection: http.client.HTTPSConnection, request: MetricsRequest) -> Response:
        headers = {"Accept": request.accept} if request.accept else {}
        connection.request(request.method, request.target, headers=headers)
        response = connection.getresponse()
        body = response.read()
        if response.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        content_type = response.getheader("Content-Type", "")
        return Response(status=response.status, content_type=content_type, body=body)

    def send_raw(self, request: RawRequest) -> str:
        """The status of the response to a request on a connection of its own, see `raw_requests.exchange`."""
        return exchange(self.port, self._tls, request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._owns_process:
            self.process.stop()
            ports.release(self.port)


def start_adapter(
    program: Program,
    *,
    cluster: Cluster,
    configuration: Path,
    prometheus_url: str,
    directory: Path,
) -> AdapterInstance:
    """Start either program with the same flags and wait until it is ready."""
    port = ports.reserve()
    flags = _flags(cluster, configuration, prometheus_url, directory / f"certificates-{port}")
    logs = directory / "logs"
    if program == LOADLINE:
        process = start_program("adapter", *flags, log_directory=logs, port=port).process
    else:
        process = start_prometheus_adapter(flags, port=port, log_directory=logs)
    return AdapterInstance(
        process=process, port=port, tls=cluster.administrator_tls, owns_process=True
    )


def aggregator(cluster: Cluster, process: Process) -> AdapterInstance:
    """Reach the adapter `process` through kube-apiserver, as every real client does."""
    port = cluster.api_port
    return AdapterInstance(
        process=process, port=port, tls=cluster.administrator_tls, owns_process=False
    )


def _flags(
    cluster: Cluster, configuration: Path, prometheus_url: str, certificates: Path
) -> Sequence[str]:
    return (
        f"--config={configuration}",
        f"--prometheus-url={prometheus_url}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--authentication-kubeconfig={cluster.kubeconfig}",
        f"--authorization-kubeconfig={cluster.kubeconfig}",
        f"--cert-dir={certificates}",
        "--metrics-relist-interval=1m",
        "--metrics-max-age=1h",
        # prometheus-adapter's default of 5 requests per second to kube-apiserver would dominate the run time.
        "--client-qps=1000",
        "--client-burst=1000",
    )
