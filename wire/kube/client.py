"""Requests to the API server: bytes in, bytes out, and errors that are ours.

Nothing of aiohttp passes this file: an answer that is not 2xx is a `StatusError`, an answer that
never came is `Unavailable` with the cause chained. There is no throttle on this side; the API
server's own priority and fairness decides, and its Retry-After is obeyed.
"""

import asyncio
import socket
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import aiohttp
import msgspec
from yarl import URL

from wire import kube_json
from wire.kube.connection import Connection
from wire.kube.requests import JSON, MERGE_PATCH
from wire.status import Unavailable, from_response

T = TypeVar("T")

CONNECT_TIMEOUT_SECONDS = 10.0
# A little more than the API server's own limit of 60 s, whose answer says more than ours.
REQUEST_TIMEOUT_SECONDS = 65.0
CONNECTIONS_MAX = 256
GOODBYE_SECONDS = 1.0
# client-go waits for a busy server ten times (rest/request.go); callers here have a backoff of their own.
BUSY_RETRIES_MAX = 3
BUSY_PAUSE_MAX_SECONDS = 5.0


class KubeClient:
    """A pool of connections to one API server. Create and close it within one event loop."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        connections_max: int = CONNECTIONS_MAX,
        busy_retries_max: int = BUSY_RETRIES_MAX,
    ) -> None:
        """`connections_max`: 0 for no limit. `busy_retries_max`: how many times Retry-After is waited for."""
        self._connection = connection
        self._timeout_seconds = timeout_seconds
        self._connections_max = connections_max
        self._busy_retries_max = busy_retries_max
        self._session: aiohttp.ClientSession | None = None
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    @property
    def server(self) -> str:
        """The API server's address, for messages."""
        return self._connection.server

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of a 2xx answer. `path` is sent as it is, so names in it must be escaped."""
        return await self._send("GET", path, params=params, accept=accept)

    async def create(
        self, path: str, body: bytes, params: Mapping[str, str] | None = None
    ) -> bytes:
        """POST. Raises `StatusError` 409 AlreadyExists when the name is taken."""
        return await self._send("POST", path, body=body, params=params)

    async def replace(
        self, path: str, body: bytes, params: Mapping[str, str] | None = None
    ) -> bytes:
        """PUT. Raises `StatusError` 409 Conflict when the resourceVersion in the body is old."""
        return await self._send("PUT", path, body=body, params=params)

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = MERGE_PATCH,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        """PATCH of the kind that `content_type` names."""
        return await self._send("PATCH", path, body=body, params=params, content_type=content_type)

    async def delete(
        self, path: str, params: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> bytes:
        """DELETE; `body` is a DeleteOptions."""
        return await self._send("DELETE", path, body=body, params=params)

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = 300.0,
    ) -> AsyncGenerator[bytes, None]:
        """Each event of a watch as one line, of any length, until the server ends it.

        Close it (`contextlib.aclosing`) to give the connection up. `timeout_seconds` is what the
        server is asked to keep to; a server silent for longer than that is taken for dead.
        """
        asked = {**(params or {}), "watch": "true", "timeoutSeconds": str(int(timeout_seconds))}
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=CONNECT_TIMEOUT_SECONDS,
            sock_read=timeout_seconds + CONNECT_TIMEOUT_SECONDS,
        )
        async with self._exchange(
            "GET", path, params=asked, accept=accept, timeout=timeout
        ) as response:
            await _raise_unless_ok(response)
            async for line in _lines(response.content.iter_any()):
                yield line

    async def close(self) -> None:
        """Give back every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            await self._sockets_closed()

    async def _sockets_closed(self) -> None:
        """A TLS connection says goodbye before it closes, which an ending loop would cut short."""
        for _ in range(int(GOODBYE_SECONDS / 0.01)):
            if all(each.fileno() < 0 for each in self._sockets):
                return
            await asyncio.sleep(0.01)

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        new = _keepalive_socket(address)
        self._sockets.add(new)
        return new

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> bytes:
        timeout = aiohttp.ClientTimeout(
            total=self._timeout_seconds, sock_connect=CONNECT_TIMEOUT_SECONDS
        )
        busy_retries = refusals = 0
        while True:
            async with self._exchange(
                method,
                path,
                params=params,
                accept=accept,
                body=body,
                content_type=content_type,
                timeout=timeout,
                refused=refusals > 0,
            ) as response:
                if response.ok:
                    return await response.read()
                pause_seconds = _pause_asked_seconds(response)
                if response.status == 401 and refusals == 0:
                    refusals += 1  # perhaps the token was replaced: once more with a fresh one
                elif pause_seconds is not None and busy_retries < self._busy_retries_max:
                    busy_retries += 1
                else:
                    await _raise_unless_ok(response)
            await asyncio.sleep(pause_seconds or 0)

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        accept: str,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own, which knows of its phases
        body: bytes | None = None,
        content_type: str = JSON,
        refused: bool = False,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request and its answer; whatever goes wrong on the way becomes `Unavailable`."""
        headers = {"Accept": accept, "User-Agent": self._connection.user_agent}
        if body is not None:
            headers["Content-Type"] = content_type
        authorization = await self._connection.authorization(refused=refused)
        if authorization:
            headers["Authorization"] = authorization
        try:
            async with self._pool().request(
                method,
                # Encoded already: yarl would turn %2F and %2A in a name back into / and *.
                _url(self._connection.server + path, params),
                data=body,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                proxy=self._connection.proxy,
                server_hostname=self._connection.server_hostname,
            ) as response:
                yield response
        except TimeoutError as error:
            raise self._unavailable(method, path, "no answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError: aiohttp's for an address it cannot use.
            raise self._unavailable(method, path, str(error) or type(error).__name__) from error

    def _unavailable(self, method: str, path: str, cause: str) -> Unavailable:
        return Unavailable(f"{method} {self.server}{path}: {cause}")

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=self._connection.tls or True,
                    limit=self._connections_max,
                    keepalive_timeout=90,  # net/http's idle time-out, as client-go has it
                    socket_factory=self._new_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=2**18,
            )
        return self._session


def decoded(answer: bytes, as_type: type[T], *, what: str) -> T:
    """An answer that must make sense. Raises `Unavailable` when it does not, as from a proxy in between."""
    try:
        return kube_json.decode(answer, as_type)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the answer is no {what}: {error}") from error


def _keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A watch may be silent for minutes; the kernel has to notice that the other end is gone."""
    family, kind, protocol, _, _ = address
    new = socket.socket(family, kind, protocol)
    new.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            new.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return new


def _url(address: str, params: Mapping[str, str] | None) -> URL:
    url = URL(address, encoded=True)
    # with_query encodes values, %, + and & in them included.
    return url.with_query(dict(params)) if params else url


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Cut at newlines. aiohttp's own line reader refuses lines beyond its buffer; objects may be megabytes."""
    unfinished: list[bytes] = []
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            unfinished.append(line)
            whole = b"".join(unfinished)
            unfinished.clear()
            if whole:
                yield whole
        if rest:
            unfinished.append(rest)


def _pause_asked_seconds(response: aiohttp.ClientResponse) -> float | None:
    """What Retry-After says on a 429 or 5xx, as client-go's rest client reads it."""
    if response.status != 429 and response.status < 500:
        return None
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), BUSY_PAUSE_MAX_SECONDS) if asked.isdecimal() else None


async def _raise_unless_ok(response: aiohttp.ClientResponse) -> None:
    if not response.ok:
        raise from_response(response.status, await response.read())
