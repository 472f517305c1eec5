"""A Service of several local processes: one port, whose connections go to the servers behind it in turn.

It takes the place of kube-proxy. A server that is removed gets no new connections, and keeps those that it has.
"""

import contextlib
import socket
import socketserver
import threading

from testbed.background import Served

CHUNK_BYTES = 65_536


class Service(Served):
    """`with Service() as service: service.add(port)`: connections to `service.port` on 127.0.0.1 go to that port."""

    def __init__(self) -> None:
        self._ports: list[int] = []
        self._turns = 0
        self._lock = threading.Lock()
        super().__init__(_Server(("127.0.0.1", 0), self._handler()))

    def add(self, port: int) -> None:
        """A server is ready on this port of 127.0.0.1."""
        with self._lock:
            self._ports.append(port)

    def remove(self, port: int) -> None:
        """It will end: no new connection goes to it."""
        with self._lock:
            self._ports.remove(port)

    @property
    def connections(self) -> int:
        """How many connections have been given to a server so far."""
        return self._turns

    def next_port(self) -> int | None:
        """Of the server whose turn it is; None without servers."""
        with self._lock:
            if not self._ports:
                return None
            self._turns += 1
            return self._ports[self._turns % len(self._ports)]

    def _handler(self) -> type[socketserver.BaseRequestHandler]:
        service = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                port = service.next_port()
                if port is None:
                    return
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", port)) as behind,
                ):
                    back = threading.Thread(target=_copy, args=(behind, self.request), daemon=True)
                    back.start()
                    _copy(self.request, behind)
                    back.join()

        return Handler


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Until the source ends; then the target gets no more, either."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
