"""`kubectl loadline` on a cluster with both charts: found, verified by their certificates, and reached by a real port-forward.

kubectl runs the plugin as it runs any other. kwok takes the place of the kubelet, and forwards the ports of the pods to
the programs, which run as local processes with the permissions of their charts.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from testbed import apiservices, web
from testbed.certificates import Authority
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.helm import Helm
from testbed.processes import start
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.documented_blocks import commands_with_output
from tests.e2e.cluster_shell import cluster_shell
from tests.shell import Shell

NAMESPACE = "loadline-system"
SHOP = "shop"
METRICS = [{"name": "plugin_queue", "query": "sum by (namespace) (plugin_queue)"}]


class Plugin(msgspec.Struct, frozen=True):
    """`kubectl loadline` for one user."""

    cluster: Cluster
    path: str
    kubeconfig: Path

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What is printed, stderr after stdout; the exit code must be `code`."""
        done = subprocess.run(
            [self.cluster.kubectl_path, "loadline", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env={
                "PATH": self.path,
                "KUBECONFIG": str(self.kubeconfig),
                "PYTHONPATH": str(Path.cwd()),
            },
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def cluster(forwarding_cluster: Cluster) -> Cluster:
    return forwarding_cluster


@pytest.fixture(scope="module")
def installed(
    cluster: Cluster, exporter: Exporter, prometheus: PrometheusServer, tmp_path_factory
) -> Iterator[Cluster]:
    """Both charts, a Deployment `web` with a LoadAutoscaler, and a queue of 40."""
    local = dict(cluster.options.forwarded_ports)
    for name in (NAMESPACE, SHOP):
        cluster.create_namespace(name)
    exporter.set("plugin_queue", 40, namespace=SHOP)
    prometheus.wait_for(f'plugin_queue{{namespace="{SHOP}"}} == 40')
    helm = Helm(cluster, NAMESPACE)
    values = {
        "service": {"type": "ExternalName", "externalName": "localhost", "port": local[6443]},
        "tls": {"generate": True},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
        "rules": {"default": False, "metrics": METRICS},
    }
    helm.install("adapter", release="a", values=values)
    helm.install("scaler", release="s", values={"syncPeriod": "1s"})
    place = {"namespace": NAMESPACE, "directory": tmp_path_factory.mktemp("installed")}
    with (
        start_chart_program(cluster, "adapter", release="a", port=local[6443], **place),
        start_chart_program(cluster, "scaler", release="s", port=local[10443], **place),
    ):
        apiservices.wait_until_available(cluster, "v1beta1.external.metrics.k8s.io")
        _create_web(cluster)
        yield cluster


def _create_web(cluster: Cluster) -> None:
    cluster.kubectl("create", "deployment", "web", "--image=web", f"-n{SHOP}")
    external = {
        "metric": {"name": "plugin_queue", "selector": {"matchLabels": {"namespace": SHOP}}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metrics = [{"type": "External", "external": external}]
    cluster.apply(
        {
            "apiVersion": "loadline.io/v1beta1",
            "kind": "LoadAutoscaler",
            "metadata": {"name": "web", "namespace": SHOP},
            "spec": {"scaleTargetRef": deployment, "maxReplicas": 9, "metrics": metrics},
        }
    )

    def scaled() -> bool:
        path = f"/apis/loadline.io/v1beta1/namespaces/{SHOP}/loadautoscalers/web"
        decision = cluster.get(path).get("status", {}).get("decision", {})
        return str(decision.get("summary", "")).startswith("stays at 4 replicas")

    until(scaled, what="four replicas")
    for deployment in ("a-loadline-adapter", "s-loadline-scaler"):
        cluster.kubectl("rollout", "status", f"deployment/{deployment}", f"-n{NAMESPACE}")


@pytest.fixture
def loadline(installed: Cluster) -> Plugin:
    """As the administrator of the cluster."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return Plugin(installed, path, installed.kubeconfig)


def test_why_needs_nothing_but_the_name(loadline):
    assert "shop/web stays at 4 replicas." in loadline("why", "web", "-n", SHOP)
    document = json.loads(loadline("why", "la/web", "-n", SHOP, "-o", "json"))
    assert document["desired_replicas"] == 4


def test_explain_shows_the_query_of_each_metric(loadline):
    printed = loadline("explain", "la/web", "-n", SHOP)
    assert "plugin_queue" in printed
    assert "= 40" in printed


def test_simulate_decides_with_another_value(loadline):
    printed = loadline("simulate", "web", "-n", SHOP, "--metric=plugin_queue=65")
    assert "shop/web goes from 4 to 7 replicas." in printed


def _decoy(program: str) -> dict:
    """A Deployment that any team could create: with the labels of the chart, and the command of the program."""
    labels = {"app.kubernetes.io/part-of": "loadline", "app": "decoy"}
    container = {"name": "main", "image": "main", "command": [f"loadline-{program}"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"decoy-{program}", "namespace": SHOP, "labels": labels},
        "spec": {"selector": {"matchLabels": {"app": "decoy"}}, "template": template},
    }


def test_another_deployment_with_the_labels_of_the_charts_changes_nothing(loadline, installed):
    installed.apply(_decoy("scaler"), _decoy("adapter"))
    assert "shop/web stays at 4 replicas." in loadline("why", "web", "-n", SHOP)
    assert "plugin_queue" in loadline("explain", "la/web", "-n", SHOP)
    installed.kubectl("delete", "deployment", "decoy-scaler", "decoy-adapter", f"-n{SHOP}")


@pytest.fixture
def shell(installed: Cluster, tmp_path: Path) -> Shell:
    """Of a user with other names than in the documents."""
    names = {
        "kubectl get la": f"kubectl -n {SHOP} get la",
        "-n monitoring": f"-n {NAMESPACE}",
        "queue_length": "plugin_queue",
        "shop/worker": f"{SHOP}/web",
    }
    return cluster_shell(installed, tmp_path, replacements=names)


def test_the_commands_in_the_documents_run(shell, documented_block):
    if documented_block.language == "sh":
        assert shell.run(documented_block.text)
        return
    for command, shown in commands_with_output(documented_block.text):
        printed = shell.run(command)
        if shown.startswith("NAME "):
            assert printed.splitlines()[0].split() == shown.splitlines()[0].split()


def test_no_credentials_are_sent_to_a_scaler_with_another_certificate(loadline, installed):
    """The certificate that is published is not the one that is served, as if another program ran in the pod."""
    other = Authority("other").serving("scaler").certificate.decode()
    patch = json.dumps({"data": {"ca.crt": other}})
    config_map = ("configmap", "s-loadline-scaler-serving-certificates", f"-n{NAMESPACE}")
    why = ("why", "la/web", "-n", SHOP)

    def is_refused() -> bool:
        """The scaler, which publishes its own certificate once a minute, may do so in between."""
        installed.kubectl("patch", *config_map, "--type=merge", f"--patch={patch}")
        return "certificate verify failed" in loadline(*why, code=1)

    until(is_refused, what="the refusal of another certificate", deadline_seconds=60)
    assert "stays at 4" in loadline(*why, "--insecure-skip-tls-verify").splitlines()[0]
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/s-loadline-scaler-serving-certificates"

    def is_published() -> bool:
        """The scaler publishes its own again within a minute."""
        return installed.get(path)["data"]["ca.crt"] != other

    until(is_published, what="the certificate", deadline_seconds=90)
    assert "stays at 4" in loadline(*why)


def test_no_credentials_are_sent_to_an_adapter_that_kube_apiserver_does_not_verify(
    loadline, installed
):
    name = "v1beta1.external.metrics.k8s.io"
    bundle = installed.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")["spec"][
        "caBundle"
    ]

    def patch(**spec: object) -> None:
        body = json.dumps({"spec": spec})
        installed.kubectl("patch", "apiservice", name, "--type=merge", f"--patch={body}")

    patch(caBundle=None, insecureSkipTLSVerify=True)
    explain = ("explain", "la/web", "-n", SHOP)
    assert f"APIService {name} has no caBundle" in loadline(*explain, code=1)
    assert "plugin_queue" in loadline(*explain, "--insecure-skip-tls-verify")
    patch(caBundle=bundle, insecureSkipTLSVerify=False)
    assert "plugin_queue" in loadline(*explain)


def test_check_tries_the_configuration_that_is_running(loadline):
    assert "plugin_queue" in loadline("check")


def test_status_lists_what_every_autoscaler_wants(loadline):
    lines = loadline("status", "-A").splitlines()
    assert lines[0].split()[:4] == ["NAMESPACE", "NAME", "TARGET", "MIN"]
    assert " ".join(lines[1].split()[:7]) == "shop la/web Deployment/web 1 9 4 4"
    [row] = json.loads(loadline("status", "-A", "-o", "json"))["autoscalers"]
    assert (row["current"], row["desired"]) == (4, 4)


def test_status_of_a_dry_run_compares_it_with_what_was(loadline, exporter, prometheus):
    """The counts are those of the scaler's metrics, as they are when Prometheus scrapes it from another namespace."""
    spec = {"maxReplicas": 9, "mode": "DryRun"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}
    loadline.cluster.apply(
        {
            "apiVersion": "loadline.io/v1beta1",
            "kind": "LoadAutoscaler",
            "metadata": {"name": "api", "namespace": SHOP},
            "spec": {**spec, "scaleTargetRef": target},
        }
    )
    labels = {"exported_namespace": SHOP, "name": "api", "kind": "LoadAutoscaler"}
    assert "No history: Prometheus has neither" in loadline("status", "api", "-n", SHOP)
    for which, count in (("current", 6), ("desired", 4)):
        exporter.set(f"loadline_scaler_autoscaler_status_{which}_replicas", count, **labels)
    prometheus.wait_for("loadline_scaler_autoscaler_status_desired_replicas")
    prometheus.wait_for("loadline_scaler_autoscaler_status_current_replicas")
    document = json.loads(loadline("status", "la/api", "-n", SHOP, "--since=5m", "-o", "json"))
    found = document["dry_run"]["comparison"]
    assert found["excess_minutes"] > 0
    assert found["short_minutes"] == 0
    assert found["desired_replica_hours"] / found["actual_replica_hours"] == pytest.approx(4 / 6)


def test_backtest_finds_prometheus_and_the_queries_of_the_adapter(loadline, tmp_path, prometheus):
    prometheus.wait_for('count_over_time(plugin_queue{namespace="shop"}[30s]) > 15')
    place = ("-n", SHOP, "--since=15s", "--step=1s", f"--cache={tmp_path}")
    printed = loadline("backtest", "la/web", *place, "--kind=plugin_queue=load", "-o", "json")
    document = json.loads(printed)
    assert 'plugin_queue{namespace="shop"}' in document["sources"]["plugin_queue"]
    assert document["decisions"] >= 10
    refused = loadline("backtest", "la/web", *place, code=1)
    assert "plugin_queue is a queue, and no series has the number of ready replicas" in refused


@pytest.fixture(scope="module")
def on_call(installed: Cluster) -> Plugin:
    """A user without any right yet."""
    installed.kubectl("create", "serviceaccount", "on-call", f"-n{SHOP}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return Plugin(installed, path, installed.kubeconfig_for_service_account(SHOP, "on-call"))


def _grant(cluster: Cluster, name: str, rules: list[dict]) -> None:
    """A cluster role for the user on call."""
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": "on-call", "namespace": SHOP}
    metadata = {"metadata": {"name": name}}
    api = {"apiVersion": f"{group}/v1"}
    cluster.apply({**api, "kind": "ClusterRole", **metadata, "rules": rules})
    binding = {"roleRef": role, "subjects": [subject]}
    cluster.apply({**api, "kind": "ClusterRoleBinding", **metadata, **binding})


def _rule(group: str, resource: str, verbs: str) -> dict:
    return {"apiGroups": [group], "resources": [resource], "verbs": verbs.split(",")}


def test_each_refusal_names_the_right_that_is_missing(on_call, installed):
    """Until the user has exactly the rights of docs/kubectl-plugin.md."""
    why = ("why", "la/web", "-n", SHOP)
    assert "cannot get resource" in on_call(*why, code=1)

    _grant(installed, "on-call-get", [_rule("loadline.io", "loadautoscalers", "get,list")])
    printed = on_call(*why, code=1)
    assert "Name its Deployment with --scaler=NAMESPACE/NAME" in printed
    assert "From its status: shop/web stays at 4 replicas" in printed

    _grant(installed, "on-call-find", [_rule("apps", "deployments", "get,list")])
    assert "--scaler=loadline-system/s-loadline-scaler" in on_call(*why, code=1)

    why = (*why, "--scaler=loadline-system/s-loadline-scaler")
    certificates = "loadline-system/s-loadline-scaler-serving-certificates"
    assert f"You need permission to get the ConfigMap {certificates}" in on_call(*why, code=1)

    _grant(installed, "on-call-verify", [_rule("", "configmaps", "get")])
    assert "You need permission to list pods in the namespace loadline-system" in on_call(
        *why, code=1
    )

    _grant(installed, "on-call-pods", [_rule("", "pods", "list")])
    printed = on_call(*why, code=1)
    assert "cannot reach the Deployment loadline-system/s-loadline-scaler" in printed
    assert "get and create pods/portforward in the namespace loadline-system" in printed

    _grant(installed, "on-call-reach", [_rule("", "pods/portforward", "get,create")])
    assert "the nonResourceURL /debug/decisions/*" in on_call(*why, code=1)

    rules = [{"nonResourceURLs": ["/debug/decisions/*"], "verbs": ["get"]}]
    _grant(installed, "on-call-decisions", rules)
    # The scaler caches for some seconds that a request was denied.
    until(
        lambda: "shop/web stays at 4 replicas." in on_call(*why, code=0),
        what="the decision",
        every_seconds=2.0,
    )


def test_the_page_has_the_decision_of_the_running_scaler(loadline, tmp_path):
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nfile="${{1#file://}}"\n(echo "$@"; stat -c %a "$file"; cat "$file") >{seen}\n'
    )
    browser.chmod(0o755)
    environment = {
        "KUBECONFIG": str(loadline.kubeconfig),
        "PATH": loadline.path,
        "BROWSER": str(browser),
    }
    command = [loadline.cluster.kubectl_path, "loadline", "ui"]
    with start("ui", command, log_path=tmp_path / "ui.log", environment=environment) as process:
        process.wait_until(lambda: "http://127.0.0.1:" in process.log(), what="the address")
        address = urlsplit(process.log().split()[-1])
        process.wait_until(lambda: seen.exists() and "<a" in seen.read_text(), what="the browser")
        command_line, mode, text = seen.read_text().split("\n", 2)
        assert address.path not in command_line, "every user of the machine sees command lines"
        assert (mode, address.geturl() in text) == ("600", True)

        def get(path: str) -> str:
            response = web.get(int(address.port or 0), f"{address.path}{path}")
            assert response is not None
            assert response.status == 200, response.text
            return response.text

        assert f"{SHOP}/web" in get("")
        decision = get(f"la/{SHOP}/web/decision")
        assert "by the Deployment loadline-system/s-loadline-scaler." in decision
        assert 'name="value.plugin_queue"' in decision
        what_if = get(f"la/{SHOP}/web/what-if?value.plugin_queue=65000")
        assert "Goes from 4 to 7 replicas." in what_if
        # It scrapes no metrics of the scaler here.
        assert "Prometheus has no metrics of the scaler for it." in get(f"la/{SHOP}/web/series")


def test_kubectl_completes_the_names_of_autoscalers(loadline):
    done = subprocess.run(
        [loadline.cluster.kubectl_path, "__complete", "loadline", "why", "-n", SHOP, "w"],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": loadline.path, "KUBECONFIG": str(loadline.kubeconfig)},
    )
    assert done.stdout.split() == ["web", ":4"]
