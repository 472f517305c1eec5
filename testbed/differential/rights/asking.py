"""A request with the certificate and the headers of whoever asks, over a connection of its own."""

import gzip
import http.client
import ssl
from pathlib import Path

import msgspec

from testbed import web
from testbed.certificates import KeyPair
from testbed.differential.adapter.questions import Question
from testbed.differential.adapter.sides import TIMEOUT_SECONDS, Answer

TURNED_AWAY = Answer(status=0, content_type="", body=b"")
"""No answer at all: the TLS handshake was ended."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who comes, by name, and what they show."""

    name: str
    certificate: KeyPair | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def tls(self, directory: Path) -> ssl.SSLContext:
        """The context of their connections; OpenSSL wants files."""
        context = web.trusting(None)
        if self.certificate is not None:
            context.load_cert_chain(*self.certificate.write(directory, self.name.replace(" ", "-")))
        return context


class Door:
    """One adapter as one asker meets it: a connection kept, or opened anew when it was closed."""

    def __init__(self, port: int, asker: Asker, directory: Path) -> None:
        self._asker = asker
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=asker.tls(directory)
        )

    def ask(self, question: Question) -> Answer:
        """What it says; `TURNED_AWAY` when it does not let them speak."""
        try:
            return self._exchange(question)
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            self._connection.close()
            return TURNED_AWAY

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _exchange(self, question: Question) -> Answer:
        self._connection.putrequest(question.method, question.target)
        for name, value in self._asker.headers:
            self._connection.putheader(name, value)
        self._connection.endheaders()
        response = self._connection.getresponse()
        body = response.read()
        if response.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return Answer(
            status=response.status,
            content_type=response.getheader("Content-Type", ""),
            body=body,
        )
