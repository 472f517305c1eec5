"""HTTP requests to programs on loopback."""

import http.client
import ssl
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

TIMEOUT_SECONDS = 5.0
Headers = Mapping[str, str]


class Response(msgspec.Struct, frozen=True):
    """An HTTP response."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")


def trusting(authority: bytes | None) -> ssl.SSLContext:
    """A TLS context that trusts `authority` (PEM); None accepts any certificate, such as a self-signed one."""
    if authority is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context(cadata=authority.decode())


class Connections:
    """Requests to one server of 127.0.0.1, on connections that are kept for later ones; any thread may send them.

    With TLS, a new connection takes three times the processor time of the request, half of it in the server.
    """

    def __init__(
        self,
        port: int,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._port, self._tls, self._timeout_seconds = port, tls, timeout_seconds
        self._idle: deque[http.client.HTTPConnection] = deque()

    def get(self, path: str, *, headers: Headers | None = None) -> Response | None:
        """None if the server does not respond (yet)."""
        return self.send("GET", path, headers=headers)

    def send(
        self, method: str, path: str, *, headers: Headers | None = None, body: bytes | None = None
    ) -> Response | None:
        """None if the server does not respond (yet). The request is sent again if the server has closed a kept connection."""
        request = _Request(method, path, headers or {}, body)
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _connection(self._port, self._tls and self._tls(), self._timeout_seconds)
        is_kept = connection.sock is not None
        found = _exchange(connection, request)
        if found is None and is_kept:
            found = _exchange(connection, request)
        if found is not None:
            self._idle.append(connection)
        return found

    def close(self) -> None:
        """Close those that are kept."""
        while self._idle:
            self._idle.pop().close()


def get(
    port: int,
    path: str,
    *,
    tls: ssl.SSLContext | None = None,
    headers: Headers | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Response | None:
    """GET from 127.0.0.1; None if the server does not respond (yet)."""
    connection = _connection(port, tls, timeout_seconds)
    found = _exchange(connection, _Request("GET", path, headers or {}))
    connection.close()
    return found


def _connection(
    port: int, tls: ssl.SSLContext | None, timeout_seconds: float
) -> http.client.HTTPConnection:
    if tls is None:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_seconds)
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout_seconds, context=tls)


class _Request(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: Headers
    body: bytes | None = None


def _exchange(connection: http.client.HTTPConnection, request: _Request) -> Response | None:
    """None if the server does not respond; the connection is closed then."""
    try:
        connection.request(request.method, request.path, request.body, request.headers)
        response = connection.getresponse()
        return Response(response.status, response.read())
    except (OSError, http.client.HTTPException):
        connection.close()
        return None


def is_ok(port: int, path: str, *, tls: ssl.SSLContext | None = None) -> bool:
    """Whether the status is 200."""
    response = get(port, path, tls=tls)
    return response is not None and response.status == http.client.OK
