"""The network between a process and the model servers: connections in memory, HTTP/1.1 as bytes.

The process speaks through its real client, so what it writes is parsed here and what it reads is
made here; only the socket is missing.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote

import msgspec

from tests.simulation.timeline import ProcessLoop, Timeline

CONNECT_SECONDS = 0.0005
REASONS = {
    200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    409: "Conflict", 410: "Gone", 422: "Unprocessable Entity", 429: "Too Many Requests",
    500: "Internal Server Error", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip


class Request(msgspec.Struct, kw_only=True):
    """What a process asks for."""

    process: str
    """Which replica, and which of its lives: `scaler-a.2`."""
    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes
    sent_at: float
    target: str = ""
    """Path and query as they were sent."""

    @property
    def replica(self) -> str:
        """Which of the replicas."""
        return self.process.partition(".")[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """The path's segments."""
        return _parts(self.path)

    @property
    def scale_target(self) -> str:
        """`namespace/name` of the target whose scale it is about; empty for another request."""
        parts = self.parts
        return f"{parts[4]}/{parts[-2]}" if parts[-1] == "scale" else ""

    @property
    def is_watch(self) -> bool:
        """Whether it wants a stream."""
        return self.params.get("watch") == "true"


def requests_of(replica: str) -> Callable[[Request], bool]:
    """What matches the requests of a replica."""
    return lambda request: request.replica == replica


class Response(msgspec.Struct, kw_only=True):
    """What it gets."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether the server did what was requested."""
        return self.status < 400


class ProcessEnd(asyncio.Transport):
    """The end of a connection that a process has: `Transport` to the process, and `send` and the like to the other side."""

    def __init__(
        self,
        loop: ProcessLoop,
        protocol: asyncio.Protocol,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(extra)
        self._loop = loop
        self._protocol = protocol
        self._held: list[bytes] | None = None
        self._closing = False
        self._is_lost = False
        self.is_open = True
        self.lag_seconds: float | None = None
        """How far the watch cache of the API server at its other end is behind; None until a balancer has chosen one."""
        self.on_closed: list[Callable[[], None]] = []
        """What the other side wants to be called when the process gives the connection up."""

    # What the process calls.

    def close(self) -> None:
        """The process hangs up."""
        if not self._closing:
            self._closing = True
            self._end(None)

    def abort(self) -> None:
        """The same, there being no buffers."""
        self.close()

    def is_closing(self) -> bool:
        """Whether it has."""
        return self._closing

    def pause_reading(self) -> None:
        """Keep what comes until `resume_reading`."""
        self._held = []

    def resume_reading(self) -> None:
        """Hand over what was kept."""
        held, self._held = self._held or [], None
        for data in held:
            self._loop.call_soon(self._deliver, data)

    def is_reading(self) -> bool:
        """Whether data is handed over as it comes."""
        return self._held is None

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered."""

    def get_write_buffer_size(self) -> int:
        """Nothing is."""
        return 0

    def can_write_eof(self) -> bool:
        """Not needed for HTTP."""
        return False

    # What the other side calls.

    def send(self, data: bytes) -> None:
        """Bytes to the process."""
        if self.is_open:
            self._loop.call_soon(self._deliver, data)

    def cut(self) -> None:
        """The connection breaks."""
        if self.is_open:
            self._end(ConnectionResetError("connection reset by the model"))

    def end(self) -> None:
        """The other side closes it."""
        if self.is_open:
            self._end(None)

    def sever(self) -> None:
        """The process is dead: nothing goes in or out any more, and only the other side notices."""
        self._closed_for_server()

    def _deliver(self, data: bytes) -> None:
        if not self.is_open:
            return
        if self._held is not None:
            self._held.append(data)
        else:
            self._protocol.data_received(data)

    def _end(self, error: Exception | None) -> None:
        self._closed_for_server()
        if not self._is_lost:
            self._is_lost = self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    def _closed_for_server(self) -> None:
        if self.is_open:
            self.is_open = False
            for callback in self.on_closed:
                callback()


class Connection(ProcessEnd):
    """A connection with a model server: whole requests reach it, and it gives whole answers or streams."""

    def __init__(
        self, wire: "Wire", loop: ProcessLoop, protocol: asyncio.Protocol, process: str
    ) -> None:
        super().__init__(loop, protocol)
        self._wire = wire
        self._process = process
        self._received = b""

    # The process's end.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Bytes from the process; whole requests are handed to the server."""
        if self._closing or not self.is_open:
            return
        self._received += bytes(data)
        while self._received:
            request, self._received = whole_request(
                self._received, self._process, self._wire.timeline.now
            )
            if request is None:
                return
            self._wire.arrive(request, self)

    # The server's end.

    def answer(self, response: Response) -> None:
        """One whole answer; the connection stays open."""
        self.send(rendered(response))

    def begin_stream(self) -> None:
        """The head of an answer that has no known length."""
        self.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )

    def stream(self, data: bytes) -> None:
        """A piece of it."""
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """Its proper end."""
        self.send(b"0\r\n\r\n")


Tunnel = Callable[[ProcessLoop, asyncio.Protocol, str], ProcessEnd | None]
"""Makes the end of a process of a connection with another process; None: refused."""


class Wire:
    """Everything between one process and the server."""

    def __init__(
        self,
        timeline: Timeline,
        process: str,
        serve: Callable[[Request, Connection], None],
        *,
        refuses: Callable[[str], str] = lambda _: "",
        tunnels: Mapping[int, Tunnel] = MappingProxyType({}),
    ) -> None:
        """`serve` gets each request as it leaves the process; `refuses(process)` says whether a new
        connection is "refused", "hangs", or (empty) is made. `tunnels`: to other processes, by port.
        """
        self.timeline = timeline
        self.process = process
        self.connections: list[ProcessEnd] = []
        self.opened = 0
        self._serve = serve
        self._refuses = refuses
        self._tunnels = tunnels

    async def connect(self, loop: ProcessLoop, protocol: asyncio.Protocol, port: int) -> ProcessEnd:
        """What `loop.create_connection` waits for."""
        made: asyncio.Future[None] = loop.create_future()
        how = self._refuses(self.process)
        if how != "hangs":
            loop.call_later(CONNECT_SECONDS, _set, made)
        await made
        if how:
            raise ConnectionRefusedError(111, "Connect call failed")
        tunnel = self._tunnels.get(port)
        connection: ProcessEnd | None = Connection(self, loop, protocol, self.process)
        if tunnel is not None:
            connection = tunnel(loop, protocol, self.process)
        if connection is None:
            raise ConnectionRefusedError(111, "Connect call failed")
        self.connections = [each for each in self.connections if each.is_open]
        self.connections.append(connection)
        self.opened += 1
        protocol.connection_made(connection)
        return connection

    def arrive(self, request: Request, connection: Connection) -> None:
        """A whole request has left the process."""
        self._serve(request, connection)

    def cut_all(self) -> None:
        """Every connection breaks."""
        for connection in self.connections:
            connection.cut()

    def sever_all(self) -> None:
        """The process is dead."""
        self._refuses = lambda _: "refused"
        for connection in self.connections:
            connection.sever()


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(unquote(part) for part in path.strip("/").split("/"))


def whole_request(received: bytes, process: str, sent_at: float) -> tuple[Request | None, bytes]:
    """The first request in what a process has sent, if it is complete, and what follows it."""
    found = _whole(received)
    if found is None:
        return None, received
    first, headers, body, rest = found
    method, target, _ = first.split(" ")
    path, _, query = target.partition("?")
    request = Request(
        process=process, method=method, path=path, params=dict(parse_qsl(query)) if query else {},
        headers=headers, body=body, sent_at=sent_at, target=target,
    )  # fmt: skip
    return request, rest


def whole_response(received: bytes) -> tuple[Response | None, bytes]:
    """The first response in what a process has sent, if it is complete, and what follows it."""
    found = _whole(received)
    if found is None:
        return None, received
    first, headers, body, rest = found
    kept = {name: text for name, text in headers.items() if name in ("content-type", "connection")}
    return Response(status=int(first.split(" ")[1]), body=body, headers=kept), rest


def _whole(received: bytes) -> tuple[str, dict[str, str], bytes, bytes] | None:
    """The first line, headers and body of a message, and what follows it; None while it is not complete."""
    head, separator, rest = received.partition(b"\r\n\r\n")
    if not separator:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    length = int(headers.get("content-length", "0"))
    return (first, headers, rest[:length], rest[length:]) if len(rest) >= length else None


def rendered(response: Response) -> bytes:
    """The bytes of an answer."""
    headers = {"Content-Type": "application/json", **response.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    reason = REASONS.get(response.status, "Unknown")
    head = f"HTTP/1.1 {response.status} {reason}\r\n{lines}Content-Length: {len(response.body)}\r\n\r\n"
    return head.encode() + response.body


def _set(made: asyncio.Future[None]) -> None:
    if not made.done():
        made.set_result(None)
