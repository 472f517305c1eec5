"""HTTP GET requests to programs on loopback."""

import http.client
import ssl

import msgspec

TIMEOUT_SECONDS = 5.0


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


def get(
    port: int,
    path: str,
    *,
    tls: ssl.SSLContext | None = None,
    headers: dict[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Response | None:
    """GET from 127.0.0.1; None when there is no response (yet)."""
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_seconds)
        if tls is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout_seconds, context=tls)
    )
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return Response(response.status, response.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_ok(port: int, path: str, *, tls: ssl.SSLContext | None = None) -> bool:
    """Whether the status is 200."""
    response = get(port, path, tls=tls)
    return response is not None and response.status == http.client.OK
