"""A proxy to the real Prometheus that evaluates every instant query at one fixed time.

Two programs never query at the same instant, so their rates would differ. Through this proxy both evaluate at the
same time in the past, for which no further samples arrive. It records the queries, to explain differences.
"""

import contextlib
import http.client
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from testbed.background import Served

QUERY_PATH = "/api/v1/query"

# Hop-by-hop headers (RFC 9110, section 7.6.1), and headers that the proxy sets itself.
HOP_BY_HOP_HEADERS = {
    "connection",
    "transfer-encoding",
    "keep-alive",
    "content-length",
    "host",
    "date",
}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A response to every query, instead of Prometheus' own."""

    status: int
    content_type: str = "application/json"
    body: str


class FrozenPrometheus(Served):
    """`with FrozenPrometheus(prometheus.port, at_unix_seconds=...) as frozen:`; query `frozen.url`."""

    def __init__(self, port: int, *, at_unix_seconds: float) -> None:
        self.queries: list[str] = []
        self.fault: Fault | None = None
        self.prometheus_port = port
        self._at = f"{at_unix_seconds:.3f}"
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        super().__init__(server)

    @property
    def url(self) -> str:
        """The URL of the HTTP API."""
        return f"http://127.0.0.1:{self.port}"

    def pinned(self, encoded: str) -> str:
        """The form with the fixed `time`; records the query."""
        fields = dict(parse_qsl(encoded, keep_blank_values=True))
        self.queries.append(fields.get("query", ""))
        return urlencode({**fields, "time": self._at})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"frozen": self})


class _Handler(BaseHTTPRequestHandler):
    """Forwards requests to Prometheus."""

    frozen: FrozenPrometheus
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.upstream = http.client.HTTPConnection("127.0.0.1", self.frozen.prometheus_port)

    def finish(self) -> None:
        self.upstream.close()
        super().finish()

    def handle(self) -> None:
        # A stopped client leaves open connections.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Forward a query or a list request."""
        self._forward()

    def do_POST(self) -> None:
        """Forward a query."""
        self._forward()

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, parts = self.path, urlsplit(self.path)
        if parts.path == QUERY_PATH and self.command == "GET":
            path = f"{parts.path}?{self.frozen.pinned(parts.query)}"
        elif parts.path == QUERY_PATH:
            body = self.frozen.pinned(body.decode()).encode()
        fault = self.frozen.fault
        if fault is not None and parts.path == QUERY_PATH:
            self._respond(fault.status, [("Content-Type", fault.content_type)], fault.body.encode())
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP_HEADERS}
        self.upstream.request(self.command, path, body=body or None, headers=headers)
        response = self.upstream.getresponse()
        self._respond(response.status, response.getheaders(), response.read())

    def _respond(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers:
            if key.lower() not in HOP_BY_HOP_HEADERS:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Queries are recorded, not logged."""
