"""The URL of a Prometheus, and the files with which a program authenticates to it and verifies it.

Every file is checked for every request, so that a rotated token, CA or certificate needs no restart
(prometheus-adapter reads them once).
"""

import base64
import functools
import posixpath
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import SplitResult, quote, unquote, unquote_to_bytes, urlsplit, urlunsplit

import msgspec

from wire.process.followed_file import FollowedFile
from wire.process.proxy import proxy_of_environment
from wire.process.trusted_certificates import client_context
from wire.prometheus.options import PrometheusOptions

UNIX_SCHEME: Final = "http+unix"
"""`http+unix://%2Frun%2Fprometheus.sock/prefix`: HTTP over a Unix socket, which a port-forward of the plugin is."""


_SCHEMES: Final = ("http", "https", UNIX_SCHEME)
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
_BARE_PERCENT_SIGN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def unix_url(socket: Path, path: str = "") -> str:
    """The URL of a Prometheus behind a Unix socket."""
    return f"{UNIX_SCHEME}://{quote(str(socket), safe='')}{path}"


class PrometheusURL(msgspec.Struct, frozen=True):
    """The parts of a backend's URL, so that the part which is shown contains no secret."""

    base: str
    """Scheme, host and path; without the last slash, user and parameters. Safe to show."""
    parameters: str
    """The URL's own query string, sent with every request."""
    user: str = ""
    password: str = ""
    socket: str = ""
    """The path of a Unix socket, or nothing."""

    @property
    def requested(self) -> str:
        """What requests are sent to: `base`, with a host where that has the path of a Unix socket."""
        if not self.socket:
            return self.base
        return f"http://localhost{urlsplit(self.base).path}"

    @classmethod
    def of(cls, url: str) -> "PrometheusURL":
        """Split a URL; raises `ValueError` that says what it has or needs, and does not quote it."""
        parts = _split(url)
        path = _sent_path(parts.path)
        if parts.scheme == UNIX_SCHEME:
            base = urlunsplit((*parts[:2], path, "", ""))
            return cls(base=base, parameters=parts.query, socket=unquote(parts.netloc))
        userinfo, _, host = parts.netloc.rpartition("@")
        base = urlunsplit((parts.scheme, host, path, "", ""))
        user, _, password = userinfo.partition(":")
        return cls(
            base=base,
            parameters=parts.query,
            user=unquote(user),
            password=unquote(password),
        )


def _split(url: str) -> SplitResult:
    if _CONTROL_CHARACTER.search(url):
        raise ValueError("it has a line break or another control character: remove it")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.netloc if parts.scheme == UNIX_SCHEME else parts.hostname)
    except ValueError:
        # The cause would quote a part of the URL.
        has_host = False
    if url.startswith(" ") or not has_host or parts.scheme not in _SCHEMES:
        raise ValueError("it must look like http://host:9090 or https://host/path")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(
            "its port must be a number up to 65535, as in http://host:9090; in a password, write %2F for a slash"
        ) from None
    return parts


def _sent_path(path: str) -> str:
    """As Go's url.Parse, path.Join and URL.EscapedPath make it of a path, before the one of an endpoint."""
    if _BARE_PERCENT_SIGN.search(path):
        raise ValueError(
            "its path has a percent sign that is not followed by two hexadecimal digits: write %25 for a percent sign"
        )
    cleaned = posixpath.normpath(b"/" + unquote_to_bytes(path).lstrip(b"/"))
    return quote(cleaned.rstrip(b"/"), safe="$&+,/:;=@")


class Route(msgspec.Struct, frozen=True):
    """How a server is reached."""

    proxy: str | None = None
    """The URL of the proxy; None: directly."""
    server_hostname: str | None = None
    """The name that its certificate must have, if that is not the host of the URL."""


class Credentials(Protocol):
    """Read again for every request. They raise `OSError` or `ValueError` when a file cannot be used."""

    async def headers(self) -> Mapping[str, str]:
        """The headers that authenticate the program."""
        ...

    async def renew(self) -> None:
        """Prometheus responded with 401: `headers` are others from now on, if that is possible."""
        ...

    def tls(self) -> ssl.SSLContext | bool:
        """The context of the next connection; True for the system's CA certificates, False to verify nothing."""
        ...

    @property
    def has_client_certificate(self) -> bool:
        """Whether the context of `tls` has a client certificate."""
        ...

    def route(self) -> Route:
        """Through which proxy, and to which server. Raises `ValueError` if the proxy cannot be used."""
        ...


class FileCredentials:
    """Credentials from the files that the flags name. They are read again for every request."""

    def __init__(self, access: PrometheusOptions) -> None:
        self._token = _file(access.token_file)
        self._last_token = ""
        self._password = _file(access.password_file)
        self._username = access.username
        self._address = PrometheusURL.of(access.url)
        self._ca = _file(access.ca_file)
        self._certificate = _file(access.client_cert_file)
        self._key = _file(access.client_key_file)
        self._built_of: tuple[int, ...] = ()
        self._context: ssl.SSLContext | None = None

    def check(self) -> None:
        """Read every file once, so that an unusable one is found at the start; raises `OSError`, `ValueError`."""
        for file in (self._token, self._password):
            if file:
                file.read().decode()
        self.tls()

    async def headers(self) -> Mapping[str, str]:
        """The user of the URL has priority over a token, and a token over `username`, which replaces the user of the URL.

        net/http sets the header of the URL before client-go's bearerAuthRoundTripper, which keeps one that is set.
        """
        # Also if it is not sent, so that a file that cannot be read is an error. Tokens written by hand end with a newline,
        # which is not allowed in a header.
        token = self._newest_token()
        in_url = self._address.user or self._address.password
        if in_url and not self._username:
            return self._basic(self._address.user, self._address.password)
        if self._token:
            return {"Authorization": f"Bearer {token}"}
        if self._username:
            return self._basic(self._username, "")
        return {}

    def _newest_token(self) -> str:
        """That before while the file is empty, as when it is written. Upstream: the cache of client-go's `fileTokenSource`."""
        token = self._token.read().decode().strip() if self._token else ""
        self._last_token = token or self._last_token
        return self._last_token

    async def renew(self) -> None:
        """The files are the newest ones already."""

    def _basic(self, user: str, password: str) -> Mapping[str, str]:
        if self._password:
            password = self._password.read().decode().strip()
        secret = f"{user}:{password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(secret).decode()}"}

    def tls(self) -> ssl.SSLContext:
        """The context of the newest files, built again when one of them has changed."""
        files = [f for f in (self._ca, self._certificate, self._key) if f]
        for file in files:
            file.read()
        generations = tuple(f.generation for f in files)
        if self._context is None or generations != self._built_of:
            try:
                self._context = self._build()
                self._built_of = generations
            except ssl.SSLError:
                # Certificate and key are replaced one after the other: until they match, the old pair is used.
                if self._context is None:
                    raise
        return self._context

    @property
    def has_client_certificate(self) -> bool:
        """If a file of one is given."""
        return self._certificate is not None

    def route(self) -> Route:
        """The proxy of the environment; with a CA file none, as in prometheus-adapter (makePrometheusCAClient)."""
        return self._route

    @functools.cached_property
    def _route(self) -> Route:
        if self._ca or self._address.socket:
            return Route()
        return Route(proxy=proxy_of_environment(self._address.base))

    def _build(self) -> ssl.SSLContext:
        if not self._ca and not self._certificate:
            return _context_of_the_system()
        context = self._verifying()
        if self._certificate:
            context.load_cert_chain(self._certificate.path, self._key.path if self._key else None)
        return context

    def _verifying(self) -> ssl.SSLContext:
        if not self._ca:
            return client_context(None)
        try:
            return client_context(self._ca.read())
        except ssl.SSLError as error:
            raise ssl.SSLError(error.errno, f"{self._ca.path}: {error.strerror}") from error


@functools.cache
def _context_of_the_system() -> ssl.SSLContext:
    """Read once, as in Go (crypto/x509, systemRoots): each reading stops the event loop for 70 ms."""
    return client_context(None)


def _file(path: Path | None) -> FollowedFile | None:
    return FollowedFile(path) if path else None
