"""A client certificate that was renewed on disk is used at once: a server refuses requests on a connection whose certificate expired."""

import asyncio
import ssl
from contextlib import aclosing

import pytest
from cryptography import x509

from testbed.certificates import Authority
from tests.fakes.clock import FakeClock
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection


class Server:
    """Answers each request with the serial number of the client certificate of its connection, and never ends a watch."""

    def __init__(self) -> None:
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        certificate = writer.get_extra_info("ssl_object").getpeercert(True)
        body = str(x509.load_der_x509_certificate(certificate).serial_number).encode() + b"\n"
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = b"" if b"watch=true" in head else b"Content-Length: %d\r\n" % len(body)
                writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class Files:
    """A server, and the files of its client."""

    def __init__(self, folder) -> None:
        self.folder, self.authority, self.server = folder, Authority("test"), Server()
        (folder / "ca.crt").write_bytes(self.authority.certificate)
        self.authority.serving("server").write(folder, "server")
        self.clock, self.address = FakeClock(), ""
        self.serial = self.renew()

    def renew(self) -> str:
        pair = self.authority.client("me")
        pair.write(self.folder, "me")
        return str(x509.load_pem_x509_certificate(pair.certificate).serial_number)

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(
            server=self.address,
            ca_file=str(self.folder / "ca.crt"),
            client_certificate_file=str(self.folder / "me.crt"),
            client_key_file=str(self.folder / "me.key"),
        )


@pytest.fixture
async def files(tmp_path):
    made = Files(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.crt"))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    listening = await asyncio.start_server(made.server, "127.0.0.1", 0, ssl=tls)
    made.address = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()


@pytest.fixture
async def client(files):
    made = KubeClient(
        Connection(files, await files.read(), user_agent="a/1", monotonic=files.clock)
    )
    yield made
    await made.close()


async def presented(client: KubeClient) -> str:
    return (await client.get("/")).decode().strip()


async def test_a_request_after_the_renewal_is_sent_with_the_new_certificate(files, client):
    assert await presented(client) == files.serial
    renewed = files.renew()
    files.clock.seconds = 61
    assert await presented(client) == renewed
    assert await presented(client) == renewed
    assert files.server.connections == 2


async def test_a_watch_after_the_renewal_too_and_an_open_one_goes_on(files, client):
    async with aclosing(client.watch("/")) as first:
        assert (await anext(first)).decode() == files.serial
        renewed = files.renew()
        files.clock.seconds = 61
        async with aclosing(client.watch("/")) as second:
            assert (await anext(second)).decode() == renewed
        waiting = asyncio.ensure_future(anext(first))
        await presented(client)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_an_unchanged_certificate_keeps_its_connections(files, client):
    await presented(client)
    files.clock.seconds = 61
    await presented(client)
    assert files.server.connections == 1


async def test_half_a_renewal_leaves_the_previous_certificate_in_use(files, client):
    key = (files.folder / "me.key").read_bytes()
    await presented(client)
    renewed = files.renew()
    new_key = (files.folder / "me.key").read_bytes()
    (files.folder / "me.key").write_bytes(key)
    files.clock.seconds = 61
    assert await presented(client) == files.serial
    (files.folder / "me.key").write_bytes(new_key)
    files.clock.seconds = 122
    assert await presented(client) == renewed
