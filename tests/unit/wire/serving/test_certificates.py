"""Which client certificates are valid, by the rules of Go's crypto/x509."""

import base64
import contextlib
import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from wire.serving.certificates import (
    Bundle,
    CertificateError,
    Pair,
    belong_together,
    certificates_in,
    own_names,
    self_signed,
)

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


class Made:
    """A certificate and its key; `issue` makes one below it."""

    def __init__(self, certificate, key):
        self.certificate, self.key = certificate, key

    @property
    def der(self):
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def bundle(self):
        return Bundle(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name, *, ca=False, usages=(ExtendedKeyUsageOID.CLIENT_AUTH,), days=1, groups=()
    ):
        return made(name, self, ca=ca, usages=usages, days=days, groups=groups)


def made(name, issuer=None, *, ca=True, usages=(), days=1, groups=()):
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + days * DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    return Made(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


@pytest.fixture(scope="module")
def root():
    return made("root")


def test_a_certificate_names_its_user(root):
    bob = root.issue("bob", groups=["ops", "dev"])
    identity = root.bundle.identify((bob.der,), now=NOW)
    assert (identity.common_name, identity.organizations) == ("bob", ("ops", "dev"))
    assert (
        identity.credential_id == f"X509SHA256={bob.certificate.fingerprint(hashes.SHA256()).hex()}"
    )


def test_a_chain_may_use_the_intermediates_that_the_client_sends(root):
    middle = root.issue("middle", ca=True, usages=())
    bob = middle.issue("bob")
    assert root.bundle.identify((bob.der, middle.der), now=NOW).common_name == "bob"
    with pytest.raises(CertificateError):
        root.bundle.identify((bob.der,), now=NOW)


def test_a_certificate_without_extended_key_usages_may_be_used_for_anything(root):
    assert root.bundle.identify((root.issue("bob", usages=()).der,), now=NOW).common_name == "bob"


@pytest.mark.parametrize(
    ("chain", "now"),
    [
        pytest.param(lambda root: [root.issue("bob")], NOW + 2 * DAY, id="expired"),
        pytest.param(lambda root: [root.issue("bob")], NOW - 2 * DAY, id="not valid yet"),
        pytest.param(lambda _: [made("other root").issue("bob")], NOW, id="another root"),
        pytest.param(
            lambda _: [made("root").issue("bob")], NOW, id="another root of the same name"
        ),
        pytest.param(
            lambda root: [root.issue("bob", usages=(ExtendedKeyUsageOID.SERVER_AUTH,))],
            NOW,
            id="a server's",
        ),
        pytest.param(
            lambda root: [(bob := root.issue("bob")).issue("eve"), bob],
            NOW,
            id="issued by a certificate that is not a CA",
        ),
    ],
)
def test_an_invalid_client_certificate_is_refused(root, chain, now):
    with pytest.raises(CertificateError, match="the client certificate is not valid"):
        root.bundle.identify(tuple(one.der for one in chain(root)), now=now)


@pytest.mark.parametrize("chain", [(), (b"",), (b"nonsense",)], ids=["none", "empty", "nonsense"])
def test_bytes_that_are_not_a_certificate_are_refused(root, chain):
    with pytest.raises(CertificateError):
        root.bundle.identify(chain, now=NOW)


@pytest.mark.parametrize("pem", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nx\n"])
def test_a_bundle_without_a_certificate_is_refused(pem):
    with pytest.raises(CertificateError, match="no CA certificate"):
        Bundle(pem)


def test_a_self_signed_pair_names_this_machine():
    pair = self_signed(own_names(), now=NOW)
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc


def pem_of(der):
    return (
        b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"
    )


def unreadable():
    """What cryptography refuses with other exceptions than ValueError."""
    pair = self_signed(["a"])
    der = x509.load_pem_x509_certificate(pair.certificate).public_bytes(serialization.Encoding.DER)
    extended_key_usage, basic_constraints = bytes.fromhex("0603551d25"), bytes.fromhex("0603551d13")
    return {
        "a version that does not exist": der.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07", 1),
        "an extension twice": der.replace(extended_key_usage, basic_constraints, 1),
        "a name of an unknown type": der.replace(b"\x82\x01a", b"\xa3\x01a", 1),
    }  # fmt: skip


@pytest.mark.parametrize("name", unreadable())
def test_a_certificate_that_cannot_be_read_is_an_error_of_that_certificate(root, name):
    """A published bundle may have one: it must not end the program."""
    der = unreadable()[name]
    pem = pem_of(der)
    with pytest.raises(CertificateError):
        certificates_in(pem)
    with pytest.raises(CertificateError):
        root.bundle.identify((der,), now=NOW)
    assert not belong_together(Pair(pem, self_signed(["a"]).key))
    with contextlib.suppress(CertificateError):
        Bundle(pem)
