"""Credentials for another server than the API server: only after its certificate is verified."""

import asyncio
import ssl

import pytest

from testbed.certificates import Authority
from tests.unit.wire.kube.test_connection import IN_CLUSTER, kubeconfig
from wire.kube.cluster_access import ConnectionConfigError, ServiceAccount
from wire.kube.server_connection import connect_to


@pytest.fixture(scope="module")
def authority():
    return Authority("test")


ELSEWHERE = "https://127.0.0.1:6443"


async def test_credentials_of_a_kubeconfig_are_not_sent_to_an_unverified_server(tmp_path):
    path = kubeconfig(tmp_path, "{token: secret}")
    with pytest.raises(ConnectionConfigError, match=r"--ca-file.*--insecure-skip-tls-verify"):
        await connect_to(ELSEWHERE, kubeconfig=path, user_agent="a/1")
    insecure = await connect_to(
        ELSEWHERE, kubeconfig=path, user_agent="a/1", insecure_skip_tls_verify=True
    )
    assert await insecure.authorization() == "Bearer secret"
    assert insecure.tls.verify_mode is ssl.CERT_NONE


async def test_a_pod_trusts_the_program_on_its_own_loopback(tmp_path):
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("secret")
    source = ServiceAccount(tmp_path, IN_CLUSTER)
    connection = await connect_to(ELSEWHERE, source=source, user_agent="a/1")
    assert await connection.authorization() == "Bearer secret"
    with pytest.raises(ConnectionConfigError, match="--ca-file"):
        await connect_to("https://example.com", source=source, user_agent="a/1")


async def test_credentials_are_sent_to_a_server_that_a_ca_in_memory_verifies(tmp_path, authority):
    path = kubeconfig(tmp_path, "{token: secret}")
    connection = await connect_to(
        ELSEWHERE,
        ca_pem=authority.certificate.decode(),
        server_hostname="adapter.monitoring.svc",
        kubeconfig=path,
        user_agent="a/1",
    )
    assert await connection.authorization() == "Bearer secret"
    assert connection.server_hostname == "adapter.monitoring.svc"
    assert connection.tls.verify_mode is ssl.CERT_REQUIRED
    assert len(connection.tls.get_ca_certs()) == 1, "and no CA of this machine"


async def test_an_impersonating_kubeconfig_is_refused_by_servers_that_do_not_impersonate(
    tmp_path, authority
):
    authority.client("me").write(tmp_path, "me")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    path = kubeconfig(tmp_path, "{token: secret, as: jane}")
    with pytest.raises(ConnectionConfigError, match="as: jane"):
        await connect_to(ELSEWHERE, ca_file=tmp_path / "ca.crt", kubeconfig=path, user_agent="a/1")


async def test_a_server_whose_own_certificate_is_trusted_needs_no_issuer(tmp_path, authority):
    """As in Go. The scaler publishes its certificate and not that of its issuer, which verifies other servers too."""
    pair = authority.serving("server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*pair.write(tmp_path, "server"))
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]

    async def connects(trusted: bytes) -> bool:
        path = kubeconfig(tmp_path, "{token: secret}")
        connection = await connect_to(
            ELSEWHERE, ca_pem=trusted.decode(), kubeconfig=path, user_agent="a/1"
        )
        try:
            _, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=connection.tls, server_hostname="localhost"
            )
        except ssl.SSLCertVerificationError:
            return False
        writer.close()
        return True

    assert await connects(pair.certificate)
    assert not await connects(authority.serving("server").certificate), "another one of its issuer"
    server.close()


async def test_the_bundle_of_an_api_service_may_have_comments_in_any_language(tmp_path, authority):
    connection = await connect_to(
        ELSEWHERE,
        ca_pem="# Főtanúsítvány\n" + authority.certificate.decode(),
        kubeconfig=kubeconfig(tmp_path, "{token: secret}"),
        user_agent="a/1",
    )
    assert len(connection.tls.get_ca_certs()) == 1


@pytest.mark.parametrize("bundle", ["", "no certificate"])
async def test_a_bundle_without_a_certificate_does_not_stand_for_those_of_the_system(
    tmp_path, bundle
):
    path = kubeconfig(tmp_path, "{token: secret}")
    with pytest.raises(ConnectionConfigError, match="no certificate in PEM could be read"):
        await connect_to(ELSEWHERE, ca_pem=bundle, kubeconfig=path, user_agent="a/1")
