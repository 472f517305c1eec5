"""Sends requests with the certificate and headers of one client over its own connection."""

import gzip
import http.client
import ssl
from pathlib import Path

import msgspec

from testbed import web
from testbed.certificates import KeyPair
from testbed.differential.adapter.adapter_instances import TIMEOUT_SECONDS, Response
from testbed.differential.adapter.metrics_requests import MetricsRequest

HANDSHAKE_REFUSED = Response(status=0, content_type="", body=b"")
"""No response: the server ended the TLS handshake."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A client: its name in reports and its credentials."""

    name: str
    certificate: KeyPair | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def tls(self, directory: Path) -> ssl.SSLContext:
        """The TLS context of its connections; `directory` gets the certificate files."""
        context = web.trusting(None)
        if self.certificate is not None:
            context.load_cert_chain(*self.certificate.write(directory, self.name.replace(" ", "-")))
        return context


class ClientConnection:
    """A client's connection to one adapter; reconnects after the server has closed it."""

    def __init__(self, port: int, client: Client, directory: Path) -> None:
        self._client = client
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=client.tls(directory)
        )

    def send(self, request: MetricsRequest) -> Response:
        """Send a request; returns `HANDSHAKE_REFUSED` if the server ends the connection without a response."""
        try:
            return self._exchange(request)
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            self._connection.close()
            return HANDSHAKE_REFUSED

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _exchange(self, request: MetricsRequest) -> Response:
        self._connection.putrequest(request.method, request.target)
        for name, value in self._client.headers:
            self._connection.putheader(name, value)
        self._connection.endheaders()
        response = self._connection.getresponse()
        body = response.read()
        if response.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return Response(
            status=response.status,
            content_type=response.getheader("Content-Type", ""),
            body=body,
        )
