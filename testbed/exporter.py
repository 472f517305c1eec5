"""An in-process scrape target whose series can be set."""

import contextlib
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Labels = tuple[tuple[str, str], ...]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def render(name: str, labels: Labels, value: float) -> str:
    """One line of the text format."""
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


class Exporter:
    """`exporter.set("queue_length", 12, queue="mail")`: the next scrape sees it. Labels are keyword arguments."""

    def __init__(self, port: int = 0) -> None:
        self._series: dict[tuple[str, Labels], Callable[[], float]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    @property
    def target(self) -> str:
        """The address as written in a scrape configuration."""
        return f"127.0.0.1:{self.port}"

    def set(self, name: str, value: float, /, **labels: str) -> None:
        """Expose a series with this value, which may be NaN or infinite, until it is set again or removed."""
        fixed = float(value)
        with self._lock:
            self._series[name, tuple(sorted(labels.items()))] = lambda: fixed

    def set_function(self, name: str, value: Callable[[], float], /, **labels: str) -> None:
        """Expose a series whose value is computed at each scrape."""
        with self._lock:
            self._series[name, tuple(sorted(labels.items()))] = value

    def increase(self, name: str, per_second: float, /, **labels: str) -> None:
        """Expose a counter that increases at this rate; a second call continues from its current value."""
        key = name, tuple(sorted(labels.items()))
        with self._lock:
            reached = self._series[key]() if key in self._series else 0.0
            since = time.monotonic()
            self._series[key] = lambda: reached + per_second * (time.monotonic() - since)

    def remove(self, name: str, /, **labels: str) -> None:
        """Remove the series of that name that have at least these labels; without labels, all of that name."""
        wanted = labels.items()
        with self._lock:
            for key in [k for k in self._series if k[0] == name and wanted <= dict(k[1]).items()]:
                del self._series[key]

    def clear(self) -> None:
        """Remove every series."""
        with self._lock:
            self._series.clear()

    def text(self) -> str:
        """The current exposition. Series of one name are consecutive, as the format requires."""
        with self._lock:
            values = [(name, labels, value()) for (name, labels), value in self._series.items()]
        return "".join(render(*one) + "\n" for one in sorted(values, key=lambda v: v[:2]))

    def start(self) -> Self:
        """Serve in a background thread."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                # Prometheus closes the connection of a scrape that takes too long.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Scrapes are not logged."""

        return Handler
