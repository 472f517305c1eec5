"""The socket and its HTTP connections: start, drain, stop, and the limits of a request."""

import asyncio
import logging
import ssl
from typing import Any

from aiohttp import web
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import LineTooLong

from wire.serving.options import ServingConfigError
from wire.serving.rendering import respond_with_error
from wire.serving.request_path import canonical
from wire.status import failure, internal_error

# The HPA puts a pod selector into the URL, of any length; Go's servers take a mebibyte of headers in all.
LINE_BYTES_MAX = 1 << 20
FIELD_BYTES_MAX = 1 << 16
FIELDS_MAX = 256
# A TLS connection sends close_notify before it closes; a client that has gone never replies.
CLOSE_NOTIFY_SECONDS = 1.0

log = logging.getLogger(__name__)
# Requests are counted on /metrics; a line for each would cost more than serving it.
_NO_ACCESS_LOG = logging.Logger("no access log", level=logging.CRITICAL)


class Listener:
    """An aiohttp application on a port."""

    def __init__(self, app: web.Application, *, drain_seconds: float = 20.0) -> None:
        """`drain_seconds`: how long requests in flight may take when the listener stops."""
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=drain_seconds)
        self._socket: asyncio.Server | None = None
        self._open: set[asyncio.BaseTransport] = set()

    async def start(
        self, host: str, port: int, *, tls: ssl.SSLContext | None, share_port: bool = False
    ) -> None:
        """Accept connections. Raises `ServingConfigError` if the address cannot be bound."""
        await self._runner.setup()
        manager = self._runner.server
        loop = asyncio.get_running_loop()
        if manager is None:
            raise RuntimeError("the runner was set up and has no server")

        def protocol() -> web.RequestHandler:
            return _Connection(
                self._open,
                manager,
                loop=loop,
                access_log=_NO_ACCESS_LOG,
                max_line_size=LINE_BYTES_MAX,
                max_field_size=FIELD_BYTES_MAX,
                max_headers=FIELDS_MAX,
            )

        try:
            self._socket = await loop.create_server(
                protocol, host, port, ssl=tls, backlog=1024, reuse_port=share_port or None
            )
        except OSError as error:
            await self._runner.cleanup()
            raise ServingConfigError(
                f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another "
                "--secure-port or --bind-address, or stop the process that uses it"
            ) from error

    @property
    def port(self) -> int:
        """The port; for 0, the one that the operating system chose."""
        if self._socket is None:
            raise RuntimeError("the listener has not been started")
        port: int = self._socket.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Stop accepting, wait for requests in flight, close."""
        if self._socket is not None:
            self._socket.close()
        await self._runner.cleanup()
        for _ in range(int(CLOSE_NOTIFY_SECONDS / 0.01)):
            if not self._open:
                return
            await asyncio.sleep(0.01)
        for transport in self._open:
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        await asyncio.sleep(0)


class _Connection(web.RequestHandler):
    """aiohttp's connection, except that invalid HTTP is answered by a Status, without a traceback in the log."""

    def __init__(
        self, opened: set[asyncio.BaseTransport], manager: web.Server, **more: Any
    ) -> None:
        super().__init__(manager, **more)
        self._opened = opened
        make_request = manager.request_factory

        def make_canonical(message: RawRequestMessage, *more: Any) -> web.BaseRequest:
            return make_request(message._replace(url=canonical(message.url)), *more)

        self._request_factory = make_canonical
        self._own: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._own = transport
        self._opened.add(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._own is not None:
            self._opened.discard(self._own)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status >= 500:
            log.error("%s %s failed", request.method, request.path, exc_info=exc)
        else:
            log.debug("invalid request from %s: %s", request.remote, message)
        if request.writer.output_size > 0:
            raise ConnectionError("part of the response has been sent already")
        if isinstance(exc, LineTooLong):
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
