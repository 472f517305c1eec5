"""Hooks of the adapter chart: the check before an upgrade, and `helm test`."""

import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from testbed.certificates import Authority

RATE = {"name": "requests", "describes": "pods", "query": "rate(x[1m])"}
QUEUE = {"name": "queue", "query": "sum(queue)"}


def test_an_upgrade_first_checks_the_configuration_that_it_installs(adapter):
    rendered = adapter.render({"rules": {"metrics": [RATE]}})
    configmap, job = rendered.hook("ConfigMap"), rendered.hook("Job")
    assert configmap["data"] == rendered.one("ConfigMap")["data"]
    assert {m["metadata"]["annotations"]["helm.sh/hook"] for m in (configmap, job)} == {
        "pre-upgrade"
    }
    assert int(configmap["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0
    pod = job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["containers"][0]["args"] == ["check", "/etc/adapter/config.yaml"]
    assert pod["volumes"] == [
        {"name": "config", "configMap": {"name": configmap["metadata"]["name"]}}
    ]


def test_an_existing_configmap_is_not_waited_for_by_tools_that_render_without_a_cluster(adapter):
    """Argo CD runs the check before the sync that creates it. tests/e2e shows that Helm checks one that exists."""
    hooks = adapter.render({"rules": {"existing": "mine"}}).hooks
    assert [hook["kind"] for hook in hooks] == ["Pod"]


def pods_of_hooks(rendered):
    """Metadata and spec of each."""
    templates = [
        hook["spec"]["template"] if hook["kind"] == "Job" else hook
        for hook in rendered.hooks
        if hook["kind"] in {"Job", "Pod"}
    ]
    assert templates
    return [(each["metadata"], each["spec"]) for each in templates]


@pytest.mark.parametrize("length", [57, 63])
def test_names_and_labels_of_hooks_are_not_longer_than_a_label_may_be(chart, length):
    """The Job controller gives the name of a Job to its pods as a label, and makes none for a longer name."""
    long = "x" * length
    rendered = chart.render({"fullnameOverride": long, "nameOverride": long})
    assert {
        hook["metadata"]["name"] for hook in rendered.hooks if len(hook["metadata"]["name"]) > 63
    } == set()
    for metadata, _ in pods_of_hooks(rendered):
        assert {value for value in metadata["labels"].values() if len(value) > 63} == set()
        assert metadata["labels"]["app.kubernetes.io/name"] != long, "no selector matches it"


def test_the_pods_of_hooks_have_the_resources_of_the_program_or_their_own(chart):
    """A ResourceQuota rejects pods without."""
    limited = {"limits": {"cpu": "1", "memory": "256Mi"}}
    for values in ({}, {"resources": limited}):
        rendered = chart.render(values)
        for _, spec in pods_of_hooks(rendered):
            assert spec["containers"][0]["resources"] == rendered.container["resources"]
    for _, spec in pods_of_hooks(chart.render({"hookPods": {"resources": limited}})):
        assert spec["containers"][0]["resources"] == limited


def test_a_service_mesh_adds_no_sidecar_to_the_pods_of_hooks(chart):
    """With one, a Job never ends."""
    for metadata, _ in pods_of_hooks(chart.render({"customAnnotations": {"team": "a"}})):
        assert metadata["labels"]["sidecar.istio.io/inject"] == "false"
        assert metadata["annotations"]["linkerd.io/inject"] == "disabled"
        assert metadata["annotations"]["team"] == "a"
    own = {"hookPods": {"annotations": {"linkerd.io/inject": "enabled", "a": "b"}}}
    for metadata, _ in pods_of_hooks(chart.render(own)):
        assert metadata["annotations"].items() >= own["hookPods"]["annotations"].items()


PLACED = {
    "affinity": {"nodeAffinity": {"a": "b"}},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"operator": "Exists"}],
    "priorityClassName": "high",
}


def test_the_pods_of_hooks_run_where_those_of_the_program_run(chart):
    """A policy, or nodes that only some pods may use, would otherwise keep a release from being upgraded."""
    apart = {"affinity": PLACED["affinity"] | {"podAntiAffinity": {"c": "d"}}}
    for _, spec in pods_of_hooks(chart.render(PLACED | apart)):
        # Otherwise they would wait for a node on which no pod of the program runs.
        assert {name: spec.get(name) for name in PLACED} == PLACED
    for _, spec in pods_of_hooks(chart.render()):
        assert not PLACED.keys() & spec.keys()


def test_the_pods_of_hooks_use_a_given_service_account(chart):
    """It may have the credentials of the registry."""
    for _, spec in pods_of_hooks(
        chart.render({"serviceAccount": {"create": False, "name": "mine"}})
    ):
        assert spec["serviceAccountName"] == "mine"


def test_the_check_before_an_upgrade_does_not_wait_for_a_service_account_of_the_release(adapter):
    """Helm creates and renames it only after the check."""
    job = adapter.render({"serviceAccount": {"name": "new"}}).hook("Job")
    assert "serviceAccountName" not in job["spec"]["template"]["spec"]
    assert job["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


def test_the_check_before_an_upgrade_can_be_disabled(adapter):
    hooks = adapter.render({"checkHook": {"enabled": False}}).hooks
    assert [hook["kind"] for hook in hooks] == ["Pod"]


@pytest.mark.parametrize(
    ("rules", "paths"),
    [
        pytest.param({}, ["/apis/custom.metrics.k8s.io/v1beta2"], id="default rules"),
        pytest.param(
            {"default": False, "metrics": [QUEUE]},
            ["/apis/external.metrics.k8s.io/v1beta1"],
            id="a queue",
        ),
        pytest.param({"default": False}, [], id="no rule"),
    ],
)
def test_helm_test_requests_each_registered_api(adapter, rules, paths):
    pod = adapter.render({"rules": rules}).hook("Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["containers"][0]["args"][1:] == paths


def test_both_charts_test_the_apis_with_the_same_script():
    """Two charts cannot share a file."""
    charts = Path(__file__).parents[3] / "charts"
    adapter, scaler = (
        (charts / name / "files" / "request_paths.py").read_text() for name in ("adapter", "scaler")
    )
    assert adapter == scaler


class Redirecting(BaseHTTPRequestHandler):
    """kube-apiserver in front of an aggregated API server that redirects."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not into the output of the tests."""


def test_the_token_of_the_pod_is_not_sent_to_where_a_response_redirects(tmp_path):
    authority = Authority("cluster")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "token").write_text("secret")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.serving("kube-apiserver").write(tmp_path, "server"))
    script = Path(__file__).parents[3] / "charts/adapter/files/request_paths.py"
    mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [sys.executable, "-c", script.read_text().replace(mounted, str(tmp_path)), "/apis/x"],
            env={
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(server.server_port),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        server.shutdown()
    assert (done.returncode, "/apis/x: status 302" in done.stderr) == (1, True), done.stderr
    assert Redirecting.paths == ["/apis/x"]
