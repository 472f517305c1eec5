"""X.509: the self-signed serving certificate, and the verification of client certificates.

The only module that imports cryptography.
"""

import datetime
import ipaddress
import socket
from collections.abc import Iterable
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

# The generic API server's names for the pair in --cert-dir.
CERTIFICATE_NAME = "apiserver.crt"
KEY_NAME = "apiserver.key"
SELF_SIGNED_DAYS = 365
# For clients whose clocks are behind.
BACKDATED = datetime.timedelta(hours=1)
# What cryptography raises for bytes that are not a certificate, or one that it cannot read.
_UNREADABLE = (
    ValueError,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)


class CertificateError(Exception):
    """A certificate cannot be used for its purpose; the message says why."""


class Pair(msgspec.Struct, frozen=True):
    """A certificate with its chain, and its key, both PEM."""

    certificate: bytes
    key: bytes


class ClientIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The user that a certificate names."""

    common_name: str
    organizations: tuple[str, ...]
    credential_id: str


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate of a bundle: its PEM, its validity, and the host names and addresses of a server."""

    pem: bytes
    not_before: datetime.datetime
    not_after: datetime.datetime
    names: frozenset[str]


def certificates_in(pem: bytes) -> tuple[Certificate, ...]:
    """The certificates of a bundle, in its order. Raises `CertificateError` if one cannot be read, or there is none."""
    try:
        return tuple(
            Certificate(
                pem=each.public_bytes(serialization.Encoding.PEM),
                not_before=each.not_valid_before_utc,
                not_after=each.not_valid_after_utc,
                names=_names_of(each),
            )
            for each in x509.load_pem_x509_certificates(pem)
        )
    except _UNREADABLE as error:
        raise CertificateError(f"no certificate in PEM could be read: {error}") from error


def belong_together(pair: Pair) -> bool:
    """Whether the key is that of the certificate. False, too, if one of them cannot be read."""
    try:
        key = serialization.load_pem_private_key(pair.key, password=None)
        certificate = x509.load_pem_x509_certificate(pair.certificate)
    except (*_UNREADABLE, TypeError, UnsupportedAlgorithm):
        return False
    return bool(key.public_key() == certificate.public_key())


def _names_of(certificate: x509.Certificate) -> frozenset[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in extension.value)


def self_signed(names: Iterable[str], *, now: datetime.datetime | None = None) -> Pair:
    """A pair for these host names and addresses, valid for a year."""
    now = now or datetime.datetime.now(datetime.UTC)
    listed = list(dict.fromkeys(names))
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, listed[0][:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + datetime.timedelta(days=SELF_SIGNED_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in listed]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def own_names() -> list[str]:
    """The names by which a client may reach this machine."""
    return [socket.gethostname(), "localhost", "127.0.0.1", "::1"]


def kept_pair(folder: Path) -> tuple[Path, Path]:
    """The pair in `--cert-dir`, created if it does not exist. Raises `OSError`."""
    certificate, key = folder / CERTIFICATE_NAME, folder / KEY_NAME
    if not (certificate.is_file() and key.is_file()):
        folder.mkdir(parents=True, exist_ok=True)
        pair = self_signed(own_names())
        key.touch(mode=0o600)
        key.write_bytes(pair.key)
        certificate.write_bytes(pair.certificate)
    return certificate, key


class Bundle:
    """A set of CAs that client certificates are verified against. Immutable."""

    def __init__(self, pem: bytes) -> None:
        """Raises `CertificateError` if `pem` contains no certificate, or an invalid one."""
        try:
            # A bundle made by concatenation may lack the newline between two certificates.
            certificates = x509.load_pem_x509_certificates(
                pem.replace(b"-----BEGIN", b"\n-----BEGIN")
            )
            self._store = Store(certificates)
        except _UNREADABLE as error:
            raise CertificateError(f"no CA certificate in PEM could be read: {error}") from error
        self.source = pem
        # Serialized again, so that OpenSSL reads the same certificates.
        self.pem = b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)

    def identify(
        self, chain: tuple[bytes, ...], *, now: datetime.datetime | None = None
    ) -> ClientIdentity:
        """The identity of `chain` (DER, the leaf first, intermediates after it).

        Raises `CertificateError` if it leads to no CA of the bundle, has expired, or is not
        meant for clients.
        """
        now = now or datetime.datetime.now(datetime.UTC)
        try:
            leaf, *intermediates = (x509.load_der_x509_certificate(der) for der in chain)
            verifier = (
                PolicyBuilder()
                .store(self._store)
                .time(now)
                .extension_policies(ca_policy=_ca_policy(), ee_policy=_client_policy())
                .build_client_verifier()
            )
            verifier.verify(leaf, intermediates)
            return _identity(leaf)
        except (VerificationError, *_UNREADABLE) as error:
            raise CertificateError(f"the client certificate is not valid: {error}") from error


def _ca_policy() -> ExtensionPolicy:
    """What Go's crypto/x509 requires of a CA: that it is marked as one. The rules of WebPKI, which are
    cryptography's default, reject the CAs of most clusters, because they lack key identifiers.
    """
    return ExtensionPolicy.permit_all().require_present(
        x509.BasicConstraints, Criticality.AGNOSTIC, _must_be_ca
    )


def _client_policy() -> ExtensionPolicy:
    """A client needs no alternative name; if it lists extended key usages, clientAuth must be one."""
    return ExtensionPolicy.permit_all().may_be_present(
        x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _must_be_for_clients
    )


def _must_be_ca(
    _policy: Policy, _certificate: x509.Certificate, found: x509.BasicConstraints
) -> None:
    if not found.ca:
        raise ValueError("an issuer in the chain is not a CA")


def _must_be_for_clients(
    _policy: Policy, _certificate: x509.Certificate, found: x509.ExtendedKeyUsage | None
) -> None:
    accepted = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if found is not None and accepted.isdisjoint(found):
        raise ValueError("its extended key usage does not include clientAuth")


def _identity(leaf: x509.Certificate) -> ClientIdentity:
    names = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    organizations = leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return ClientIdentity(
        common_name=str(names[-1].value) if names else "",
        organizations=tuple(str(organization.value) for organization in organizations),
        credential_id=f"X509SHA256={leaf.fingerprint(hashes.SHA256()).hex()}",
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
