"""When a self-signed serving certificate that several replicas share is replaced, and by what. No I/O.

The replicas share a Secret: the certificate that is served, its key, and the bundle of certificates that
clients have to trust, the newest first. A new certificate joins the bundle before it is served, and the
previous one stays in it until every replica serves the new one.
"""

import base64
import binascii
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from wire.serving.certificates import (
    BACKDATED,
    Certificate,
    CertificateError,
    Pair,
    belong_together,
    certificates_in,
    self_signed,
)

BUNDLE_KEY: Final = "ca.crt"
CERTIFICATE_KEY: Final = "tls.crt"
KEY_KEY: Final = "tls.key"

RENEWED_AFTER: Final = 2 / 3
"""The share of its validity after which a certificate is replaced, as cert-manager does."""

OVERLAP: Final = datetime.timedelta(days=1)
"""How long a replaced certificate stays trusted. Every replica serves the new one within seconds."""


class Stored(msgspec.Struct, frozen=True):
    """The content of the Secret. `bundle` is not empty, and its first certificate is that of `pair`."""

    bundle: tuple[Certificate, ...]
    pair: Pair

    @property
    def ca_bundle(self) -> bytes:
        """The bundle as PEM."""
        return b"".join(each.pem for each in self.bundle)

    def data(self) -> dict[str, str]:
        """The field `data` of the Secret."""
        content = {
            BUNDLE_KEY: self.ca_bundle,
            CERTIFICATE_KEY: self.pair.certificate,
            KEY_KEY: self.pair.key,
        }
        return {name: base64.b64encode(value).decode() for name, value in content.items()}


def stored_in(data: Mapping[str, str]) -> Stored | None:
    """The content of the field `data` of a Secret; None if it is incomplete or cannot be read."""
    try:
        bundle, certificate, key = (
            base64.b64decode(data[name], validate=True)
            for name in (BUNDLE_KEY, CERTIFICATE_KEY, KEY_KEY)
        )
        trusted = certificates_in(bundle)
    except (KeyError, binascii.Error, CertificateError):
        return None
    pair = Pair(certificate, key)
    if trusted[0].pem != certificate or not belong_together(pair):
        return None
    return Stored(trusted, pair)


def successor(
    stored: Stored | None,
    *,
    names: Sequence[str],
    trusted: Iterable[Certificate],
    now: datetime.datetime,
) -> Stored | None:
    """What the Secret should contain instead; None while nothing has to change.

    `trusted` is what clients trust at the moment, of any origin. It stays trusted for the time of the overlap, because other
    replicas, or the pods of the previous release, may serve a certificate that it verifies.
    """
    if stored is None or _is_due(stored.bundle[0], names, now):
        former = (*(stored.bundle if stored else ()), *trusted)
        return _issued(names, former, now)
    if len(stored.bundle) > 1 and now >= _issued_at(stored.bundle[0]) + OVERLAP:
        return Stored(stored.bundle[:1], stored.pair)
    return None


def _is_due(certificate: Certificate, names: Sequence[str], now: datetime.datetime) -> bool:
    validity = certificate.not_after - certificate.not_before
    return (
        now < certificate.not_before
        or now >= certificate.not_before + validity * RENEWED_AFTER
        or not certificate.names.issuperset(names)
    )


def _issued(names: Sequence[str], former: Iterable[Certificate], now: datetime.datetime) -> Stored:
    pair = self_signed(names, now=now)
    valid = {each.pem: each for each in former if each.not_after > now}
    return Stored((*certificates_in(pair.certificate), *valid.values()), pair)


def _issued_at(certificate: Certificate) -> datetime.datetime:
    return certificate.not_before + BACKDATED
