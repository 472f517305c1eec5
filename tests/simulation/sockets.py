"""A connection with a process that listens: from another process, or from a model server."""

import asyncio
from collections.abc import Callable, Mapping

from tests.simulation.network import ProcessEnd
from tests.simulation.timeline import Listening, ProcessLoop, Timeline

LATENCY_SECONDS = 0.0005


class PeerCertificate:
    """What a server sees of the TLS of a client that has presented this certificate (DER). The bytes themselves are not encrypted."""

    def __init__(self, certificate: bytes) -> None:
        self._certificate = certificate

    def getpeercert(self, *, binary_form: bool) -> bytes:
        """As of `ssl.SSLObject`."""
        return self._certificate

    def get_unverified_chain(self) -> list[bytes]:
        """As of `ssl.SSLObject`."""
        return [self._certificate]


class SocketEnd(ProcessEnd):
    """The end of a process; what it writes reaches the other side a moment later."""

    def __init__(
        self,
        loop: ProcessLoop,
        protocol: asyncio.Protocol,
        timeline: Timeline,
        received: Callable[[bytes], None],
        extra: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(loop, protocol, extra)
        self._timeline = timeline
        self._received = received

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Bytes from the process."""
        if not self._closing and self.is_open:
            self._timeline.after(LATENCY_SECONDS, self._received, bytes(data))

    def closed_by_other_side(self) -> None:
        """The other side has hung up."""
        if self.is_open:
            self._end(None)


class Call:
    """A connection that is offered to a process that listens; the client side uses it to send and to hang up."""

    def __init__(
        self,
        timeline: Timeline,
        *,
        received: Callable[[bytes], None],
        closed: Callable[[], None],
        accepted: Callable[[SocketEnd], object],
        certificate: bytes = b"",
    ) -> None:
        """`received` and `closed` are called with what the process sends, and when it hangs up or dies. `accepted` gets its end.
        `certificate`: of the client (DER), if it has one.
        """
        self._timeline = timeline
        self._received = received
        self._closed = closed
        self._accepted = accepted
        self._certificate = certificate
        self._early: list[bytes] = []
        self._end: SocketEnd | None = None
        self.is_open = True

    def connect(self, listening: Listening | None, address: str) -> bool:
        """Whether there is a process that accepts it."""
        self.is_open = listening is not None and listening.offer(self, address)
        return self.is_open

    def send(self, data: bytes) -> None:
        """Bytes to the process."""
        if self.is_open:
            self._timeline.after(LATENCY_SECONDS, self._arrive, data)

    def hang_up(self) -> None:
        """The client closes the connection."""
        if self.is_open:
            self.is_open = False
            if self._end is not None:
                self._end.close()

    # What the process that listens calls.

    def open(self, loop: ProcessLoop, protocol: asyncio.Protocol) -> SocketEnd:
        """Its end of it."""
        extra: dict[str, object] = {"peername": ("10.0.0.1", 40_000)}
        if self._certificate:
            extra["ssl_object"] = PeerCertificate(self._certificate)
        self._end = end = SocketEnd(loop, protocol, self._timeline, self._receive, extra)
        end.on_closed.append(self.close)
        self._accepted(end)
        protocol.connection_made(end)
        for data in self._early:
            end.send(data)
        self._early.clear()
        return end

    def setblocking(self, flag: bool) -> None:
        """As of a socket."""

    def close(self) -> None:
        """The process closes it, or is dead."""
        if self.is_open:
            self.is_open = False
            self._timeline.after(LATENCY_SECONDS, self._closed)

    def _arrive(self, data: bytes) -> None:
        if self._end is None:
            self._early.append(data)
        else:
            self._end.send(data)

    def _receive(self, data: bytes) -> None:
        # What was sent before the connection was closed arrives before that.
        self._received(data)
