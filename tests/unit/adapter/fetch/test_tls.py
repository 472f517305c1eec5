"""TLS with a backend: CA and client certificate, and both replaced while running."""

import asyncio
import contextlib
import ssl

import pytest

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from testbed.certificates import Authority
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import CannedServer
from wire.prometheus.access import FileCredentials

PLAN = Plan("up")


class TLSServer(CannedServer):
    """Demands a certificate of `clients` and shows one of `authority`; remembers who came."""

    def __init__(self, authority: Authority, clients: Authority, folder) -> None:
        super().__init__()
        pair = authority.serving("prometheus")
        self.certificate = pair.certificate
        certificate, key = pair.write(folder, "server")
        self.context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cadata=clients.certificate.decode()
        )
        self.context.load_cert_chain(certificate, key)
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.came: list[str] = []

    async def _serve(self, reader, writer) -> None:
        certificate = writer.get_extra_info("peercert")
        self.came.append(dict(pair for (pair,) in certificate["subject"])["commonName"])
        await super()._serve(reader, writer)

    @contextlib.asynccontextmanager
    async def listening(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()
        await server.wait_closed()


@pytest.fixture
def authority():
    return Authority("prometheus-ca")


@pytest.fixture
async def server(authority, tmp_path):
    (tmp_path / "server").mkdir()
    async with TLSServer(authority, authority, tmp_path / "server").listening() as listening:
        yield listening


@pytest.fixture
def files(authority, tmp_path):
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    authority.client("first").write(tmp_path, "client")
    return tmp_path


@pytest.fixture
async def connect(server):
    clients = []

    def connected(**settings: object) -> PrometheusClient:
        backend = Backend(**{"url": server.url, "timeout_seconds": DEADLINE_SECONDS, **settings})
        clients.append(PrometheusClient(backend, FileCredentials(backend)))
        return clients[-1]

    yield connected
    for client in clients:
        await client.close()


def identity(files) -> dict[str, object]:
    return {"client_cert_file": files / "client.crt", "client_key_file": files / "client.key"}


async def test_a_certificate_is_shown_and_a_new_one_without_a_restart(
    server, connect, files, authority
):
    client = connect(ca_file=files / "ca.crt", **identity(files))
    await client.evaluate(PLAN)
    authority.client("second").write(files, "client")
    await client.evaluate(PLAN)
    assert server.came == ["first", "second"]


async def test_while_certificate_and_key_do_not_match_the_former_pair_serves(
    server, connect, files, authority
):
    client = connect(ca_file=files / "ca.crt", **identity(files))
    await client.evaluate(PLAN)
    (files / "client.key").write_bytes(authority.client("second").key)
    await client.evaluate(PLAN)
    assert server.came == ["first", "first"]


async def test_a_server_of_another_authority_is_not_trusted(server, connect, files):
    (files / "ca.crt").write_bytes(Authority("someone-else").certificate)
    with pytest.raises(QueryFailed, match="its certificate is not trusted"):
        await connect(ca_file=files / "ca.crt", **identity(files)).evaluate(PLAN)
    assert server.came == []


async def test_an_authority_that_is_exchanged_is_trusted_at_once(server, connect, files, authority):
    (files / "ca.crt").write_bytes(Authority("someone-else").certificate)
    client = connect(ca_file=files / "ca.crt", **identity(files))
    with pytest.raises(QueryFailed):
        await client.evaluate(PLAN)
    (files / "ca.crt").write_bytes(authority.certificate)
    await client.evaluate(PLAN)
    assert server.came == ["first"]


async def test_without_a_certificate_a_server_that_wants_one_is_a_failure(connect, files):
    with pytest.raises(QueryFailed):
        await connect(ca_file=files / "ca.crt").evaluate(PLAN)


@pytest.mark.deviation("client-certificate-without-ca")
async def test_a_client_certificate_needs_no_ca_file(
    server, connect, files, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(files / "ca.crt"))
    await connect(**identity(files)).evaluate(PLAN)
    assert server.came == ["first"]


@pytest.mark.parametrize(
    "comment", ["# Főtanúsítvány\n".encode(), "# AC Cámerfirma\n".encode("latin-1")]
)
async def test_comments_in_a_ca_file_may_be_in_any_encoding(
    server, connect, files, authority, comment
):
    (files / "ca.crt").write_bytes(comment + authority.certificate)
    await connect(ca_file=files / "ca.crt", **identity(files)).evaluate(PLAN)
    assert server.came == ["first"]


async def test_the_own_certificate_of_the_server_is_trusted(server, connect, files):
    (files / "ca.crt").write_bytes(server.certificate)
    await connect(ca_file=files / "ca.crt", **identity(files)).evaluate(PLAN)
    assert server.came == ["first"]


async def test_an_intermediate_authority_is_trusted_without_its_root(
    connect, files, authority, tmp_path
):
    intermediate = Authority("intermediate", issuer=authority)
    (files / "ca.crt").write_bytes(intermediate.certificate)
    async with TLSServer(intermediate, authority, tmp_path).listening() as server:
        client = connect(url=server.url, ca_file=files / "ca.crt", **identity(files))
        await client.evaluate(PLAN)
    assert server.came == ["first"]


def test_a_ca_file_without_a_certificate_is_found_at_the_start(files):
    (files / "ca.crt").write_text("no certificate")
    with pytest.raises(ssl.SSLError, match=r"ca\.crt: no certificate in PEM could be read"):
        FileCredentials(Backend(url="https://127.0.0.1:9", ca_file=files / "ca.crt")).check()


def test_clients_share_the_certificates_of_the_system_unless_they_have_their_own(files):
    def context(**settings: object) -> ssl.SSLContext:
        return FileCredentials(Backend(url="https://prometheus.test", **settings)).tls()

    assert context() is context()
    own = [context(**identity(files)), context(ca_file=files / "ca.crt"), context()]
    assert len({id(each) for each in own}) == 3
