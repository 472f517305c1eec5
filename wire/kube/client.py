"""Requests to the API server: bytes in, bytes out, and Loadline's own errors.

Nothing of aiohttp leaves this file: a response that is not 2xx is a `StatusError`, a response that
never came is `Unavailable` with its cause chained. The client does not throttle itself; the API
server's priority and fairness decides, and its Retry-After is obeyed.

Watches have connections of their own, since hundreds of them stay open for minutes.
"""

import asyncio
import socket
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TypeVar

import aiohttp
import msgspec
from yarl import URL

from wire.api import kube_json
from wire.api.status import NotSent, StatusError, Unavailable, from_response
from wire.kube.connection import Connection
from wire.kube.request_failures import ConnectionClosed, FailureOf
from wire.kube.request_url import request_url
from wire.kube.requests import JSON, BeforeEach, BodyTooLarge, OnAccepted, PageTooLarge, Writer
from wire.process.connection_pool import ConnectionPool
from wire.process.response_budget import ResponseBudget, ResponseTooLarge
from wire.process.single_attempt import single_attempt

T = TypeVar("T")

CONNECT_TIMEOUT_SECONDS = 10.0
# A little more than the API server's own limit of 60 s, whose error message says more.
REQUEST_TIMEOUT_SECONDS = 65.0
# For requests. Watches are not limited: their number is that of the caches.
CONNECTIONS_MAX = 256
# net/http's idle timeout, which client-go uses.
IDLE_SECONDS = 90.0
# The metrics of 100,000 pods are 40 MB in one response.
RESPONSE_BYTES_MAX = 2**28
# Of a LIST with a `limit`, which can be requested in smaller pieces: users choose how large objects are, up to about 1.5 MB each.
PAGE_BYTES_MAX = 2**25
CLOSE_SECONDS = 1.0
# client-go waits for a busy server up to ten times, as long as it says (rest/request.go). This is less than a sync period: what
# is written is not older than the next decision.
BUSY_RETRIES_MAX, BUSY_PAUSE_MAX_SECONDS = 3, 3.0

# kube-apiserver 1.37 compresses each flush of a watch as a gzip member of its own (WatchListCompression), as long as the
# client announces gzip. Many decoders, those of gateways among them, stop after the first: a watch is then silent until it ends.
NOT_COMPRESSED = "identity"

CLOSED = "the client was closed"


class KubeClient(Writer):
    """The client of one API server. Create and close it within one event loop."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        response_bytes_max: int = RESPONSE_BYTES_MAX,
        page_bytes_max: int = PAGE_BYTES_MAX,
        connections_max: int = CONNECTIONS_MAX,
        busy_retries_max: int = BUSY_RETRIES_MAX,
        budget: ResponseBudget | None = None,
        decompresses: bool = True,
    ) -> None:
        """`connect_timeout_seconds`: also how much longer than requested a watch may be silent. `response_bytes_max` limits a
        response's body and a watch's event, `page_bytes_max` a page of a LIST with several objects, `connections_max` the connections for requests (0: no limit), `busy_retries_max` how
        often Retry-After is waited for. `budget`: for the bodies of several clients together, and of each instead of
        `response_bytes_max`. `decompresses`: whether responses may be compressed; how large they are is then known only afterwards.
        """
        self._connection = connection
        self._timeout_seconds = timeout_seconds
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_seconds, sock_connect=connect_timeout_seconds
        )
        self._connect_timeout_seconds = connect_timeout_seconds
        self._response_bytes_max = response_bytes_max
        self._page_bytes_max = page_bytes_max
        self._busy_retries_max = busy_retries_max
        self._decompresses = decompresses
        self.budget = budget or ResponseBudget(
            response_bytes_max, response_bytes_max=response_bytes_max, free_bytes=response_bytes_max
        )
        self._requests = ConnectionPool(partial(self._session, connections_max))
        self._watches = ConnectionPool(partial(self._session, 0))
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._in_flight = 0
        self._is_closed = False

    @property
    def requests_in_flight(self) -> int:
        """How many requests have no response yet, watches not counted."""
        return self._in_flight

    @property
    def server(self) -> str:
        """The API server's address, for messages."""
        return self._connection.server

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = 300.0,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        """Each event of a watch as one line, until the server ends it.
        Close it (`contextlib.aclosing`) to give the connection up. The server is requested to end the
        watch after `timeout_seconds`; one that is silent for longer than that is considered dead.
        """
        query = {**(params or {}), "watch": "true", "timeoutSeconds": str(int(timeout_seconds))}
        silent_seconds_max = timeout_seconds + self._connect_timeout_seconds
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout_seconds)
        headers = await self._headers(accept, compressed=False)
        with FailureOf("GET", self.server, path):
            url = request_url(self.server, path, query)
            async with (
                # A watch may be silent for minutes, but its response begins at once.
                asyncio.timeout(self._timeout_seconds) as until_response,
                self._watches.session() as session,
                self._request(session, "GET", url, headers, timeout) as response,
            ):
                if not _is_success(response):
                    raise _refusal(response, await self._body(response))
                until_response.reschedule(None)
                on_accepted()
                chunks = _each_within(silent_seconds_max, response.content.iter_any())
                async for line in _lines(chunks, self._response_bytes_max):
                    yield line

    async def close(self) -> None:
        """Close every connection. Nothing is sent afterwards."""
        self._is_closed = True
        await self._requests.close()
        await self._watches.close()
        await self._sockets_closed()

    async def _sockets_closed(self) -> None:
        """TLS closes a connection with a message, for which an ending event loop would leave no time."""
        for _ in range(int(CLOSE_SECONDS / 0.01)):
            if all(each.fileno() < 0 for each in self._sockets):
                return
            await asyncio.sleep(0.01)

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        new = _keepalive_socket(address)
        self._sockets.add(new)
        return new

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
        before_each: BeforeEach | None = None,
    ) -> bytes:
        """The body of a 2xx response. `path`, which may have a query, is sent as it is, so names in it must be escaped."""
        busy_retries = refusals = closed = 0
        may_be_applied = False
        self._in_flight += 1
        try:
            while True:
                pause_seconds = None
                try:
                    if before_each is not None:
                        before_each()
                    headers = await self._headers(accept, refused=refusals > 0)
                    if body is not None:
                        headers.append(("Content-Type", content_type))
                    response, received = await self._exchange(method, path, params, headers, body)
                    if _is_success(response):
                        _check_is_of_an_api(response)
                        return received
                    may_be_applied = may_be_applied or response.status >= 500
                    pause_seconds = _retry_after_seconds(response)
                    if response.status == 401 and refusals == 0:
                        # Perhaps the token was replaced: once more with a fresh one.
                        refusals += 1
                    elif pause_seconds is not None and busy_retries < self._busy_retries_max:
                        busy_retries += 1
                    else:
                        raise _refusal(response, received)
                except ConnectionClosed:
                    # Mostly an idle connection that the server closed as the request was on its way: once more, on a
                    # connection that was opened since. What is sent here may be sent twice: a second POST of the same
                    # name is refused, a second PUT is a conflict.
                    if closed:
                        raise
                    closed += 1
                    may_be_applied = True
                except NotSent as error:
                    if may_be_applied:
                        raise Unavailable(error.message) from error
                    raise
                await asyncio.sleep(pause_seconds or 0)
        finally:
            self._in_flight -= 1

    async def _exchange(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: list[tuple[str, str]],
        body: bytes | None,
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """One request, its response, and the whole body of that."""
        with FailureOf(method, self.server, path):
            url = request_url(self.server, path, params)
            async with (
                self._requests.session() as session,
                self._request(session, method, url, headers, self._timeout, body) as response,
            ):
                if not self._decompresses and "Content-Encoding" in response.headers:
                    raise ValueError("the response is compressed, which was not requested")
                is_page = params is not None and int(params.get("limit", "1")) > 1
                return response, await self._body(response, is_page=is_page)

    async def _headers(
        self, accept: str, *, refused: bool = False, compressed: bool = True
    ) -> list[tuple[str, str]]:
        """A list, since there is a header for each group of an impersonated user."""
        connection = self._connection
        headers = [("Accept", accept), ("User-Agent", connection.user_agent)]
        if authorization := await connection.authorization(refused=refused):
            headers.append(("Authorization", authorization))
        if not (compressed and self._decompresses):
            headers.append(("Accept-Encoding", NOT_COMPRESSED))
        headers += connection.impersonation
        return headers

    def _request(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: URL,
        headers: list[tuple[str, str]],
        timeout: aiohttp.ClientTimeout,
        body: bytes | None = None,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        connection = self._connection
        return session.request(
            method,
            url,
            data=body,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            proxy=connection.proxy,
            # A connection of the pool is used for requests with this very object only.
            ssl=connection.tls or True,
            server_hostname=connection.server_hostname,
            # aiohttp must not repeat a PUT: it would not be checked by `before_each`, and if it cannot connect, the error
            # would say that the request was never sent.
            middlewares=None if method == "GET" else (single_attempt,),
        )

    async def _body(self, response: aiohttp.ClientResponse, *, is_page: bool = False) -> bytes:
        """Raises `BodyTooLarge`; `PageTooLarge` for a page of a LIST."""
        chunks: list[bytes] = []
        with self.budget.claim() as claim:
            async for chunk in response.content.iter_any():
                try:
                    await claim.grow(len(chunk))
                except ResponseTooLarge as error:
                    message = self._too_large(response, claim.size_bytes_max)
                    raise BodyTooLarge(message) from error
                if is_page and claim.size_bytes > self._page_bytes_max:
                    message = self._too_large(response, self._page_bytes_max)
                    raise PageTooLarge(message, bytes_max=self._page_bytes_max)
                chunks.append(chunk)
            return b"".join(chunks)

    def _too_large(self, response: aiohttp.ClientResponse, bytes_max: int) -> str:
        request = f"{response.method} {self.server}{response.url.path}"
        return f"{request}: the response is larger than {bytes_max} bytes"

    def _session(self, connections_max: int) -> aiohttp.ClientSession:
        if self._is_closed:
            raise NotSent(f"{self.server}: {CLOSED}")
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections_max,
                keepalive_timeout=IDLE_SECONDS,
                socket_factory=self._new_socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
            auto_decompress=self._decompresses,
        )


def decoded(body: bytes, as_type: type[T], *, what: str) -> T:
    """A response body as that type. Raises `Unavailable` for another body, such as a proxy's page."""
    try:
        return kube_json.decode(body, as_type)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the response is not a valid {what}: {error}") from error


_VANISHED_SERVER_OPTIONS = (
    ("TCP_KEEPIDLE", 30),
    ("TCP_KEEPINTVL", 10),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 30_000),  # milliseconds without an acknowledgment of what was sent
)


def _keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A watch may be silent for minutes; the kernel has to detect that the server is gone.

    So does a request on a connection whose server has vanished: client-go notices it after 45 s, by pings of HTTP/2
    (http2.Transport `ReadIdleTimeout` and `PingTimeout`). That a server takes long to respond does not count.
    """
    family, kind, protocol, _, _ = address
    new = socket.socket(family, kind, protocol)
    new.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _VANISHED_SERVER_OPTIONS:
        if hasattr(socket, option):
            new.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return new


async def _each_within(seconds: float, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Raises `TimeoutError` if the next chunk takes longer.

    `sock_read` of aiohttp does not end a body after bytes that are not a chunk, such as the response of a proxy in it.
    """
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


async def _lines(chunks: AsyncIterator[bytes], bytes_max: int) -> AsyncIterator[bytes]:
    """Split at newlines. aiohttp's own line reader refuses lines beyond its buffer; objects may be megabytes."""
    unfinished: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            unfinished.append(line)
            whole = b"".join(unfinished)
            unfinished.clear()
            size = 0
            if whole:
                yield whole
        if rest:
            unfinished.append(rest)
            size += len(rest)
            if size > bytes_max:
                raise Unavailable(f"an event of a watch is larger than {bytes_max} bytes")


def _is_success(response: aiohttp.ClientResponse) -> bool:
    return 200 <= response.status < 300  # aiohttp's `ok` includes redirects


def _check_is_of_an_api(response: aiohttp.ClientResponse) -> None:
    """Raises `Unavailable` for a page of a proxy, or of a gateway where users log in."""
    if response.headers.get("Content-Type", "").startswith("text/html"):
        server = response.url.origin()
        raise Unavailable(
            f"{response.method} {server}{response.url.path}: the response is a page (text/html): is {server} an API server?"
        )


def _refusal(response: aiohttp.ClientResponse, body: bytes) -> StatusError:
    return from_response(response.status, body, response.headers.get("Content-Type", ""))


def _retry_after_seconds(response: aiohttp.ClientResponse) -> float | None:
    """The Retry-After of a 429 or 5xx, as client-go's rest client reads it."""
    if response.status != 429 and response.status < 500:
        return None
    text = response.headers.get("Retry-After", "")
    return min(float(text), BUSY_PAUSE_MAX_SECONDS) if text.isdecimal() else None
