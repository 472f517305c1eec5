"""Which certificates a client trusts: those of a bundle in PEM, read as Go's programs read it.

OpenSSL gives up at the first certificate that it cannot read, and trusts only those that are signed by themselves.
"""

import base64
import os
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SYSTEM_FOLDERS: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs")
"""Where Go looks for certificates beside the bundle of the system, unless `SSL_CERT_DIR` is set (crypto/x509, root_linux.go)."""
FILE_BYTES_MAX: Final = 1 << 22
"""A larger file in such a folder has something else."""

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
        for body in _only_in_folders():
            _is_trusted(context, body)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust(context, bundle)
    # Many private CAs lack the key identifiers that this flag requires; Go does not require them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As in Go, every certificate of a bundle is a trust anchor, also one that is not self-signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _only_in_folders() -> set[bytes]:
    """The certificates in the folders of the system, whatever the files are called, that its bundle does not have.

    OpenSSL finds in a folder only what is called by its hash, so it misses a CA that is mounted there.
    """
    found = {body for path in _system_files() for body in _certificates_of(path)}
    bundle = ssl.get_default_verify_paths().cafile
    return found - set(_certificates_of(Path(bundle))) if bundle else found


def _system_files() -> Iterator[Path]:
    folders = os.environ.get("SSL_CERT_DIR", "").split(":")
    for folder in folders if any(folders) else SYSTEM_FOLDERS:
        try:
            entries = list(Path(folder).iterdir()) if folder else []
        except OSError:
            continue
        # A link to another file of the folder is that file once more, by its hash.
        yield from (
            each for each in entries if not each.is_symlink() or len(each.readlink().parts) > 1
        )


def _certificates_of(path: Path) -> list[bytes]:
    try:
        if not path.is_file() or path.stat().st_size > FILE_BYTES_MAX:
            return []
        # Bundles and single files may have lines of different lengths.
        return [b"".join(each.split()) for each in _CERTIFICATE.findall(path.read_bytes())]
    except OSError:
        return []


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
