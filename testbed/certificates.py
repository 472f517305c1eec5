"""A certificate authority for one testbed: serving, client and front-proxy certificates, generated in memory.

ECDSA P-256: generating a key takes a millisecond, against hundreds for RSA.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
CLOCK_SKEW = datetime.timedelta(minutes=5)
LOOPBACK_HOSTS = ("localhost", "127.0.0.1")


class KeyPair(msgspec.Struct, frozen=True):
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write `<name>.crt` and `<name>.key`; returns both paths."""
        directory.mkdir(parents=True, exist_ok=True)
        certificate_path, key_path = directory / f"{name}.crt", directory / f"{name}.key"
        certificate_path.write_bytes(self.certificate)
        key_path.touch(mode=0o600)
        key_path.write_bytes(self.key)
        return certificate_path, key_path


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """SEC 1, the format that Go and Kubernetes read, also for service account keys."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def signing_key() -> tuple[bytes, bytes]:
    """A private and a public key (PEM) for signing service account tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private_key_pem(key), public


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    if common_name:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    return x509.Name(attributes)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    lifetime: datetime.timedelta = LIFETIME,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """A certificate authority; `certificate` is its own certificate (PEM), to be trusted by others."""

    def __init__(self, common_name: str, *, issuer: "Authority | None" = None) -> None:
        """Self-signed, or an intermediate of `issuer`."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(common_name)
        issuer = issuer or self
        signed = (
            _builder(self._subject, issuer._subject, self._key.public_key())  # noqa: SLF001 - another Authority
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(issuer._key, hashes.SHA256())  # noqa: SLF001 - another Authority
        )
        self.certificate: bytes = signed.public_bytes(serialization.Encoding.PEM)

    def serving(self, common_name: str, hosts: Sequence[str] = LOOPBACK_HOSTS) -> KeyPair:
        """A serving certificate for `hosts`, names or addresses."""
        return self._issue(_name(common_name), ExtendedKeyUsageOID.SERVER_AUTH, hosts)

    def client(
        self, user: str, groups: Sequence[str] = (), *, lifetime: datetime.timedelta = LIFETIME
    ) -> KeyPair:
        """A client certificate. Kubernetes reads the user from the common name and the groups from the organizations.

        A negative `lifetime` makes an expired certificate.
        """
        return self._issue(
            _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, (), lifetime=lifetime
        )

    def _issue(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        hosts: Sequence[str],
        *,
        lifetime: datetime.timedelta = LIFETIME,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        authority_key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self._key.public_key()
        )
        builder = (
            _builder(subject, self._subject, key.public_key(), lifetime)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(authority_key_id, critical=False)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_alternative_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return KeyPair(signed.public_bytes(serialization.Encoding.PEM), private_key_pem(key))


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
