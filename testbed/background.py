"""Servers and loops that run in a thread of their own during a `with` block."""

import socketserver
import threading
from types import TracebackType
from typing import Self

POLL_SECONDS = 0.05


class Served:
    """A server that serves during the block."""

    def __init__(self, server: socketserver.TCPServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(POLL_SECONDS,), daemon=True
        )

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

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


class Repeated:
    """Something that is done again and again during the block."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def once(self) -> None:
        """What is done each time."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._every_seconds):
            self.once()
