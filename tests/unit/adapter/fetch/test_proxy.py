"""Requests to Prometheus through the proxy of the environment, or of the kubeconfig that authenticates to it."""

import asyncio
import contextlib
import ssl

import pytest

from adapter.fetch.credentials import ClusterCredentials
from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from testbed.certificates import Authority
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import CannedServer, raw
from wire.kube.connection import connect as connect_to_cluster
from wire.prometheus.access import FileCredentials, unix_url

PLAN = Plan("up")
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def environ(monkeypatch):
    """An environment without proxies."""
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def kubeconfig(tmp_path):
    """Writes one with these lines for its cluster."""

    def write(cluster: str):
        path = tmp_path / "kubeconfig"
        path.write_text(f"""
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://api.example", {cluster}}}}}]
users: [{{name: u, user: {{token: secret}}}}]
""")
        return path

    return write


async def test_the_proxy_of_the_environment_is_used(server, connect, environ):
    environ.setenv("HTTP_PROXY", server.url)
    await connect(url="http://prometheus-by-proxy.example:9090/p").evaluate(PLAN)
    [request] = server.requested
    assert request.target.startswith(
        "http://prometheus-by-proxy.example:9090/p/api/v1/query?query=up&"
    )


def test_no_proxy_is_used_for_a_host_of_no_proxy(environ):
    environ.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    environ.setenv("NO_PROXY", ".example")
    for host, proxy in (("a.example", None), ("a.other", "http://127.0.0.1:1")):
        assert FileCredentials(Backend(url=f"http://{host}")).route().proxy == proxy


@pytest.mark.deviation("socks-proxies")
async def test_a_proxy_that_is_not_supported_is_named_without_its_password(connect, environ):
    environ.setenv("HTTP_PROXY", "socks5://me:s3cret@127.0.0.1:1")
    with pytest.raises(QueryFailed, match="HTTP_PROXY is a URL with socks5://") as failed:
        await connect(url="http://prometheus.example").evaluate(PLAN)
    assert "s3cret" not in failed.value.cause


async def test_no_proxy_is_used_for_a_unix_socket(connect, environ, tmp_path):
    environ.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with CannedServer().listening_at(tmp_path / "socket") as local:
        await connect(url=unix_url(tmp_path / "socket")).evaluate(PLAN)
    assert len(local.requested) == 1


def test_with_a_ca_file_there_is_no_proxy_as_in_prometheus_adapter(environ, tmp_path):
    environ.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    (tmp_path / "ca.crt").write_bytes(Authority("ca").certificate)
    url = "https://prometheus-with-ca.example"
    with_ca = FileCredentials(Backend(url=url, ca_file=tmp_path / "ca.crt"))
    assert with_ca.route().proxy is None
    assert FileCredentials(Backend(url=url)).route().proxy == "http://127.0.0.1:1"


async def test_a_refusal_of_the_proxy_does_not_show_its_password(server, connect, environ):
    environ.setenv("HTTPS_PROXY", f"http://me:s3cret@{server.address}")
    server.says = raw(b"", "407 Proxy Authentication Required")
    with pytest.raises(QueryFailed) as failed:
        await connect(url="https://prometheus-refused.example").evaluate(PLAN)
    assert (
        failed.value.cause == "https://prometheus-refused.example: "
        "the proxy responded with HTTP 407 Proxy Authentication Required"
    )


async def test_a_proxy_that_cannot_be_reached_is_named(connect, environ):
    environ.setenv("HTTP_PROXY", "http://me:s3cret@127.0.0.1:1")
    with pytest.raises(QueryFailed, match=r"the proxy 127\.0\.0\.1:1: Connection refused$"):
        await connect(url="http://prometheus-unreachable.example").evaluate(PLAN)


async def test_the_proxy_of_the_kubeconfig_has_priority(server, environ, kubeconfig):
    environ.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    path = kubeconfig(f"proxy-url: {server.url}")
    backend = Backend(url="http://prometheus-by-kubeconfig.example")
    identity = await connect_to_cluster(path, user_agent="a/1")
    client = PrometheusClient(backend, ClusterCredentials(identity, FileCredentials(backend)))
    await client.evaluate(PLAN)
    await client.close()
    [request] = server.requested
    assert request.target.startswith("http://prometheus-by-kubeconfig.example/api/v1/query?")
    assert request.headers["Authorization"] == "Bearer secret"


async def test_the_proxy_for_the_api_server_is_not_that_of_prometheus(environ, kubeconfig):
    environ.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    identity = await connect_to_cluster(kubeconfig("tls-server-name: a"), user_agent="a/1")
    files = FileCredentials(Backend(url="http://prometheus-by-http.example"))
    assert ClusterCredentials(identity, files).route().proxy is None


@contextlib.asynccontextmanager
async def listening(authority: Authority, host: str, folder):
    server = CannedServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.serving("prometheus", [host]).write(folder, "server"))
    listener = await asyncio.start_server(server._serve, "127.0.0.1", 0, ssl=context)
    server.url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield server
    listener.close()
    await listener.wait_closed()


@pytest.mark.parametrize(
    ("cluster", "is_trusted"),
    [
        ("certificate-authority: ca.crt, tls-server-name: prometheus.example", True),
        ("certificate-authority: ca.crt, tls-server-name: other.example", False),
        ("certificate-authority: ca.crt", False),
        ("insecure-skip-tls-verify: true", True),
    ],
)
async def test_the_kubeconfig_says_how_the_certificate_is_verified(
    kubeconfig, tmp_path, cluster, is_trusted
):
    authority = Authority("ca")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    async with listening(authority, "prometheus.example", tmp_path) as server:
        backend = Backend(url=server.url, timeout_seconds=DEADLINE_SECONDS)
        identity = await connect_to_cluster(kubeconfig(cluster), user_agent="a/1")
        client = PrometheusClient(backend, ClusterCredentials(identity, FileCredentials(backend)))
        refused = pytest.raises(QueryFailed, match="is not trusted")
        with contextlib.nullcontext() if is_trusted else refused:
            await client.evaluate(PLAN)
        await client.close()
    assert len(server.requested) == is_trusted
