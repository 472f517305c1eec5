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


def test_a_certificate_in_a_folder_of_the_system_is_trusted_whatever_its_file_is_called(
    certificates, tmp_path, monkeypatch
):
    """As in Go: a CA that is mounted into /etc/ssl/certs, for example. OpenSSL needs the hash of its subject as the name."""
    before = len(client_context(None).get_ca_certs())
    (tmp_path / "our-ca.crt").write_bytes(certificates[0])
    (tmp_path / "0a1b2c3d.0").symlink_to("our-ca.crt")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "ca").write_bytes(certificates[1] + certificates[0])
    (tmp_path / "linked.pem").symlink_to("mounted/ca")
    (tmp_path / "README").write_bytes(b"no certificate")
    (tmp_path / "large.pem").write_bytes(certificates[0] + b" " * (1 << 22))
    monkeypatch.setenv("SSL_CERT_DIR", f"{tmp_path / 'absent'}:{tmp_path}")
    assert len(client_context(None).get_ca_certs()) == before + 2
