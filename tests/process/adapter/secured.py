"""A Prometheus that requires a client certificate and a token, both replaced while it runs."""

import socket
import ssl
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from testbed.certificates import Authority
from tests.process.adapter.gateway import Gateway


class SecuredGateway(Gateway):
    """A gateway that speaks TLS. Each request is a connection of its own, so that a change is felt at once.

    Before the first request, `become` sets its certificate and the CA that it trusts.
    """

    def __init__(self, upstream: str, *, folder: Path, token: str) -> None:
        super().__init__(upstream)
        self.token = token
        self.let_in: list[str] = []
        """The names on the certificates of the accepted clients."""
        self._folder = folder
        self._server.get_request = self._accept  # type: ignore[method-assign]
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]

    @property
    def url(self) -> str:
        return super().url.replace("http://", "https://")

    def become(self, *, shows: Authority, lets_in: Authority) -> None:
        """From the next connection on, show a certificate of one authority and demand one of the other."""
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cadata=lets_in.certificate.decode()
        )
        context.verify_mode = ssl.CERT_REQUIRED
        files = shows.serving("prometheus").write(self._folder, "server")
        context.load_cert_chain(*files)
        self._context = context

    def _accept(self) -> tuple[socket.socket, Any]:
        raw, address = self._server.socket.accept()
        # The handshake is the handler's, or one who says nothing would keep all others waiting.
        secured = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        return secured, address

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway, plain = self, super()._handler()

        class Secured(plain):  # type: ignore[misc, valid-type]
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:  # noqa: N802  the name that http.server calls
                if self.headers.get("Authorization") != f"Bearer {gateway.token}":
                    self._say(401, b"")
                    return
                subject = dict(pair for (pair,) in self.connection.getpeercert()["subject"])
                gateway.let_in.append(subject["commonName"])
                super().do_GET()

        return Secured
