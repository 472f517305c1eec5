"""Bundles of CAs as Go reads them."""

import ssl

import pytest

from testbed.certificates import Authority
from wire.process.trusted_certificates import client_context


@pytest.fixture(scope="module")
def certificates():
    return [Authority(name).certificate for name in ("first", "second")]


def trusted(bundle: bytes) -> int:
    return len(client_context(bundle).get_ca_certs())


@pytest.mark.parametrize(
    "between",
    [
        b"",
        b"\n",
        b"\r\n",
        "# Főtanúsítvány\n".encode(),
        b"\xff\xfe",
        b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
        b"-----BEGIN CERTIFICATE-----\nTm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\n",
    ],
)
def test_all_but_certificates_is_skipped(certificates, between):
    assert trusted(between + between.join(certificates) + between) == 2


def test_lines_may_end_as_on_windows(certificates):
    assert trusted(b"".join(certificates).replace(b"\n", b"\r\n")) == 2


def test_a_certificate_with_headers_is_not_trusted(certificates):
    first, second = certificates
    with_header = first.replace(b"-----\n", b"-----\nProc-Type: 4\n\n", 1)
    assert trusted(with_header + second) == 1


@pytest.mark.parametrize("bundle", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----"])
def test_a_bundle_without_a_certificate_is_an_error(bundle):
    with pytest.raises(ssl.SSLError, match=r"^no certificate in PEM could be read$"):
        client_context(bundle)


def test_without_a_bundle_the_certificates_of_the_system_are_trusted():
    context = client_context(None)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
