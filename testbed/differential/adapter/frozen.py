"""The real Prometheus, at one moment for ever: a proxy that changes nothing but the `time` of instant queries.

Two programs never ask at the same instant, so a rate would never be the same. Here both evaluate at the same
moment, in the past, when no further sample arrives before it. What was asked is kept, to look differences up.
"""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit

QUERY_PATH = "/api/v1/query"
# What describes one hop and not the message (RFC 9110, section 7.6.1), and what is said anew.
OF_THE_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host", "date"}


class FrozenPrometheus:
    """`with FrozenPrometheus(prometheus.port, at_unix_seconds=...) as frozen:`; ask `frozen.url`."""

    def __init__(self, port: int, *, at_unix_seconds: float) -> None:
        self.queries: list[str] = []
        self._behind_port = port
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
        frozen = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.behind = http.client.HTTPConnection("127.0.0.1", frozen._behind_port)

            def finish(self) -> None:
                self.behind.close()
                super().finish()

            def do_GET(self) -> None:
                self._pass_on()

            def do_POST(self) -> None:
                self._pass_on()

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path
                parts = urlsplit(path)
                if parts.path == QUERY_PATH and self.command == "GET":
                    path = f"{parts.path}?{frozen.pinned(parts.query)}"
                elif parts.path == QUERY_PATH:
                    body = frozen.pinned(body.decode()).encode()
                headers = {k: v for k, v in self.headers.items() if k.lower() not in OF_THE_HOP}
                self.behind.request(self.command, path, body=body or None, headers=headers)
                answer = self.behind.getresponse()
                said = answer.read()
                self.send_response_only(answer.status)
                for key, value in answer.getheaders():
                    if key.lower() not in OF_THE_HOP:
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                """Queries are kept, not printed."""

        return Handler
