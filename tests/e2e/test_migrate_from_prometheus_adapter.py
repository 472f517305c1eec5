"""The steps of docs/migrate-from-prometheus-adapter.md, from the real prometheus-adapter, with its chart's permissions, to Loadline's adapter."""

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices, assets, ports, web
from testbed.cluster import Cluster, KubectlFailed
from testbed.processes import Process, start
from testbed.programs import start_program
from testbed.waiting import until

NAMES = r"""tr '{' '\n' | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' | sort"""
DOCUMENT = Path(__file__).parents[2] / "docs" / "migrate-from-prometheus-adapter.md"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1"
CONFIGURATION = """
rules:
- seriesQuery: 'moved_load{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'moved_hits_total{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  name: {matches: '^(.*)_total$', as: '${1}_sum'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
"""
RBAC = "rbac.authorization.k8s.io"


def prometheus_adapter_chart_roles(namespace: str) -> list[dict]:
    """The permissions of prometheus-community's chart: two delegations, and read access to four kinds of objects."""
    subject = {"kind": "ServiceAccount", "name": "prometheus-adapter", "namespace": namespace}
    read = {
        "apiGroups": [""],
        "resources": ["namespaces", "pods", "services", "configmaps"],
        "verbs": ["get", "list", "watch"],
    }

    def bound(kind: str, name: str, to: str, in_namespace: dict) -> dict:
        reference = {"apiGroup": RBAC, "kind": kind.removesuffix("Binding"), "name": to}
        metadata = {"name": f"{namespace}-{name}", **in_namespace}
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": kind,
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        }

    reader = f"{namespace}-resource-reader"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "prometheus-adapter", "namespace": namespace}},
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": reader}, "rules": [read]},
        bound("ClusterRoleBinding", "resource-reader", reader, {}),
        bound("ClusterRoleBinding", "auth-delegator", "system:auth-delegator", {}),
        bound("RoleBinding", "auth-reader", "extension-apiserver-authentication-reader", {"namespace": "kube-system"}),
    ]  # fmt: skip


class Release:
    """The Deployment of prometheus-adapter's chart, with a local process in place of its pod."""

    def __init__(self, cluster: Cluster, namespace: str, prometheus_url: str, folder: Path) -> None:
        self.cluster, self.namespace, self.folder, self.port = (
            cluster,
            namespace,
            folder,
            ports.reserve(),
        )
        self.arguments = [
            "/adapter", f"--secure-port={self.port}", f"--cert-dir={folder}/cert", f"--prometheus-url={prometheus_url}",
            "--metrics-relist-interval=1s", "--v=4", f"--config={folder}/config.yaml",
        ]  # fmt: skip
        self.started: list[Process] = []
        (folder / "config.yaml").write_text(CONFIGURATION)
        cluster.apply(*prometheus_adapter_chart_roles(namespace))
        self.kubeconfig = cluster.kubeconfig_for_service_account(namespace, "prometheus-adapter")
        cluster.kubectl(
            "create",
            "configmap",
            "prometheus-adapter",
            f"-n{namespace}",
            f"--from-file={folder}/config.yaml",
        )
        container = {
            "name": "prometheus-adapter",
            "image": "prometheus-adapter:v0.12.0",
            "args": self.arguments,
        }
        labels = {"app": "prometheus-adapter"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": "prometheus-adapter", "namespace": namespace}
        cluster.apply(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        )

    def start_prometheus_adapter(self):
        """Run prometheus-adapter as its container would, with kubeconfigs in place of the mounted token."""
        kubeconfigs = [
            f"--{use}-kubeconfig={self.kubeconfig}"
            for use in ("lister", "authentication", "authorization")
        ]
        command = [
            assets.find("prometheus-adapter"),
            *self.arguments[1:],
            *kubeconfigs,
            "--bind-address=127.0.0.1",
        ]
        process = start(
            "prometheus-adapter", command, log_path=self.folder / "prometheus-adapter.log"
        )
        self.started.append(process)
        process.wait_until(
            lambda: web.is_ok(self.port, "/readyz", tls=web.trusting(None)), what="/readyz"
        )
        return process

    def start_loadline(self):
        """Run Loadline's adapter with the arguments in the Deployment and no others."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/prometheus-adapter"
        [container] = self.cluster.get(path)["spec"]["template"]["spec"]["containers"]
        assert "loadline" in container["image"]
        running = start_program(
            "adapter",
            *container["args"],
            log_directory=self.folder,
            port=self.port,
            environment={"KUBECONFIG": str(self.kubeconfig)},
        )
        self.started.append(running.process)
        return running

    def names(self) -> str:
        """The output of the document's command; fails while the adapter does not trust the aggregator yet."""
        try:
            listed = self.cluster.kubectl("get", "--raw", CUSTOM)
        except KubectlFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        done = subprocess.run(
            NAMES, shell=True, input=listed, capture_output=True, text=True, check=True
        )
        return done.stdout

    def loads(self) -> dict[str, str]:
        path = f"{CUSTOM}/namespaces/{self.namespace}/pods/%2A/moved_load"
        items = msgspec.json.decode(self.cluster.kubectl("get", "--raw", path))["items"]
        return {item["describedObject"]["name"]: item["value"] for item in items}


@pytest.fixture
def release(cluster: Cluster, exporter, prometheus, tmp_path: Path) -> Iterator[Release]:
    namespace = f"moved-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", namespace)
    for name, value in (("web-1", 1.5), ("web-2", 3)):
        pod = {"containers": [{"name": "main", "image": "main"}]}
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": namespace},
                "spec": pod,
            }
        )
        exporter.set("moved_load", value, namespace=namespace, pod=name)
        exporter.set("moved_hits_total", value, namespace=namespace, pod=name)
    prometheus.wait_for(f'count(moved_hits_total{{namespace="{namespace}"}}) == 2')
    moved = Release(cluster, namespace, prometheus.url, tmp_path)
    yield moved
    apiservices.unregister(cluster, "v1beta1.custom.metrics.k8s.io")
    for process in moved.started:
        process.stop()
    for series in ("moved_load", "moved_hits_total"):
        exporter.remove(series, namespace=namespace)
    for kind in ("clusterrole", "clusterrolebinding"):
        for name in ("resource-reader", "auth-delegator"):
            cluster.kubectl("delete", kind, f"{namespace}-{name}", "--ignore-not-found")
    cluster.kubectl("delete", "rolebinding", f"{namespace}-auth-reader", "-nkube-system")
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def test_the_image_is_changed_and_rolled_back(release, cluster, prometheus, tmp_path):
    in_namespace = f"-n{release.namespace}"
    prometheus_adapter = release.start_prometheus_adapter()
    apiservice = apiservices.register(cluster, "custom.metrics.k8s.io", "v1beta1", release.port)
    apiservices.wait_until_available(cluster, apiservice)
    until(lambda: "moved_hits_sum" in release.names(), what="prometheus-adapter's list of metrics")
    names_before, loads_before = release.names(), release.loads()
    assert loads_before == {"web-1": "1500m", "web-2": "3"}

    text = cluster.kubectl(
        "get", "configmap", "prometheus-adapter", in_namespace, r"-ojsonpath={.data.config\.yaml}"
    )
    (tmp_path / "saved.yaml").write_text(text)
    check = [
        sys.executable,
        "-m",
        "adapter",
        "check",
        str(tmp_path / "saved.yaml"),
        f"--prometheus-url={prometheus.url}",
        f"--kubeconfig={cluster.kubeconfig}",
    ]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked
    assert "rules[1]: yields" in checked.stdout

    cluster.kubectl(
        "set",
        "image",
        "deployment/prometheus-adapter",
        "prometheus-adapter=example.test/loadline-autoscaler:0.1.0",
        in_namespace,
    )
    cluster.kubectl(
        "rollout", "status", "deployment/prometheus-adapter", in_namespace, "--timeout=60s"
    )
    prometheus_adapter.stop()
    loadline = release.start_loadline()
    apiservices.wait_until_available(cluster, apiservice)
    until(lambda: release.names() == names_before, what="the same list of metrics")
    assert release.loads() == loads_before
    assert "forbidden" not in loadline.process.log().lower()
    assert "Traceback" not in loadline.process.log()

    cluster.kubectl("rollout", "undo", "deployment/prometheus-adapter", in_namespace)
    path = f"/apis/apps/v1/namespaces/{release.namespace}/deployments/prometheus-adapter"
    assert (
        cluster.get(path)["spec"]["template"]["spec"]["containers"][0]["image"]
        == "prometheus-adapter:v0.12.0"
    )
    loadline.process.stop()
    release.start_prometheus_adapter()
    until(lambda: release.names() == names_before, what="prometheus-adapter's list again")
    assert release.loads() == loads_before


def test_the_document_has_the_commands_that_were_run():
    text = DOCUMENT.read_text()
    assert text.count(NAMES) == 4
    for command in (
        "kubectl -n monitoring set image",
        "rollout undo",
        "rollout status",
        r"jsonpath='{.data.config\.yaml}'",
        "loadline-adapter check config.yaml --prometheus-url",
    ):
        assert command in text


def test_every_link_of_the_document_has_a_target():
    for file, anchor in re.findall(r"\]\(([\w.-]+\.md)(?:#([\w-]+))?\)", DOCUMENT.read_text()):
        text = (DOCUMENT.parent / file).read_text()
        titles = {
            re.sub(r"[^\w\s-]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
            for line in text.splitlines()
            if line.startswith("#")
        }
        assert not anchor or anchor in titles, (file, anchor)
