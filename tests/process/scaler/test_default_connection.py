"""A scaler without a setting for the adapter, but for where it is: streamed where it can be, else through kube-apiserver."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.direct_adapter import CUSTOM, EXTERNAL, NAMESPACE, SERVICE, DirectAdapter
from testbed.waiting import until
from tests.process.scaler.test_direct_connection import ANSWERED, CONNECTED, QUICK
from tests.process.scaler.test_streamed_metrics import SENT, STREAMED

READER = "metrics-reader"


@pytest.fixture
def default_scaler(direct_scaler, adapter):
    """With `--adapter-url`, because there is no cluster DNS, and with tokens of a ServiceAccount that may only read metrics."""

    def start(*flags):
        return direct_scaler(
            f"--adapter-url=https://127.0.0.1:{adapter.port}", *flags, account=READER
        )

    return start


def register(cluster: Cluster, adapter: DirectAdapter, *, is_verified: bool) -> None:
    """The external metrics API of the adapter, as with or without a managed certificate."""
    name = apiservices.register(
        cluster,
        EXTERNAL,
        "v1beta1",
        adapter.port,
        ca_bundle=cluster.authority if is_verified else None,
        namespace=NAMESPACE,
        service=SERVICE,
    )
    apiservices.wait_until_available(cluster, name)


@pytest.mark.deviation("direct-metrics", "streamed-metrics", "reaction")
def test_metrics_are_streamed_and_a_change_brings_the_reconcile_forward(default_scaler):
    scaler = default_scaler("--sync-period=20s")
    scaler.reaches("streamed_metrics", 1)
    assert scaler.metric(CONNECTED) == 1
    scaler.set_waiting(40)
    scaler.scales_to(4)
    assert scaler.metric("reconciles_brought_forward_total") >= 1


def test_hpas_are_streamed_and_keep_the_period(direct_scaler, adapter):
    scaler = direct_scaler(
        f"--adapter-url=https://127.0.0.1:{adapter.port}",
        "--watch=horizontalpodautoscalers",
        account=READER,
    )
    scaler.reaches("stream_connected", 1)
    assert "reaction" not in scaler.program.process.log()


def test_while_the_certificate_cannot_be_verified_metrics_are_read_through_kube_apiserver(
    default_scaler, adapter, cluster
):
    scaler = default_scaler(QUICK)
    scaler.reaches(STREAMED, 1)
    register(cluster, adapter, is_verified=False)
    try:
        until(lambda: scaler.metric(CONNECTED) == 1, what="custom metrics stay connected")
        scaler.set_waiting(30)
        scaler.scales_to(3)
        sent = scaler.metric(SENT)
        scaler.reaches(SENT, sent + 3)
        assert "skips the verification" in scaler.program.process.log()
        assert "set its caBundle" in scaler.program.process.log()
    finally:
        register(cluster, adapter, is_verified=True)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 1)


def test_after_the_adapter_was_killed_metrics_are_streamed_again(default_scaler, adapter):
    scaler = default_scaler(QUICK)
    scaler.reaches(STREAMED, 1)
    adapter.process.kill()
    until(lambda: scaler.metric(CONNECTED) == 0, what="the end of the connection")
    log = scaler.program.process.log()
    assert log.count("metrics are read through kube-apiserver, not from Service") == 1
    adapter.restart()
    scaler.set_waiting(50)
    scaler.scales_to(5)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 1)


def test_without_the_right_of_the_reader_metrics_are_read_through_kube_apiserver(default_scaler):
    scaler = default_scaler(QUICK)
    scaler.reaches(STREAMED, 1)
    scaler.allow_metrics(False, READER)
    until(
        lambda: "a direct request was forbidden" in scaler.program.process.log(),
        what="the refusal in the log",
        deadline_seconds=60,
    )
    scaler.set_waiting(60)
    scaler.scales_to(6)
    scaler.allow_metrics(True, READER)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 1)


class ForeignAdapter(ThreadingHTTPServer):
    """An adapter that reviews tokens as ones for kube-apiserver, and records what it receives."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.claims: list[dict[str, object]] = []
        self.served: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has hung up is not an error."""


class _Handler(BaseHTTPRequestHandler):
    server: ForeignAdapter

    def do_GET(self) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        payload = token.split(".")[1] if token.count(".") == 2 else "e30"
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        self.server.claims.append(claims)
        admitted = claims.get("aud") not in (None, [f"{SERVICE}.{NAMESPACE}.svc"])
        value = {"metricName": "waiting", "value": "50", "timestamp": "2026-01-01T00:00:00Z"}
        api = {"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1"}
        body = json.dumps({**api, "metadata": {}, "items": [{**value, "metricLabels": {}}]})
        self.server.served += [self.path] * admitted
        self.send_response(200 if admitted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def foreign_adapter(certificate: tuple[Path, Path]) -> Iterator[ForeignAdapter]:
    """At a port of its own, until the end."""
    with ForeignAdapter() as server:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_another_adapter_is_read_directly_and_receives_only_tokens_that_read_metrics(
    direct_scaler, adapter, cluster
):
    certificate = cluster.serving_certificate(SERVICE, (f"{SERVICE}.{NAMESPACE}.svc",))
    with foreign_adapter(certificate) as foreign:
        url = f"--adapter-url=https://127.0.0.1:{foreign.server_port}"
        scaler = direct_scaler(QUICK, url, account=READER)
        scaler.scales_to(5)
        scaler.reaches(ANSWERED, 3)
        assert scaler.metric("stream_connected") == 0, "it does not offer a stream"
    users = {each.get("sub") for each in foreign.claims}
    assert users == {f"system:serviceaccount:{scaler.namespace}:{READER}"}
    assert foreign.claims[0]["aud"] == [f"{SERVICE}.{NAMESPACE}.svc"], "tried first"
    assert any("/waiting" in path for path in foreign.served)
    assert CUSTOM not in "".join(foreign.served)
