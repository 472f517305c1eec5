"""Small questions to programs on loopback, for readiness and for tests."""

import http.client
import ssl

import msgspec

TIMEOUT_SECONDS = 5.0


class Answer(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")


def trusting(authority: bytes | None) -> ssl.SSLContext:
    """A TLS context that trusts `authority` (PEM); None trusts anybody, for servers that sign for themselves."""
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
) -> Answer | None:
    """GET from 127.0.0.1; None when nobody answers (yet)."""
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        if tls is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=tls)
    )
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_ok(port: int, path: str, *, tls: ssl.SSLContext | None = None) -> bool:
    """Whether it answers 200."""
    answer = get(port, path, tls=tls)
    return answer is not None and answer.status == http.client.OK
