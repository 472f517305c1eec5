"""One HTTP connection: aiohttp's, with the limits of Kubernetes' generic API server.

Upstream: apiserver v0.36.3, server/secure_serving.go, and Go's net/http. What a client sends before it
is authenticated is bounded in size and time, and nothing of it is kept afterwards. What all connections take together is
bounded by `connection_shares`.
"""

import asyncio
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, cast

import msgspec
import yarl
from aiohttp import web
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from wire.api.status import failure, internal_error
from wire.serving.connection_shares import ConnectionShares, Group, Place
from wire.serving.refusal_reasons import Reason, Refused
from wire.serving.rendering import respond_with_error
from wire.serving.request_path import canonical

# Requests are counted on /metrics; a line for each would cost more than serving it.
_NO_ACCESS_LOG = logging.Logger("no access log", level=logging.CRITICAL)
# A URL of this length or more is not worth a place in yarl's caches.
_LONG_URL = 2048
# A response to an unknown client is small; more is not written before it has read the rest.
_UNKNOWN_WRITE_BYTES = 16 << 10

log = logging.getLogger(__name__)


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may take. The defaults of the bytes of a head and of the times are those of the generic API server."""

    head_bytes_max: int = 1 << 20
    """Request line and headers of a request, in total."""
    target_bytes_max: int = 512 << 10
    """Path and query of a request. A label selector of the longest text that is read fits in, if every character is escaped."""
    head_seconds: float = 32.0
    """From a connection's start, or the first byte of a later request, to the end of the headers."""
    idle_seconds: float = 90.0
    """Between two requests on a connection."""
    handshake_seconds: float = 32.0
    """For the TLS handshake."""
    headers_max: int = 4096
    """Number of headers; Go has no limit, but each costs Python half a kilobyte."""
    stalled_write_seconds: float = 60.0
    """While a client does not read its response."""
    linger_seconds: float = 0.5
    """For a client to read why its request was refused before the connection is reset (Go's net/http)."""


class Connections:
    """What the connections of a listener share."""

    def __init__(
        self, limits: ConnectionLimits, shares: ConnectionShares, refused: Refused = lambda *_: None
    ) -> None:
        """`refused` is called when a client takes more than the limits."""
        self.limits = limits
        self.shares = shares
        self.refused = refused
        self.open: set[asyncio.Transport] = set()
        self.closed = asyncio.Event()
        """Set when a connection has ended."""


class HTTPConnection(web.RequestHandler):
    """A connection that refuses invalid and oversized requests with a Status, without a traceback in the log."""

    def __init__(
        self,
        shared: Connections,
        manager: web.Server,
        place: Place,
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        limits = shared.limits
        super().__init__(
            manager,
            loop=loop,
            access_log=_NO_ACCESS_LOG,
            # No body is used, so what it inflates to does not matter either; Go's net/http inflates none.
            auto_decompress=False,
            keepalive_timeout=limits.idle_seconds,
            # The parser's limits are per line: their sum is counted here.
            max_line_size=limits.target_bytes_max,
            max_field_size=limits.head_bytes_max,
            max_headers=limits.headers_max,
        )
        self._shared = shared
        self._place = place
        self._own: asyncio.Transport | None = None
        self._body: StreamReader = EMPTY_PAYLOAD
        # Of the head that is not complete yet, of the requests that wait or are being answered, and of the one that was answered
        # last, which aiohttp keeps until the next one.
        self._head_bytes = 0
        self._request_bytes = 0
        self._answered_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._refused = False
        make_request = manager.request_factory

        def make_canonical(message: RawRequestMessage, *more: Any) -> web.BaseRequest:
            if len(message.path) >= _LONG_URL:
                _forget_urls()
            return make_request(message._replace(url=canonical(message.url)), *more)

        self._request_factory = make_canonical

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit of the first request."""
        # A TLS transport of uvloop does not derive from asyncio.Transport.
        self._own = cast("asyncio.Transport", transport)
        self._shared.open.add(self._own)
        self._place.close = self._own.abort
        self._own.set_write_buffer_limits(high=_UNKNOWN_WRITE_BYTES)
        tls = self._own.get_extra_info("ssl_object")
        if tls is not None and tls.getpeercert(binary_form=True):
            self._know(Group.VERIFIED)
        super().connection_made(transport)
        if self._task_handler is not None:
            self._task_handler.add_done_callback(self._handling_ended)
        self._start_head_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release what the connection holds."""
        if self._own is not None:
            self._shared.open.discard(self._own)
            self._shared.closed.set()
        self._shared.shares.leave(self._place)
        self._end_head()
        for timer in (self._write_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        self._own = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, and count what does not complete a head."""
        if self._refused:
            return
        self._place.is_idle = False
        if self._payload_parser is not None:
            super().data_received(data)  # A WebSocket, which limits its messages itself.
            return
        in_body = not self._body.is_eof()
        parsed_before = self._request_count
        super().data_received(data)
        if self._request_count != parsed_before:
            newest, self._body = self._messages[-1] if self._messages else (None, EMPTY_PAYLOAD)
            if isinstance(error := getattr(newest, "exc", None), Exception):
                forget_frames(error)
            self._complete_head(len(data))
        elif data and not in_body:
            self._extend_head(len(data))
        if data:
            self._account(len(data))

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the response, and answer the next request when the client has read enough of it.

        Otherwise a client that sends requests and reads no responses would have them all in memory.
        """
        finished = await super().finish_response(request, resp, start_time)
        if self._messages:
            self._request_bytes = sum(_head_size(message) for message, _ in self._messages)
            self._answered_bytes = _size(request.raw_path, request.raw_headers)
        else:
            self._answered_bytes, self._request_bytes = self._request_bytes, 0
            self._place.is_idle = not self._head_bytes and self._body.is_eof()
        self._account()
        if self._buffer_paused:
            self._resume_reading_if_drained()
        if self.writing_paused:
            await self._drain_helper()
        return finished

    def authenticated(self) -> None:
        """A request on this connection was authenticated: it no longer shares what unknown clients may take."""
        if self._place.group is Group.UNKNOWN:
            self._know(Group.AUTHENTICATED)

    def pause_writing(self) -> None:
        """The client reads more slowly than it is sent to."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self._loop.call_later(
                self._limits.stalled_write_seconds, self._time_out
            )

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The Status of an invalid request or of an unexpected exception.

        Raises `ConnectionError` if it cannot be sent.
        """
        if isinstance(exc, ConnectionResetError) and self._closing:
            log.debug("%s %s: the client has disconnected", request.method, request.path)
            raise exc
        if status >= 500:
            log.error("%s %s failed", request.method, request.path, exc_info=exc)
        else:
            log.debug("invalid request from %s: %s", self._place.address, message)
        if request.writer.output_size > 0:
            raise ConnectionError("part of the response has been sent already")
        if isinstance(exc, LineTooLong):
            self._shared.refused(Reason.HEADERS, self._place.address)
            error = failure(431, "the request line or a header is too long")
        elif status < 500:
            error = failure(400, "the request is not valid HTTP")
        else:
            error = internal_error(
                "an internal error occurred; the log of this server has the traceback"
            )
        response = respond_with_error(request, error)
        response.force_close()
        return response

    @property
    def _closing(self) -> bool:
        return self._own is None or self._own.is_closing()

    @property
    def _limits(self) -> ConnectionLimits:
        return self._shared.limits

    def _know(self, group: Group) -> None:
        if self._shared.shares.move(self._place, group) and self._own is not None:
            self._own.set_write_buffer_limits()

    def _account(self, received_bytes: int = 0) -> None:
        """Count what the connection holds; end it if that is too much, and read no more than one head beyond what waits."""
        place = self._place
        held_bytes = self._head_bytes + self._request_bytes + self._answered_bytes
        is_counted = (
            held_bytes == place.held_bytes and received_bytes <= place.received_at_once_bytes
        )
        if is_counted or self._refused:
            return
        place.held_bytes = held_bytes
        place.received_at_once_bytes = max(place.received_at_once_bytes, received_bytes)
        if not self._shared.shares.resize(place):
            self._refuse(
                503,
                "requests from unauthenticated clients use too much memory: try again later",
            )
        elif self._holds_enough() and not self._buffer_paused:
            self._pause_reading_for_buffer()

    def _holds_enough(self) -> bool:
        """Whether requests wait behind another one that are as large as one may be."""
        waiting = len(self._messages) + self._request_in_progress > 1
        return waiting and self._request_bytes > self._limits.head_bytes_max

    def _resume_reading_if_drained(self) -> None:
        if not self._holds_enough():
            super()._resume_reading_if_drained()

    def _extend_head(self, size: int) -> None:
        self._head_bytes += size
        self._start_head_timer()
        if self._head_bytes > self._limits.head_bytes_max:
            self._refuse_head()

    def _complete_head(self, size: int) -> None:
        head_bytes = self._head_bytes + size
        if not self._request_in_progress:
            # aiohttp forgets it for this one.
            self._answered_bytes = 0
        self._request_bytes += head_bytes
        self._end_head()
        if (
            head_bytes > self._limits.head_bytes_max
            and self._messages
            and _head_size(self._messages[-1][0]) > self._limits.head_bytes_max
        ):
            self._refuse_head()

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse_head(self) -> None:
        self._shared.refused(Reason.HEADERS, self._place.address)
        self._refuse(431, "the request line and headers are too large")

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(self._limits.head_seconds, self._time_out)

    def _refuse(self, code: int, message: str) -> None:
        """Respond outside of aiohttp, which has no request to respond to yet, forget all others, and disconnect."""
        self._refused = True
        self._end_head()
        self._messages.clear()
        self._parser = None
        if self._own is None or self._closing:
            return
        if not self._request_in_progress:
            body = msgspec.json.encode(failure(code, message).to_status())
            self._own.write(
                f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
        if self._task_handler is not None:
            self._task_handler.cancel()
        self._linger_timer = self._loop.call_later(self._limits.linger_seconds, self._abort)

    def _handling_ended(self, task: asyncio.Task[None]) -> None:
        """Nothing would answer, or end, a connection whose task has failed."""
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection is closed after an error", exc_info=error)
            self._abort()

    def _time_out(self) -> None:
        self._shared.refused(Reason.TIME, self._place.address)
        self._abort()

    def _abort(self) -> None:
        if self._own is not None:
            self._own.abort()


def forget_frames(error: BaseException) -> None:
    """Drop the tracebacks of `error` and of what caused it.

    Exceptions of aiohttp about an invalid request, or a connection that failed, are part of reference cycles. With their tracebacks
    they would keep the frames they passed, and so a request of up to a mebibyte, until the garbage collector finds them.
    """
    known: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in known:
            known.add(id(each))
            each.__traceback__ = None
            pending += [each.__cause__, each.__context__]


def _head_size(message: object) -> int:
    if not isinstance(message, RawRequestMessage):
        return 0
    return _size(message.path, message.raw_headers)


def _size(path: str, headers: Iterable[tuple[bytes, bytes]]) -> int:
    return len(path) + sum(len(name) + len(value) for name, value in headers)


# yarl keeps the last URLs that it parsed, whatever their length; a listener bounds only their number.
_URL_CACHES = [
    function
    for module in (yarl._url, yarl._parse)  # noqa: SLF001 - there is no public way
    for function in vars(module).values()
    if hasattr(function, "cache_clear")
]


def _forget_urls() -> None:
    for cache in _URL_CACHES:
        cache.cache_clear()
