"""The real Prometheus, at one moment for ever: a proxy that changes nothing but the `time` of instant queries.

Two programs never ask at the same instant, so a rate would never be the same. Here both evaluate at the same
moment, in the past, when no further sample arrives before it. What was asked is kept, to look differences up.
"""

import contextlib
import http.client
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

QUERY_PATH = "/api/v1/query"

# What describes one hop and not the message (RFC 9110, section 7.6.1), and what is said anew.
OF_THE_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host", "date"}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What every query is answered with instead of Prometheus' answer."""

    status: int
    content_type: str = "application/json"
    body: str


class FrozenPrometheus:
    """`with FrozenPrometheus(prometheus.port, at_unix_seconds=...) as frozen:`; ask `frozen.url`."""

    def __init__(self, port: int, *, at_unix_seconds: float) -> None:
        self.queries: list[str] = []
        self.fault: Fault | None = None
        self.behind_port = port
        self._at = f"{at_unix_seconds:.3f}"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def url(self) -> str:
        """Of the HTTP API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def pinned(self, encoded: str) -> str:
        """The form with our moment in place of its time; remembers the query."""
        fields = dict(parse_qsl(encoded, keep_blank_values=True))
        self.queries.append(fields.get("query", ""))
        return urlencode({**fields, "time": self._at})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"frozen": self})


class _Handler(BaseHTTPRequestHandler):
    """Passes requests on to `frozen`'s Prometheus."""

    frozen: FrozenPrometheus
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.behind = http.client.HTTPConnection("127.0.0.1", self.frozen.behind_port)

    def finish(self) -> None:
        self.behind.close()
        super().finish()

    def handle(self) -> None:
        # A client that was stopped leaves connections behind.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """A query or a list."""
        self._pass_on()

    def do_POST(self) -> None:
        """A query."""
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, parts = self.path, urlsplit(self.path)
        if parts.path == QUERY_PATH and self.command == "GET":
            path = f"{parts.path}?{self.frozen.pinned(parts.query)}"
        elif parts.path == QUERY_PATH:
            body = self.frozen.pinned(body.decode()).encode()
        fault = self.frozen.fault
        if fault is not None and parts.path == QUERY_PATH:
            self._say(fault.status, [("Content-Type", fault.content_type)], fault.body.encode())
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in OF_THE_HOP}
        self.behind.request(self.command, path, body=body or None, headers=headers)
        answer = self.behind.getresponse()
        self._say(answer.status, answer.getheaders(), answer.read())

    def _say(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers:
            if key.lower() not in OF_THE_HOP:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Queries are kept, not printed."""
