"""Which certificates a client trusts: those of a bundle in PEM, read as Go's programs read it.

OpenSSL gives up at the first certificate that it cannot read, and trusts only those that are signed by themselves.
"""

import base64
import re
import ssl
from typing import Final

# A block with headers contains a colon, so it is none of these, as in Go.
_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----"
)


def client_context(bundle: bytes | None) -> ssl.SSLContext:
    """A context that verifies servers with the certificates of `bundle` (PEM), or with the system's if it is None.

    Raises `ssl.SSLError` if `bundle` has no certificate.
    """
    if bundle is None:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust(context, bundle)
    # Many private CAs lack the key identifiers that this flag requires; Go does not require them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As in Go, every certificate of a bundle is a trust anchor, also one that is not self-signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def trust(context: ssl.SSLContext, bundle: bytes) -> None:
    """Trust the certificates of `bundle` (PEM) in addition: x509.CertPool.AppendCertsFromPEM.

    Everything else in it is skipped: comments in any encoding, other blocks, certificates that cannot be read. Raises
    `ssl.SSLError` if no certificate is left.
    """
    if not sum(_is_trusted(context, body) for body in _CERTIFICATE.findall(bundle)):
        raise ssl.SSLError(ssl.SSL_ERROR_SSL, "no certificate in PEM could be read")


def _is_trusted(context: ssl.SSLContext, body: bytes) -> bool:
    try:
        context.load_verify_locations(cadata=base64.b64decode(body))
    except (ssl.SSLError, ValueError):
        return False
    return True
