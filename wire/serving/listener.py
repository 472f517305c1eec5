"""The socket: start, accept, drain, stop.

Connections are accepted here and not by the event loop's own server, because one that does not fit has to end
before its TLS handshake, which costs more than everything else that an unknown client can ask for.
"""

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
import ssl
from collections.abc import Mapping
from functools import partial

from aiohttp import web

from wire.process.problem_log import ProblemLog
from wire.serving.client_address import without_mapping
from wire.serving.connection_shares import (
    RECEIVE_BUFFER_BYTES,
    SHARES,
    ConnectionShares,
    Group,
    Place,
    Share,
)
from wire.serving.http_connection import ConnectionLimits, Connections, HTTPConnection
from wire.serving.options import ServingConfigError
from wire.serving.refusal_reasons import Reason, Refused

BACKLOG = 1024
# Before everything else gets its turn.
ACCEPTED_AT_ONCE = 64
# More TLS handshakes at once would make connections of kube-apiserver end as unknown ones: it is known by its certificate, after
# the handshake. Others wait in the backlog meanwhile, but not for a handshake that takes long.
HANDSHAKES_AT_ONCE = 32
HANDSHAKE_SECONDS = 0.2
# After the process has run out of file descriptors, as in asyncio.
ACCEPT_RETRY_SECONDS = 1.0

# A TLS connection sends close_notify before it closes; a client that has gone never replies.
CLOSE_NOTIFY_SECONDS = 1.0


log = logging.getLogger(__name__)


class Listener:
    """An aiohttp application on a port."""

    def __init__(
        self,
        app: web.Application,
        *,
        drain_seconds: float = 20.0,
        limits: ConnectionLimits | None = None,
        shares: Mapping[Group, Share] = SHARES,
        refused: Refused = lambda *_: None,
    ) -> None:
        """`drain_seconds`: how long requests in flight may take when the listener stops. `refused` is called when a client takes
        too much.
        """
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=drain_seconds)
        self._socket: socket.socket | None = None
        self._tls: ssl.SSLContext | None = None
        self._connections = Connections(
            limits or ConnectionLimits(), ConnectionShares(shares, refused), refused
        )
        self._opening: set[asyncio.Task[None]] = set()
        self._handshakes: set[asyncio.Task[None]] = set()
        """Those of `_opening` that others wait for."""
        self._waits = False
        self._accept_again: asyncio.TimerHandle | None = None
        self._problem = ProblemLog(
            log, failing="cannot accept connections", recovered="connections are accepted again"
        )

    async def start(
        self, host: str, port: int, *, tls: ssl.SSLContext | None, share_port: bool = False
    ) -> None:
        """Accept connections. Raises `ServingConfigError` if the address cannot be bound."""
        await self._runner.setup()
        self._tls = tls
        try:
            self._socket = _listening(host, port, share_port=share_port)
        except OSError as error:
            await self._runner.cleanup()
            raise ServingConfigError(
                f"cannot listen on {host}:{port}: {_cause(error)}. Choose another "
                "--secure-port or --bind-address, or stop the process that uses it"
            ) from error
        self._follow(self._socket)

    @property
    def port(self) -> int:
        """The port; for 0, the one that the operating system chose."""
        if self._socket is None:
            raise RuntimeError("the listener has not been started")
        port: int = self._socket.getsockname()[1]
        return port

    def _follow(self, listening: socket.socket) -> None:
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept what waits. One connection after the other would let many unknown clients hold up a known one."""
        for _ in range(ACCEPTED_AT_ONCE):
            if len(self._handshakes) >= HANDSHAKES_AT_ONCE:
                asyncio.get_running_loop().remove_reader(listening)
                self._waits = True
                return
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._problem.set(_cause(error))
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                self._accept_again = loop.call_later(
                    ACCEPT_RETRY_SECONDS, partial(self._follow, listening)
                )
                return
            self._problem.set(None)
            self._admit(accepted, without_mapping(address[0]))

    def _admit(self, accepted: socket.socket, address: str) -> None:
        place = self._connections.shares.admit(address)
        if place is None:
            accepted.close()
            return
        accepted.setblocking(False)
        loop = asyncio.get_running_loop()
        opening = loop.create_task(self._open(accepted, place))
        place.close = opening.cancel
        self._opening.add(opening)
        if self._tls is not None:
            self._handshakes.add(opening)
            loop.call_later(HANDSHAKE_SECONDS, self._no_longer_wait_for, opening)
        opening.add_done_callback(partial(self._opened, accepted))

    def _no_longer_wait_for(self, opening: asyncio.Task[None]) -> None:
        self._handshakes.discard(opening)
        listening = self._socket
        if not self._waits or listening is None or listening.fileno() < 0:
            return
        if len(self._handshakes) < HANDSHAKES_AT_ONCE:
            self._waits = False
            self._follow(listening)

    def _opened(self, accepted: socket.socket, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        self._no_longer_wait_for(opening)
        if opening.cancelled():
            # It may not have begun; then no transport has the socket.
            accepted.close()

    async def _open(self, accepted: socket.socket, place: Place) -> None:
        manager = self._runner.server
        if manager is None:
            raise RuntimeError("the runner was set up and has no server")
        loop, tls = asyncio.get_running_loop(), self._tls
        connection = HTTPConnection(self._connections, manager, place, loop=loop)
        try:
            await loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=tls,
                ssl_handshake_timeout=self._connections.limits.handshake_seconds if tls else None,
            )
        except ConnectionAbortedError:
            self._connections.refused(Reason.TIME, place.address)
        except OSError as error:
            log.debug("no connection with %s: %s", place.address, error)
        finally:
            if connection.transport is None:
                self._connections.shares.leave(place)

    async def stop(self) -> None:
        """Stop accepting, wait for requests in flight, close."""
        if self._accept_again is not None:
            self._accept_again.cancel()
        if self._socket is not None and self._socket.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
        for opening in tuple(self._opening):
            opening.cancel()
        await self._runner.cleanup()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_NOTIFY_SECONDS):
                while self._connections.open:
                    self._connections.closed.clear()
                    await self._connections.closed.wait()
        for transport in self._connections.open:
            transport.abort()
        await asyncio.sleep(0)


def _listening(host: str, port: int, *, share_port: bool) -> socket.socket:
    """Raises `OSError`."""
    # As Go's net.Listen: the default has to serve a cluster of either family, and one of both.
    both = _is_wildcard(host) and socket.has_dualstack_ipv6()
    listening = socket.create_server(
        ("::" if both else host, port),
        family=socket.AF_INET6 if both or ":" in host else socket.AF_INET,
        backlog=BACKLOG,
        reuse_port=share_port,
        dualstack_ipv6=both,
    )
    # Connections inherit it; the kernel doubles it for its own needs.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES // 2)
    listening.setblocking(False)
    return listening


def _is_wildcard(host: str) -> bool:
    """All addresses, in the notation of either family; an empty host too, as upstream's help of --bind-address says."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _cause(error: OSError) -> str:
    """The operating system's message; Python adds the address, which is said before."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
