"""A Prometheus behind a proxy that knows the cluster's identities is shown one of them."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import msgspec
import pytest

from tests.process.adapter.conftest import AdapterClient, answers
from tests.process.adapter.gateway import Gateway


class ProxyGateway(Gateway):
    """Accepts every client, and records its credentials."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.shown: set[str] = set()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway, plain = self, super()._handler()

        class Proxy(plain):  # type: ignore[misc, valid-type]
            def do_GET(self) -> None:  # noqa: N802  the name that http.server calls
                gateway.shown.add(self.headers.get("Authorization", ""))
                super().do_GET()

        return Proxy


@pytest.fixture
def proxy(prometheus) -> Iterator[ProxyGateway]:
    with ProxyGateway(prometheus.url) as listening:
        yield listening


@pytest.fixture
def account(cluster, namespace):
    """A kubeconfig of a ServiceAccount, and the token in it."""
    cluster.kubectl("create", "serviceaccount", "prometheus-reader", "-n", namespace)
    kubeconfig = cluster.kubeconfig_for_service_account(namespace, "prometheus-reader")
    [user] = msgspec.json.decode(kubeconfig.read_bytes())["users"]
    return kubeconfig, user["user"]["token"]


def test_the_token_of_a_kubeconfig_is_shown(quick_adapter, proxy, token, queue, account):
    kubeconfig, shown = account
    client = AdapterClient(
        quick_adapter(proxy.url, f"--prometheus-auth-config={kubeconfig}"), token
    )
    answers(client, queue, "12")
    assert proxy.shown == {f"Bearer {shown}"}


def test_a_token_file_has_priority_over_the_kubeconfig(
    quick_adapter, proxy, token, queue, account, tmp_path
):
    kubeconfig, _ = account
    (tmp_path / "token").write_text("of a file\n")
    flags = (
        f"--prometheus-auth-config={kubeconfig}",
        f"--prometheus-token-file={tmp_path / 'token'}",
    )
    client = AdapterClient(quick_adapter(proxy.url, *flags), token)
    answers(client, queue, "12")
    assert proxy.shown == {"Bearer of a file"}


def test_outside_a_cluster_there_is_no_service_account(loadline_process, cluster, config, proxy):
    running = loadline_process(
        "adapter",
        f"--config={config}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={proxy.url}",
        "--prometheus-auth-incluster",
        wait=False,
    )
    assert running.process.wait(20) == 2
    assert "Traceback" not in running.process.log()
