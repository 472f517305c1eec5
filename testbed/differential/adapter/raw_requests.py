"""HTTP requests byte by byte, also ones that no client library would send: for the comparison of HTTP surfaces.

Every request is made by a seed from a valid one by one or two changes. What is compared is the status, or
that the connection was closed without a response.
"""

import contextlib
import random
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_depth"
TIMEOUT_SECONDS = 5.0
CLOSED, SILENT = "closed", "no response"


class RawRequest(msgspec.Struct, kw_only=True):
    """The parts of a request as they are sent; `changes` say how it differs from a valid one."""

    method: bytes = b"GET"
    target: bytes = PATH.encode()
    version: bytes = b"HTTP/1.1"
    headers: list[bytes]
    body: bytes = b""
    line_end: bytes = b"\r\n"
    changes: list[str] = []

    def encode(self) -> bytes:
        """All of it."""
        first = b" ".join(part for part in (self.method, self.target, self.version) if part)
        return self.line_end.join([first, *self.headers, b"", b""]) + self.body


METHODS = (b"get", b"BREW", b"G\xc3\x89T", b"GET\x00", b"(GET)", b"POST", b"HEAD", b"OPTIONS", b"PUT",
           b"DELETE", b"PATCH", b"TRACE", b"CONNECT", b"X" * 300)  # fmt: skip
TARGETS = (
    b"*", b"apis", b"http://127.0.0.1" + PATH.encode(), b"http://[::1" + PATH.encode(), b"//" + PATH.encode(),
    PATH.encode() + b"/", PATH.encode() + b"#fragment", PATH.encode() + b"?a=%zz", PATH.encode() + b"?a;b=c",
    PATH.encode() + b"%00", PATH.encode() + b"%2", PATH.encode() + b"%2F", PATH.encode() + b"/../queue_depth",
    PATH.encode() + b"\xff", PATH.encode() + b"\x01", b"/%61pis", b"/" + b"a" * 9_000, b"/" + b"a" * 70_000,
    PATH.encode() + b"?labelSelector=" + b"a" * 20_000, b"/apis//external.metrics.k8s.io/v1beta1",
    b"/./apis", b"/apis/..", b"/healthz", b"/metrics", b"/", b"/openapi/v2", b"/version", b"/nowhere",
)  # fmt: skip
VERSIONS = (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b"HTTP/1", b"", b"HTTP/1.1 x",
            b"HTTPS/1.1", b"HTTP/11")  # fmt: skip
HEADERS = (
    b"Host: a b", b"Host:", b"no colon", b"Space : before", b": empty name", b" folded: line", b"X-Nul: a\x00b",
    b"X-Text: \xc3\xa4", b"X-Byte: \xff", b"X(Y): z", b"X-Long: " + b"a" * 9_000, b"X-Long: " + b"a" * 200_000,
    b"X-Long: " + b"a" * 1_200_000, b"Content-Length: -1", b"Content-Length: x", b"Content-Length: 5, 5",
    b"Content-Length: 0", b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked", b"Connection: close",
    b"Expect: 100-continue", b"Expect: nonsense", b"Upgrade: h2c", b"Accept: nonsense", b"Accept: */*;q=x",
    b"Authorization: Bearer \xff", b"Authorization: Basic YTpi", b"Authorization:", b"Range: bytes=0-1",
    b"X-Remote-User: root", b"If-None-Match: *", b"Accept-Encoding: br;q=1, gzip;q=0",
)  # fmt: skip
MANY_HEADERS = (100, 200, 1_000, 5_000)


def random_requests(count: int, *, seed: int) -> Iterator[RawRequest]:
    """Every single change once, then random pairs, until `count` are made."""
    chance = random.Random(seed)  # noqa: S311 - repeatable by seed
    singles: list[tuple[Callable[[RawRequest, Any], None], Any]] = [
        *((_method, value) for value in METHODS),
        *((_target, value) for value in TARGETS),
        *((_version, value) for value in VERSIONS),
        *((_header, value) for value in HEADERS),
        *((_many_headers, number) for number in MANY_HEADERS),
        *((change, None) for change in (_bare_lf, _no_host, _two_hosts, _two_lengths, _chunked, _bad_chunk, _body)),
    ]  # fmt: skip
    for number in range(count):
        made = RawRequest(headers=[b"Host: 127.0.0.1"])
        chosen = [singles[number]] if number < len(singles) else chance.sample(singles, 2)
        for change, value in chosen:
            change(made, value)
            shown = value[-40:] if isinstance(value, bytes) else value
            made.changes = [*made.changes, f"{change.__name__.strip('_')} {shown!r}"]
        yield made


def exchange(port: int, tls: ssl.SSLContext, request: RawRequest) -> str:
    """The status of the response, CLOSED or SILENT."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as plain,
        tls.wrap_socket(plain) as connection,
    ):
        # The response may be sent before everything was read.
        with contextlib.suppress(OSError):
            connection.sendall(request.encode())
        try:
            head = connection.recv(64)
        except TimeoutError:
            return SILENT
        except OSError:
            return CLOSED
    parts = head.split(b" ")
    return parts[1].decode("latin-1") if len(parts) > 1 else CLOSED


# What aiohttp's parser refuses although Go's serves it, and the other way round; row `http-parsers` of
# docs/deviations.md. Nothing that a client library sends is among them.
STRICTER = (
    "method",  # /metrics and /openapi/v2 answer every method there, and only reads here
    "version b'HTTP/1.2'", "bare_lf", "bad_chunk", "many_headers 1000", "many_headers 5000",
    f"header {(b'a' * 40)!r}",
)  # fmt: skip
MORE_TOLERANT = ("target b'/namespaces/default/queue_depth#fragment'", "version b'HTTP/0.9'",
                 "version b'HTTP/2.0'", "version b''", "header b'Expect: 100-continue'")  # fmt: skip
# Their own rows of docs/deviations.md.
OTHER_ROWS = ("target b'/'",)


def is_unexplained(upstream: str, loadline: str, request: RawRequest) -> bool:
    """Whether the two statuses differ, except in a named deviation. Server errors always count."""
    if upstream == loadline or any(each.startswith(OTHER_ROWS) for each in request.changes):
        return False
    if loadline.startswith("5"):
        return True
    if _is_refused(loadline):
        return not _is_refused(upstream) and not _has(request, STRICTER)
    return not _has(request, MORE_TOLERANT)


def _is_refused(status: str) -> bool:
    return status == CLOSED or status.startswith(("4", "5"))


def _has(request: RawRequest, changes: tuple[str, ...]) -> bool:
    return any(each.startswith(changes) for each in request.changes)


def _method(request: RawRequest, value: bytes) -> None:
    request.method = value


def _target(request: RawRequest, value: bytes) -> None:
    request.target = value


def _version(request: RawRequest, value: bytes) -> None:
    request.version = value


def _header(request: RawRequest, value: bytes) -> None:
    request.headers.append(value)


def _many_headers(request: RawRequest, number: int) -> None:
    request.headers += [b"X-%d: a" % each for each in range(number)]


def _bare_lf(request: RawRequest, _: None) -> None:
    request.line_end = b"\n"


def _no_host(request: RawRequest, _: None) -> None:
    request.headers = [each for each in request.headers if not each.startswith(b"Host")]


def _two_hosts(request: RawRequest, _: None) -> None:
    request.headers.append(b"Host: other")


def _two_lengths(request: RawRequest, _: None) -> None:
    request.headers += [b"Content-Length: 3", b"Content-Length: 4"]
    request.body += b"abcd"


def _chunked(request: RawRequest, _: None) -> None:
    request.headers.append(b"Transfer-Encoding: chunked")
    request.body += b"3\r\nabc\r\n0\r\n\r\n"


def _bad_chunk(request: RawRequest, _: None) -> None:
    request.headers.append(b"Transfer-Encoding: chunked")
    request.body += b"zz\r\nabc\r\n"


def _body(request: RawRequest, _: None) -> None:
    request.headers.append(b"Content-Length: 4")
    request.body += b"abcd"
