"""The socket: start, drain, stop."""

import asyncio
import contextlib
import ssl

from aiohttp import web

from wire.serving.http_connection import ConnectionLimits, Connections, HTTPConnection
from wire.serving.options import ServingConfigError

# A TLS connection sends close_notify before it closes; a client that has gone never replies.
CLOSE_NOTIFY_SECONDS = 1.0


class Listener:
    """An aiohttp application on a port."""

    def __init__(
        self,
        app: web.Application,
        *,
        drain_seconds: float = 20.0,
        limits: ConnectionLimits | None = None,
    ) -> None:
        """`drain_seconds`: how long requests in flight may take when the listener stops."""
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=drain_seconds)
        self._socket: asyncio.Server | None = None
        self._connections = Connections(limits or ConnectionLimits())

    async def start(
        self, host: str, port: int, *, tls: ssl.SSLContext | None, share_port: bool = False
    ) -> None:
        """Accept connections. Raises `ServingConfigError` if the address cannot be bound."""
        await self._runner.setup()
        manager = self._runner.server
        loop = asyncio.get_running_loop()
        if manager is None:
            raise RuntimeError("the runner was set up and has no server")

        def protocol() -> HTTPConnection:
            return HTTPConnection(self._connections, manager, loop=loop)

        try:
            self._socket = await loop.create_server(
                protocol,
                host,
                port,
                ssl=tls,
                ssl_handshake_timeout=self._connections.limits.handshake_seconds if tls else None,
                backlog=1024,
                reuse_port=share_port or None,
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
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_NOTIFY_SECONDS):
                while self._connections.open:
                    self._connections.closed.clear()
                    await self._connections.closed.wait()
        for transport in self._connections.open:
            transport.abort()
        await asyncio.sleep(0)
