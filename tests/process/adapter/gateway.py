"""Something in front of a real Prometheus that can fail in every way a network can, and be slow."""

import contextlib
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal

from testbed.background import Served

Fault = Literal["none", "hangs", "garbage", "503", "half a body", "hangs up"]


class Gateway(Served):
    """Passes GET on to `upstream`; `fault` says what it does instead."""

    def __init__(self, upstream: str) -> None:
        self.fault: Fault = "none"
        self.passed = 0
        self.delay_seconds: Callable[[str], float] = lambda _: 0.0
        """How long a query waits before it is passed on."""
        self.queries: list[str] = []
        self._upstream = upstream
        self._let_go = threading.Event()
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        super().__init__(server)

    @property
    def url(self) -> str:
        """Where the adapter is text that Prometheus is."""
        return f"http://127.0.0.1:{self.port}"

    def let_go(self) -> None:
        """End whatever hangs."""
        self._let_go.set()
        self._let_go = threading.Event()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.let_go()
        super().__exit__(kind, error, trace)

    def _delay(self, path: str) -> None:
        parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        for query in parameters.get("query", ()):
            self.queries.append(query)
            self._let_go.wait(self.delay_seconds(query))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                match gateway.fault:
                    case "none":
                        self._pass_on()
                    case "hangs":
                        gateway._let_go.wait()
                        self.close_connection = True
                    case "garbage":
                        self._say(200, b"<html>log in first</html>")
                    case "503":
                        self._say(503, b"")
                    case "half a body":
                        self._say(200, b'{"status":"success","data":{"resu', promised=4096)
                        self.close_connection = True
                    case "hangs up":
                        self.close_connection = True

            def _pass_on(self) -> None:
                gateway.passed += 1
                gateway._delay(self.path)
                try:
                    with urllib.request.urlopen(gateway._upstream + self.path) as answer:
                        self._say(answer.status, answer.read())
                except urllib.error.HTTPError as error:
                    self._say(error.code, error.read())

            def _say(self, code: int, body: bytes, promised: int | None = None) -> None:
                with contextlib.suppress(ConnectionError):
                    self.send_response(code)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(promised or len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Tests have logs enough."""

        return Handler
