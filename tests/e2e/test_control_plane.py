"""The testbed itself: the other end-to-end tests rely on it."""

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from testbed.access import RequestFailed
from testbed.apiservices import server_name
from testbed.assets import KUBERNETES_VERSIONS, NEWEST_KUBERNETES, chosen_kubernetes
from testbed.cluster import Cluster, KubectlFailed
from testbed.cluster_options import ClusterOptions
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

STUB_GROUP = "stub.loadline.io"


def test_kubernetes_reports_the_chosen_version(cluster):
    versions = json.loads(cluster.kubectl("version", "--output=json"))
    chosen = KUBERNETES_VERSIONS[chosen_kubernetes()]
    assert versions["serverVersion"]["gitVersion"] == chosen
    assert versions["clientVersion"]["gitVersion"] == KUBERNETES_VERSIONS[NEWEST_KUBERNETES]


def config_map(namespace, **fields):
    metadata = {"name": "applied", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def test_what_is_applied_has_only_what_the_last_manifest_says(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/applied"
    cluster.apply(config_map(namespace, data={"a": "1", "b": "2"}))
    cluster.send("PATCH", path, {"data": {"c": "3"}}, content_type="application/merge-patch+json")
    cluster.apply(yaml.safe_dump(config_map(namespace, data={"a": "4"})) + "---\n")
    assert cluster.get(path)["data"] == {"a": "4", "c": "3"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"datum": {}}, "field not declared in schema", id="field"),
        pytest.param({"kind": "ConfigMop"}, "/api/v1 has no kind ConfigMop", id="kind"),
    ],
)
def test_a_manifest_with_an_unknown_name_is_refused(cluster, namespace, change, message):
    with pytest.raises(RequestFailed, match=message):
        cluster.apply(config_map(namespace) | change)


def test_a_deployment_becomes_available_on_the_nodes(cluster, namespace):
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=4", "-n", namespace)
    cluster.kubectl(
        "wait", "--for=condition=Available", "deployment/web", "-n", namespace, "--timeout=60s"
    )
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    assert len(pods) == 4
    assert all(pod["spec"]["nodeName"] for pod in pods)


def test_a_pods_readiness_follows_its_annotation(cluster, namespace):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "slow",
            "namespace": namespace,
            "annotations": {"testbed.loadline.io/ready": "false"},
        },
        "spec": {"containers": [{"name": "main", "image": "main"}]},
    }

    def running_and_ready(expected: str) -> bool:
        status = cluster.get(f"/api/v1/namespaces/{namespace}/pods/slow")["status"]
        assert status["phase"] == "Running"
        ready = next(c["status"] for c in status["conditions"] if c["type"] == "Ready")
        assert ready == expected
        return True

    cluster.apply(pod)
    assert until(lambda: running_and_ready("False"), what="the pod to run")
    annotate = ("annotate", "pod", "slow", "-n", namespace)
    cluster.kubectl(*annotate, "testbed.loadline.io/ready-")
    assert until(lambda: running_and_ready("True"), what="the pod to be ready")
    cluster.kubectl(*annotate, "testbed.loadline.io/ready=false")
    assert until(lambda: running_and_ready("False"), what="the pod to be no longer ready")


class StubAPI(BaseHTTPRequestHandler):
    """Serves minimal discovery for the aggregator, and reports the requesting user."""

    def do_GET(self) -> None:
        body = json.dumps(
            {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{STUB_GROUP}/v1",
                "resources": [],
                "requestedBy": self.headers.get("X-Remote-User"),
                "proxyCertificate": dict(
                    part[0] for part in self.connection.getpeercert().get("subject", ())
                ),
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


@pytest.fixture
def stub_port(cluster) -> Iterator[int]:
    """An HTTPS server that only accepts the aggregator's front-proxy certificate."""
    tls = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=cluster.front_proxy_authority_path
    )
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(*cluster.serving_certificate("stub", [server_name(STUB_GROUP)]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubAPI)
    server.daemon_threads = True
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("verified", [True, False], ids=["certificate verified", "any certificate"])
def test_the_aggregator_reaches_an_api_on_loopback_with_its_certificate(
    cluster, aggregated, stub_port, verified
):
    aggregated(STUB_GROUP, "v1", stub_port, ca_bundle=cluster.authority if verified else None)
    document = cluster.get(f"/apis/{STUB_GROUP}/v1")
    assert document["requestedBy"] == "admin"
    assert document["proxyCertificate"] == {"commonName": "front-proxy-client"}


def test_a_users_kubeconfig_has_that_users_permissions(cluster, namespace):
    kubeconfig = cluster.kubeconfig_for("ann", ["readers"])
    with pytest.raises(KubectlFailed, match='User "ann" cannot list resource "pods"'):
        cluster.kubectl("get", "pods", "-n", namespace, kubeconfig=kubeconfig)
    cluster.kubectl(
        "create", "rolebinding", "readers", "--clusterrole=view", "--group=readers", "-n", namespace
    )
    assert (
        cluster.kubectl("get", "pods", "-n", namespace, "-o", "name", kubeconfig=kubeconfig) == ""
    )


def test_a_service_accounts_kubeconfig_authenticates_as_that_account(cluster, namespace):
    cluster.kubectl("create", "serviceaccount", "robot", "-n", namespace)
    kubeconfig = cluster.kubeconfig_for_service_account(namespace, "robot")
    review = json.loads(cluster.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig))
    assert review["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:robot"


def test_prometheus_serves_the_series_of_the_exporter(prometheus, exporter, namespace):
    exporter.set("queue_length", 12, queue="mail", namespace=namespace)
    exporter.increase("requests_total", 100, namespace=namespace)
    [queue] = prometheus.wait_for(f'queue_length{{namespace="{namespace}"}}')
    assert (queue.value, queue.labels["queue"]) == (12, "mail")
    rate = f'rate(requests_total{{namespace="{namespace}"}}[3s])'

    def rate_is_right() -> bool:
        assert [v.value for v in prometheus.query(rate)] == [pytest.approx(100, rel=0.1)]
        return True

    assert until(rate_is_right, what="three seconds of samples")


def test_prometheus_keeps_its_data_across_a_restart(tmp_path):
    with (
        Exporter() as exporter,
        PrometheusServer(
            PrometheusOptions(scrape_interval_seconds=0.5), directory=tmp_path
        ) as prometheus,
    ):
        prometheus.add_target(exporter.target)
        exporter.set("kept", 1)
        prometheus.wait_for("kept")
        prometheus.remove_target(exporter.target)
        port = prometheus.port
        prometheus.restart()
        assert prometheus.port == port
        assert prometheus.query("last_over_time(kept[5m])")[0].value == 1


def test_the_api_server_comes_back_on_its_port_with_its_objects(tmp_path):
    options = ClusterOptions(controllers=(), scheduler=False, kwok=False)
    with Cluster(options, directory=tmp_path) as own:
        url = own.api_url
        own.create_namespace("kept")
        own.restart_apiserver()
        assert own.api_url == url
        assert own.kubectl("get", "namespace", "kept", "-o", "name") == "namespace/kept\n"
