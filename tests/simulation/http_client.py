"""A client of a process that listens, on the side of the model: HTTP/1.1 over connections that are kept."""

from collections.abc import Callable

from tests.simulation.network import Response
from tests.simulation.sockets import Call, SocketEnd
from tests.simulation.timeline import Listening, Timeline

TIMEOUT_SECONDS = 60.0
UNREACHABLE = Response(
    status=503,
    body=b"error trying to reach service: dial tcp 10.0.0.9:443: connect: connection refused",
    headers={"Content-Type": "text/plain"},
)
TIMED_OUT = Response(status=504, body=b"the server was unable to return a response in the time allotted",
                     headers={"Content-Type": "text/plain"})  # fmt: skip

Answered = Callable[[Response], object]


class HTTPClient:
    """Sends requests to a process, each on a connection of its own while it waits for the response."""

    def __init__(
        self,
        timeline: Timeline,
        listening: Callable[[], Listening | None],
        accepted: Callable[[SocketEnd], object],
        *,
        address: str,
        certificate: bytes = b"",
    ) -> None:
        """`listening`: where the process accepts connections now. `accepted` gets the process' end of each."""
        self._timeline = timeline
        self._listening = listening
        self._accepted = accepted
        self._address = address
        self._certificate = certificate
        self._open: list[_Kept] = []
        self.is_partitioned = False
        """Whether nothing arrives."""

    def get(self, target: str, headers: dict[str, str], answered: Answered) -> None:
        """Send a GET; `answered` is called once, at the latest after `TIMEOUT_SECONDS`."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        data = f"GET {target} HTTP/1.1\r\nHost: adapter\r\n{lines}\r\n".encode()
        exchange = _Exchange(self._timeline, data, answered)
        self._open = [each for each in self._open if each.is_open]
        idle = next((each for each in self._open if each.exchange is None), None)
        if idle is None or self.is_partitioned:
            self._connect(exchange)
        else:
            exchange.is_repeatable = True
            idle.begin(exchange)

    def cut_all(self) -> None:
        """Every connection ends, as after a partition."""
        for each in self._open:
            each.end()

    def _connect(self, exchange: "_Exchange") -> None:
        if self.is_partitioned:
            return  # It times out.
        kept = _Kept(self._timeline, self._accepted, self._certificate, self._connect)
        if kept.call.connect(self._listening(), self._address):
            self._open.append(kept)
            kept.begin(exchange)
        else:
            self._timeline.after(0.0, exchange.end, UNREACHABLE)


class _Exchange:
    """One request and its response."""

    def __init__(self, timeline: Timeline, data: bytes, answered: Answered) -> None:
        self.data = data
        self.is_repeatable = False
        """Whether it is on a connection that was used before, which the process may be closing now."""
        self._answered = answered
        self._timeout = timeline.after(TIMEOUT_SECONDS, self.end, TIMED_OUT)

    def end(self, response: Response) -> None:
        """With this response, unless it has one."""
        self._timeout.cancel()
        answered, self._answered = self._answered, lambda _: None
        answered(response)


class _Kept:
    """A connection, and the exchange on it."""

    def __init__(
        self,
        timeline: Timeline,
        accepted: Callable[[SocketEnd], object],
        certificate: bytes,
        repeat: Callable[[_Exchange], None],
    ) -> None:
        self.exchange: _Exchange | None = None
        self._repeat = repeat
        self._received = b""
        self.call = Call(
            timeline, received=self._receive, closed=self.end, accepted=accepted,
            certificate=certificate,
        )  # fmt: skip

    @property
    def is_open(self) -> bool:
        return self.call.is_open

    def begin(self, exchange: _Exchange) -> None:
        self.exchange = exchange
        self.call.send(exchange.data)

    def end(self) -> None:
        """The connection is closed: by the process, or by the client."""
        self.call.hang_up()
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if exchange.is_repeatable and not self._received:
            exchange.is_repeatable = False
            self._repeat(exchange)
        else:
            exchange.end(UNREACHABLE)

    def _receive(self, data: bytes) -> None:
        self._received += data
        response = self._whole_response()
        if response is not None and self.exchange is not None:
            exchange, self.exchange = self.exchange, None
            exchange.end(response)

    def _whole_response(self) -> Response | None:
        head, separator, rest = self._received.partition(b"\r\n\r\n")
        if not separator:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
        }
        length = int(headers["content-length"])
        if len(rest) < length:
            return None
        self._received = rest[length:]
        if headers.get("connection") == "close":
            self.call.hang_up()
        content = {"Content-Type": headers.get("content-type", "application/json")}
        return Response(status=int(first.split(" ")[1]), body=rest[:length], headers=content)
