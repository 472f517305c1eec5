"""A client of a process that listens, on the side of the model: HTTP/1.1 over connections that are kept."""

from collections.abc import Callable

from tests.simulation.network import Response, whole_response
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
        self.timeline = timeline
        self.accepted = accepted
        self.certificate = certificate
        self._listening = listening
        self._address = address
        self._open: list[_Kept] = []
        self.is_partitioned = False
        """Whether nothing arrives."""

    def get(self, target: str, headers: dict[str, str], answered: Answered) -> None:
        """Send a GET; `answered` is called once, at the latest after `TIMEOUT_SECONDS`."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        data = f"GET {target} HTTP/1.1\r\nHost: adapter\r\n{lines}\r\n".encode()
        exchange = _Exchange(self.timeline, data, answered)
        for each in self._open:
            each.give_up()
        self._open = [each for each in self._open if each.is_open]
        idle = next((each for each in self._open if each.exchange is None), None)
        if idle is None or self.is_partitioned:
            self.connect(exchange)
        else:
            exchange.is_repeatable = True
            idle.begin(exchange)

    def cut_all(self) -> None:
        """Every connection ends, as after a partition."""
        for each in self._open:
            each.end()

    def connect(self, exchange: "_Exchange") -> None:
        """Send it on a new connection."""
        if self.is_partitioned:
            return  # It times out.
        kept = _Kept(self)
        if kept.call.connect(self._listening(), self._address):
            self._open.append(kept)
            kept.begin(exchange)
        else:
            self.timeline.after(0.0, exchange.end, UNREACHABLE)


class _Exchange:
    """One request and its response."""

    def __init__(self, timeline: Timeline, data: bytes, answered: Answered) -> None:
        self.data = data
        self.is_repeatable = False
        """Whether it is on a connection that was used before, which the process may be closing now."""
        self.is_over = False
        self._answered = answered
        self._timeout = timeline.after(TIMEOUT_SECONDS, self.end, TIMED_OUT)

    def end(self, response: Response) -> None:
        """With this response, unless it has one."""
        self._timeout.cancel()
        if not self.is_over:
            self.is_over = True
            self._answered(response)


class _Kept:
    """A connection, and the exchange on it."""

    def __init__(self, client: HTTPClient) -> None:
        self.exchange: _Exchange | None = None
        self._client = client
        self._received = b""
        self.call = Call(
            client.timeline, received=self._receive, closed=self.end, accepted=client.accepted,
            certificate=client.certificate,
        )  # fmt: skip

    @property
    def is_open(self) -> bool:
        return self.call.is_open

    def begin(self, exchange: _Exchange) -> None:
        self.exchange = exchange
        self.call.send(exchange.data)

    def give_up(self) -> None:
        """Close the connection if its request has timed out."""
        if self.exchange is not None and self.exchange.is_over:
            self.call.hang_up()

    def end(self) -> None:
        """The connection is closed: by the process, or by the client."""
        if self._client.is_partitioned:
            return
        self.call.hang_up()
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if exchange.is_repeatable and not self._received:
            exchange.is_repeatable = False
            self._client.connect(exchange)
        else:
            exchange.end(UNREACHABLE)

    def _receive(self, data: bytes) -> None:
        if self._client.is_partitioned:
            return
        self._received += data
        response, self._received = whole_response(self._received)
        if response is None or self.exchange is None:
            return
        if response.headers.get("connection") == "close":
            self.call.hang_up()
        exchange, self.exchange = self.exchange, None
        exchange.end(response)
