"""Certificates, authorities and tokens are exchanged while the adapter runs, and it goes on with the new ones."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from testbed import web
from testbed.certificates import Authority, KeyPair
from testbed.waiting import until
from tests.process.adapter.conftest import CONFIGURATION, AdapterClient, answers
from tests.process.adapter.secured import SecuredGateway

REREAD_DEADLINE_SECONDS = 30.0


def mounted(folder: Path, **contents: bytes) -> Path:
    """Files as kubelet mounts a Secret or ConfigMap: links through a link that is swapped."""
    folder.mkdir(exist_ok=True)
    version = folder / f"..version{len(list(folder.iterdir()))}"
    version.mkdir()
    for name, content in contents.items():
        file = name.replace("_", ".")
        (version / file).write_bytes(content)
        if not (folder / file).is_symlink():
            (folder / file).symlink_to(f"..data/{file}")
    (folder / "..new").symlink_to(version.name)
    (folder / "..new").replace(folder / "..data")
    return folder


def pair(keys: KeyPair) -> dict[str, bytes]:
    return {"tls_crt": keys.certificate, "tls_key": keys.key}


def shown_name(port: int) -> str:
    """The common name on the certificate that a server shows."""
    der = ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port)))
    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def test_a_new_serving_certificate_is_shown(quick_adapter, prometheus, tmp_path):
    authority = Authority("serving")
    folder = mounted(tmp_path / "tls", **pair(authority.serving("first")))
    adapter = quick_adapter(
        prometheus.url,
        f"--tls-cert-file={folder / 'tls.crt'}",
        f"--tls-private-key-file={folder / 'tls.key'}",
    )
    assert shown_name(adapter.port) == "CN=first"
    mounted(folder, **pair(authority.serving("second")))
    until(
        lambda: shown_name(adapter.port) == "CN=second",
        what="the new certificate",
        deadline_seconds=REREAD_DEADLINE_SECONDS,
    )


def test_a_new_client_ca_is_trusted_and_the_previous_one_no_longer(
    quick_adapter, prometheus, tmp_path
):
    former, new = Authority("former"), Authority("new")
    folder = mounted(tmp_path / "ca", ca_crt=former.certificate)
    adapter = quick_adapter(prometheus.url, f"--client-ca-file={folder / 'ca.crt'}")

    def status(authority: Authority) -> int | None:
        tls = web.trusting(None)
        keys = authority.client("admin", ("system:masters",))
        tls.load_cert_chain(*keys.write(tmp_path, "admin"))
        answer = web.get(adapter.port, "/metrics", tls=tls)
        return answer.status if answer else None

    assert (status(former), status(new)) == (200, None)
    mounted(folder, ca_crt=new.certificate)
    until(
        lambda: status(new) == 200,
        what="the new authority",
        deadline_seconds=REREAD_DEADLINE_SECONDS,
    )
    assert status(former) == 401


@pytest.fixture
def secured(prometheus, tmp_path) -> Iterator[SecuredGateway]:
    with SecuredGateway(prometheus.url, folder=tmp_path / "gateway", token="one") as listening:
        yield listening


def test_what_prometheus_wants_to_see_and_shows_is_exchanged(
    quick_adapter, secured, token, queue, tmp_path
):
    server_ca, client_ca, next_server_ca, next_client_ca = (
        Authority(f"authority-{n}") for n in range(4)
    )
    secured.become(shows=server_ca, lets_in=client_ca)
    first, second = client_ca.client("first"), next_client_ca.client("second")
    folder = tmp_path / "prometheus"
    mounted(folder, token=b"one\n", ca_crt=server_ca.certificate, **pair(first))
    client = AdapterClient(
        quick_adapter(
            secured.url,
            f"--prometheus-token-file={folder / 'token'}",
            f"--prometheus-ca-file={folder / 'ca.crt'}",
            f"--prometheus-client-tls-cert-file={folder / 'tls.crt'}",
            f"--prometheus-client-tls-key-file={folder / 'tls.key'}",
        ),
        token,
    )
    answers(client, queue, "12")
    assert set(secured.let_in) == {"first"}

    secured.token = "two"
    refused(client, queue, "HTTP 401")
    mounted(folder, token=b"two\n", ca_crt=server_ca.certificate, **pair(first))
    answers(client, queue, "12")

    secured.become(shows=next_server_ca, lets_in=client_ca)
    refused(client, queue, "its certificate is not trusted")
    mounted(folder, token=b"two\n", ca_crt=next_server_ca.certificate, **pair(first))
    answers(client, queue, "12")

    secured.become(shows=next_server_ca, lets_in=next_client_ca)
    refused(client, queue, "")
    mounted(folder, token=b"two\n", ca_crt=next_server_ca.certificate, **pair(second))
    answers(client, queue, "12")
    assert secured.let_in[-1] == "second"
    assert "two" not in json.dumps(client.text("/readyz?verbose"))


def refused(client: AdapterClient, path: str, cause: str) -> None:
    """Wait until the metric cannot be read, and why."""

    def reported() -> str:
        code, document = client.get(path)
        assert code == 500, document
        assert cause in document["message"]
        return document["message"]

    until(reported, what=f"a refusal: {cause}")


def test_a_configmap_that_is_swapped_becomes_active(
    quick_adapter, prometheus, token, queue, tmp_path, config
):
    folder = mounted(tmp_path / "config", config_yaml=CONFIGURATION.encode())
    config.unlink()
    config.symlink_to(folder / "config.yaml")
    client = AdapterClient(quick_adapter(prometheus.url), token)
    answers(client, queue, "12")
    mounted(folder, config_yaml=CONFIGURATION.replace("sum(", "2 * sum(").encode())
    answers(client, queue, "24")


def test_a_backend_whose_token_is_mounted_later_becomes_active_then(
    quick_adapter, prometheus, token, queue, tmp_path, config
):
    client = AdapterClient(quick_adapter(prometheus.url), token)
    answers(client, queue, "12")
    late = tmp_path / "late-token"
    backend = f"backends:\n- {{name: second, url: '{prometheus.url}', tokenFile: {late}}}\n"
    config.write_text(CONFIGURATION.replace("sum(", "2 * sum(") + backend)
    accepted = "loadline_adapter_configuration_last_reload_successful"
    until(lambda: client.metric(accepted) == 0, what="the refusal")
    assert "late-token" in client.text("/readyz?verbose")
    answers(client, queue, "12")
    late.write_text("secret")
    answers(client, queue, "24")
    assert client.metric(accepted) == 1
