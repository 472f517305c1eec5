"""Requests over HTTP to one Prometheus: bounded in time and size.

Nothing of aiohttp leaves this file: every failure is a `NoAnswer` with its cause in words. A URL is shown without its
user and parameters, and credentials are never shown.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from wire.process.connection_errors import in_words
from wire.process.connection_pool import ConnectionPool
from wire.process.single_attempt import ClosedBeforeResponse, single_attempt
from wire.prometheus.access import Credentials, PrometheusURL
from wire.prometheus.headers import request_headers
from wire.prometheus.responses import decode_refusal

PIECE_BYTES = 128 * 1024
REFUSAL_BYTES_MAX = 64 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
KEEPALIVE_SECONDS = 75.0
CONNECT_SECONDS = 10.0
"""For a connection with its TLS handshake. The address may be that of a server that is no longer there."""
URL_BYTES_MAX = 4 * 1024
"""Proxies accept at least this much in a URL; nginx accepts 8 kB with all headers."""


class NoAnswer(Exception):
    """There is no usable response; `retryable` when the same request may succeed a moment later.

    `quotes`: the cause has the words of the server, which may quote the query and name series.
    """

    def __init__(self, cause: str, *, retryable: bool = True, quotes: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.retryable = retryable
        self.quotes = quotes


class _Unauthenticated(NoAnswer):
    """The server does not accept what was sent: headers, and a context with a client certificate."""

    def __init__(
        self, refusal: NoAnswer, sent: tuple[Mapping[str, str], ssl.SSLContext | bool]
    ) -> None:
        super().__init__(refusal.cause, retryable=refusal.retryable, quotes=refusal.quotes)
        self.sent = sent


class Transport:
    """The connections to one Prometheus. Use and `close` it within one event loop."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        user_agent: str,
        headers: Sequence[tuple[str, str]] = (),
        verb: str = "GET",
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        """`headers` are sent with every request. They, and the URL, may contain secrets.

        `connect_seconds`: how long a connection may take to be established.
        """
        self._connect_seconds = connect_seconds
        self._credentials = credentials
        self._address = PrometheusURL.of(url)
        self._user_agent = user_agent
        self._headers = headers
        self._verb = verb
        self._pool = ConnectionPool(self._session)
        self._is_closed = False

    async def send(
        self,
        path: str,
        parameters: dict[str, str],
        *,
        seconds: float,
        take: Callable[[bytes], Awaitable[None]],
        compressed: bool = False,
        may_post: bool = False,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        """Pass the body of a 2xx response to `take`, piece by piece; raises `NoAnswer`, also when `take` does.

        The next piece is read when `take` has returned, within `seconds` for all of them.

        `compressed` is for large responses: for one number, gzip costs both ends more than it saves. `may_post`: parameters
        that are longer than some proxies accept in a URL are sent in the body. `turn` is waited for before, within `seconds`.
        """
        try:
            async with asyncio.timeout(seconds), turn or nullcontext():
                encoded = urlencode(parameters)
                posted = self._verb == "POST" or (may_post and len(encoded) > URL_BYTES_MAX)
                try:
                    await self._exchange(path, encoded, take, compressed, posted)
                except ClosedBeforeResponse:
                    # Mostly an idle connection that the server closed as the request was on its way: once more, on another.
                    await self._exchange(path, encoded, take, compressed, posted)
                except _Unauthenticated as refusal:
                    await self._credentials.renew()
                    newest = await self._credentials.headers(), self._credentials.tls()
                    if newest == refusal.sent:
                        raise
                    await self._exchange(path, encoded, take, compressed, posted)
        except aiohttp.ServerTimeoutError as error:
            cause = f"{self._address.base}: no connection within {self._connect_seconds:g} s"
            raise NoAnswer(cause) from error
        except TimeoutError as error:
            raise NoAnswer(f"{self._address.base} did not respond within {seconds:g} s") from error
        except ClosedBeforeResponse as closed:
            raise NoAnswer(f"{self._address.base}: {in_words(closed.error)}") from closed.error
        except aiohttp.ClientPayloadError as error:
            raise NoAnswer(f"the response of {self._address.base} was cut off") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoAnswer(f"{self._address.base}: {in_words(error)}") from error

    async def body(
        self,
        path: str,
        parameters: dict[str, str],
        *,
        seconds: float,
        bytes_max: int,
        may_post: bool = False,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> bytes:
        """The whole body of a 2xx response; raises `NoAnswer`."""
        body = bytearray()

        async def take(piece: bytes) -> None:
            body.extend(piece)
            if len(body) > bytes_max:
                raise larger_than(bytes_max)

        await self.send(path, parameters, seconds=seconds, take=take, may_post=may_post, turn=turn)
        return bytes(body)

    async def close(self) -> None:
        """Close the connections. Nothing is sent afterwards."""
        self._is_closed = True
        await self._pool.close()

    async def _exchange(
        self,
        path: str,
        encoded: str,
        take: Callable[[bytes], Awaitable[None]],
        compressed: bool,
        posted: bool,
    ) -> None:
        in_url = [self._address.parameters] if self._address.parameters else []
        credentials = await self._credentials.headers()
        tls = self._credentials.tls()
        route = self._credentials.route()
        # Another server must not receive what is for this one.
        has_secrets = (
            bool(self._headers or credentials or in_url) or self._credentials.has_client_certificate
        )
        if not posted:
            in_url.append(encoded)
        url = URL(f"{self._address.requested}{path}?{'&'.join(in_url)}", encoded=True)
        async with (
            self._pool.session() as session,
            session.request(
                "POST" if posted else "GET",
                url,
                data=encoded.encode() if posted else None,
                headers=request_headers(
                    self._headers, credentials, is_form=posted, compressed=compressed
                ),
                ssl=tls,
                server_hostname=route.server_hostname,
                proxy=route.proxy,
                allow_redirects=not has_secrets,
            ) as response,
        ):
            if posted and response.method != "POST":
                raise NoAnswer(_lost_body(self._address.base, response))
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                refusal = await self._refusal(response)
                if response.status == HTTPStatus.UNAUTHORIZED:
                    raise _Unauthenticated(refusal, (credentials, tls))
                raise refusal
            async for piece in response.content.iter_chunked(PIECE_BYTES):
                await take(piece)

    def _session(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise NoAnswer(f"{self._address.base}: the client was closed")
        return aiohttp.ClientSession(
            connector=self._connector(),
            middlewares=(single_attempt,),  # `send` repeats.
            # Otherwise the timeout of `send` is the limit.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
            headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _connector(self) -> aiohttp.BaseConnector:
        # The semaphore is the limit; connections outlive the 15 s between two reconciles of an HPA.
        if socket := self._address.socket:
            return aiohttp.UnixConnector(socket, limit=0, keepalive_timeout=KEEPALIVE_SECONDS)
        return aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_SECONDS)

    async def _refusal(self, response: aiohttp.ClientResponse) -> NoAnswer:
        """Prometheus explains 400, 422 and 503 itself; for any other code the cause is the code."""
        body = b""
        # If it is cut off, the code still says something.
        with suppress(aiohttp.ClientPayloadError):
            while piece := await response.content.read(REFUSAL_BYTES_MAX - len(body)):
                body += piece
        refusal = decode_refusal(body)
        code = response.status
        retryable = code >= HTTPStatus.INTERNAL_SERVER_ERROR or code == HTTPStatus.TOO_MANY_REQUESTS
        status = f"HTTP {code} {response.reason or ''}".strip()
        if refusal:
            return NoAnswer(
                f"{refusal.error_type or status}: {refusal.error}",
                retryable=retryable,
                quotes=True,
            )
        cause = f"{self._address.base} responded with {status}"
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            cause += (
                ": check the credentials of this backend (--prometheus-token-file and the like)"
            )
        elif code in REDIRECTS and (location := response.headers.get("Location", "")):
            cause += (
                f": it redirects to {_host_of(location)}, and a redirect is not followed with credentials: set --prometheus-url "
                "(or the url of the backend) to where it leads"
            )
        elif code == HTTPStatus.NOT_FOUND:
            cause += ": check the path in --prometheus-url"
        return NoAnswer(cause, retryable=retryable)


def larger_than(bytes_max: int) -> NoAnswer:
    """A response has more bytes than are read of one."""
    return NoAnswer(
        f"the response is larger than {bytes_max} bytes: aggregate in the query", retryable=False
    )


def _lost_body(base: str, response: aiohttp.ClientResponse) -> str:
    """A redirect with 301, 302 or 303 was followed by a GET, which has no parameters."""
    return (
        f"{base} redirects a POST to {_host_of(str(response.url))} so that its body is lost: set --prometheus-url (or the url of the "
        "backend) to where it leads"
    )


def _host_of(location: str) -> str:
    """Scheme, host and path of a redirect; the rest may repeat a secret of the URL."""
    parts = urlsplit(location)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
