"""docs/migrate-from-prometheus-adapter.md, followed there and back: its own commands, the real chart, manifests and prometheus-adapter."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices
from testbed.access import RequestFailed
from testbed.chart_programs import start_adapter_of
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.e2e.cluster_shell import cluster_shell
from tests.shell import CommandFailed, Shell

RECORDED = Path(__file__).with_name("recorded")
CHART = RECORDED / "prometheus-adapter-chart"
KUBE_PROMETHEUS = RECORDED / "kube-prometheus"
NAMESPACE = "monitoring"
LOADLINE_IMAGE = "registry.example.com/loadline-autoscaler:0.1.0"
PROMETHEUS_ADAPTER_IMAGE = "registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0"
CUSTOM, EXTERNAL = "v1beta1.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io"
USAGE = "v1beta1.metrics.k8s.io"
NO_TEMPLATE = {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}}
RULES = {
    "default": False,
    "custom": [
        {
            "seriesQuery": 'moved_load{namespace!="",pod!=""}',
            "resources": NO_TEMPLATE,
            "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
        },
        {
            "seriesQuery": 'moved_hits_total{namespace!="",pod!=""}',
            "resources": {"template": "<<.Resource>>"},
            "name": {"matches": "^(.*)_total$", "as": "${1}_sum"},
            "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
        },
    ],
    "external": [
        {
            "seriesQuery": "moved_queue",
            "resources": {"namespaced": False},
            "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>})",
        }
    ],
}


class Site:
    """The user's cluster. `run_the_pod` does what a kubelet and kube-proxy would do after each change."""

    def __init__(self, cluster: Cluster, shell: Shell, prometheus_url: str) -> None:
        self.cluster, self.shell, self._prometheus_url = cluster, shell, prometheus_url
        self.running: LoadlineProcess | None = None

    def image(self) -> str:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/prometheus-adapter"
        return self.cluster.get(path)["spec"]["template"]["spec"]["containers"][0]["image"]

    def stop_the_pod(self) -> None:
        if self.running:
            self.running.stop()

    def run_the_pod(self) -> LoadlineProcess:
        """Run the container of the Deployment, and let the Service lead to it."""
        self.stop_the_pod()
        addresses = {"http://prometheus-k8s.monitoring.svc:9090": self._prometheus_url}
        self.running = start_adapter_of(
            self.cluster,
            "prometheus-adapter",
            namespace=NAMESPACE,
            directory=self.shell.directory,
            addresses=addresses,
        )
        local = {"spec": {"type": "ExternalName", "externalName": "localhost"}}
        self._patch("service/prometheus-adapter", local)
        for name in self.registered():
            self._patch(f"apiservice/{name}", {"spec": {"service": {"port": self.running.port}}})
        for name in self.registered():
            apiservices.wait_until_available(self.cluster, name)
        return self.running

    def _patch(self, what: str, change: dict) -> None:
        patch = msgspec.json.encode(change).decode()
        self.cluster.kubectl("patch", what, f"-n{NAMESPACE}", "--type=merge", f"--patch={patch}")

    def registered(self) -> list[str]:
        """The APIServices that lead to the namespace of the adapter."""
        items = self.cluster.get("/apis/apiregistration.k8s.io/v1/apiservices")["items"]
        return [
            item["metadata"]["name"]
            for item in items
            if (item["spec"].get("service") or {}).get("namespace") == NAMESPACE
        ]

    def verify(self, commands: str) -> None:
        """The commands under Verify succeed: every metric of before is served."""

        def same() -> bool:
            try:
                self.shell.run(commands)
            except CommandFailed as differs:
                raise AssertionError(str(differs)) from differs
            return True

        until(same, what="the same list of metrics", every_seconds=0.5)

    def get(self, path: str) -> dict:
        """GET through the aggregator; a failure means "not yet"."""
        try:
            return self.cluster.get(path)
        except RequestFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet


@pytest.fixture
def site(cluster: Cluster, prometheus, tmp_path: Path) -> Iterator[Site]:
    cluster.create_namespace(NAMESPACE)
    replacements = {
        "prometheus-community/prometheus-adapter": str(CHART),
        "http://127.0.0.1:9090": prometheus.url,
    }
    running = Site(
        cluster, cluster_shell(cluster, tmp_path, replacements=replacements), prometheus.url
    )
    yield running
    # A namespace is not deleted while an API that is registered does not respond.
    for name in running.registered():
        apiservices.unregister(cluster, name)
    running.stop_the_pod()
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=true")


@pytest.fixture
def loads(cluster: Cluster, exporter, prometheus, namespace: str) -> Iterator[dict[str, str]]:
    """Two pods with a load, and an HPA that reads it."""
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=2", f"-n{namespace}")
    cluster.kubectl("rollout", "status", "deployment/web", f"-n{namespace}", "--timeout=60s")
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    names = sorted(pod["metadata"]["name"] for pod in pods)
    for name, value in zip(names, (1.5, 3), strict=True):
        exporter.set("moved_load", value, namespace=namespace, pod=name)
        exporter.set("moved_hits_total", value, namespace=namespace, pod=name)
        container = {"namespace": namespace, "pod": name, "container": "web"}
        exporter.set("container_memory_working_set_bytes", value * 2**20, **container)
        exporter.increase("container_cpu_usage_seconds_total", value / 10, **container)
    exporter.set("moved_queue", 7, queue="mail")
    prometheus.wait_for(f'count(moved_hits_total{{namespace="{namespace}"}}) == 2')
    yield dict(zip(names, ("1500m", "3"), strict=True))
    for series in (
        "moved_load",
        "moved_hits_total",
        "container_memory_working_set_bytes",
        "container_cpu_usage_seconds_total",
    ):
        exporter.remove(series, namespace=namespace)
    exporter.remove("moved_queue")


def values(prometheus) -> dict:
    """The values of the release, as the user of prometheus-community's chart has set them."""
    return {
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
        "metricsRelistInterval": "1s",
        "rules": RULES,
    }


@pytest.fixture
def release(site: Site, prometheus, loads) -> Iterator[Site]:
    """A release of the real chart that serves the real prometheus-adapter."""
    (site.shell.directory / "mine.yaml").write_bytes(msgspec.yaml.encode(values(prometheus)))
    site.shell.run(f"helm install prometheus-adapter {CHART} -n {NAMESPACE} -f mine.yaml --wait")
    site.run_the_pod()
    yield site
    site.shell.run(f"helm uninstall prometheus-adapter -n {NAMESPACE} --wait")


def test_an_hpa_reads_the_same_values_after_each_change_of_the_image_and_back(
    release: Site, namespace, loads, documented_blocks
):
    """Part A."""
    save, check, there, back, verify = documented_blocks
    expect_values(release, namespace, loads)
    record(release, save, check)
    assert release.image() == PROMETHEUS_ADAPTER_IMAGE

    release.shell.run(there)
    assert release.image() == LOADLINE_IMAGE
    loadline = release.run_the_pod()
    release.verify(verify)
    expect_values(release, namespace, loads)
    expect_no_problem_in(loadline)

    release.shell.run(back)
    assert release.image() == PROMETHEUS_ADAPTER_IMAGE
    release.run_the_pod()
    release.verify(verify)
    expect_values(release, namespace, loads)


def test_loadlines_chart_replaces_the_other_in_the_same_release_and_back(
    release: Site, cluster, namespace, loads, documented_blocks
):
    """Part B: the same objects, never without an APIService."""
    save, check, there, back, verify = documented_blocks
    expect_values(release, namespace, loads)
    record(release, save, check)
    before = identities(cluster)

    release.shell.run(there)
    assert release.image() == LOADLINE_IMAGE
    assert before.items() <= identities(cluster).items()
    loadline = release.run_the_pod()
    release.verify(verify)
    expect_values(release, namespace, loads)
    expect_no_problem_in(loadline)

    release.shell.run(back)
    assert release.image() == PROMETHEUS_ADAPTER_IMAGE
    assert identities(cluster) == before
    release.run_the_pod()
    release.verify(verify)
    expect_values(release, namespace, loads)


def test_a_resync_keeps_an_image_of_the_values_and_reverts_kubectl_set_image(
    release: Site, prometheus
):
    """A GitOps tool applies the rendered chart, whatever is in the cluster."""
    image = {"repository": LOADLINE_IMAGE.rpartition(":")[0], "tag": "0.1.0"}
    in_git = {**values(prometheus), "image": image}
    (release.shell.directory / "git.yaml").write_bytes(msgspec.yaml.encode(in_git))
    resync(release, CHART, "mine.yaml")
    set_image = f"kubectl -n {NAMESPACE} set image deployment/prometheus-adapter prometheus-adapter={LOADLINE_IMAGE}"
    release.shell.run(set_image)
    assert release.image() == LOADLINE_IMAGE
    resync(release, CHART, "mine.yaml")
    assert release.image() == PROMETHEUS_ADAPTER_IMAGE

    resync(release, CHART, "git.yaml")
    assert release.image() == LOADLINE_IMAGE
    release.shell.run("kubectl diff --server-side --force-conflicts -f rendered.yaml")
    release.run_the_pod()


def test_a_resync_changes_to_loadlines_chart_in_place_and_back(site: Site, cluster, prometheus):
    """With a GitOps tool, part B is one commit: another source of the chart, `nameOverride` and `image`."""
    (site.shell.directory / "mine.yaml").write_bytes(msgspec.yaml.encode(values(prometheus)))
    resync(site, CHART, "mine.yaml")
    before = identities(cluster)
    image = {"repository": LOADLINE_IMAGE.rpartition(":")[0], "tag": "0.1.0"}
    in_git = {**values(prometheus), "image": image, "nameOverride": "prometheus-adapter"}
    (site.shell.directory / "git.yaml").write_bytes(msgspec.yaml.encode(in_git))
    resync(site, "charts/adapter", "git.yaml")
    assert site.image() == LOADLINE_IMAGE
    assert before.items() <= identities(cluster).items()
    site.shell.run("kubectl rollout status deployment/prometheus-adapter -n monitoring")

    resync(site, CHART, "mine.yaml")
    assert site.image() == PROMETHEUS_ADAPTER_IMAGE
    assert before.items() <= identities(cluster).items()
    for rendered in ("charts/adapter", CHART):
        site.shell.run(
            render(rendered, "git.yaml") + "kubectl delete --ignore-not-found -f rendered.yaml"
        )


def test_the_manifests_of_kube_prometheus_serve_usage_with_loadlines_image_and_back(
    site: Site, cluster, namespace, loads, documented_blocks
):
    """Part C."""
    manifests = site.shell.directory / "manifests"
    shutil.copytree(KUBE_PROMETHEUS, manifests)
    site.shell.run("kubectl apply -f manifests/")
    try:
        site.run_the_pod()
        usage_before = usage(site, namespace)
        there, verify, back = documented_blocks

        site.shell.run(there)
        assert site.image() == LOADLINE_IMAGE
        loadline = site.run_the_pod()
        assert usage(site, namespace) == usage_before
        assert set(loads) <= set(re.findall(r"\S+", site.shell.run(verify)))
        expect_no_problem_in(loadline)

        site.shell.run(back)
        assert site.image() == PROMETHEUS_ADAPTER_IMAGE
        site.run_the_pod()
        assert usage(site, namespace) == usage_before
    finally:
        site.shell.run("kubectl delete -f manifests/ --wait --ignore-not-found")


def resync(site: Site, chart: Path | str, file: str) -> None:
    """What a GitOps tool does: render the chart for the versions of the cluster, and apply all of it."""
    apply = "kubectl apply --server-side --force-conflicts -f rendered.yaml"
    site.shell.run(render(chart, file) + apply)


def render(chart: Path | str, file: str) -> str:
    """Commands that render the chart to rendered.yaml."""
    return (
        f"helm template prometheus-adapter {chart} -n {NAMESPACE} -f {file}"
        " --api-versions apiregistration.k8s.io/v1 > rendered.yaml\n"
    )


def record(site: Site, save: str, check: str) -> None:
    """Record the current state, and check the configuration."""

    def listed() -> bool:
        site.shell.run(save)
        text = (site.shell.directory / "custom-before.txt").read_text()
        assert "moved_hits_sum" in text
        assert (site.shell.directory / "external-before.txt").read_text() == "moved_queue\n"
        return True

    until(listed, what="prometheus-adapter's list of metrics")
    assert re.search(r"^rules\[1\]: \d+ series$", site.shell.run(check), re.MULTILINE)


def expect_values(site: Site, namespace: str, loads: dict[str, str]) -> None:
    """Custom and external metrics have the values of the pods and of the queue."""

    def expected() -> bool:
        custom = f"/apis/custom.metrics.k8s.io/v1beta1/namespaces/{namespace}/pods/*/moved_load"
        items = site.get(custom)["items"]
        assert {item["describedObject"]["name"]: item["value"] for item in items} == loads
        external = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/moved_queue"
        assert [item["value"] for item in site.get(external)["items"]] == ["7"]
        return True

    until(expected, what="the values of the pods")


def usage(site: Site, namespace: str) -> dict[str, str]:
    """The memory of each pod, once it is served."""

    def measured() -> dict[str, str]:
        items = site.get(f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods")["items"]
        found = {i["metadata"]["name"]: i["containers"][0]["usage"]["memory"] for i in items}
        assert len(found) == 2
        return found

    return until(measured, what="the usage of the pods")


def identities(cluster: Cluster) -> dict[str, str]:
    """The UIDs of the objects that must survive: an object that was deleted and created again has another one."""
    found = {}
    for what in (
        "deployment/prometheus-adapter",
        "service/prometheus-adapter",
        "configmap/prometheus-adapter",
        "serviceaccount/prometheus-adapter",
        f"apiservice/{CUSTOM}",
        f"apiservice/{EXTERNAL}",
    ):
        found[what] = cluster.kubectl("get", what, f"-n{NAMESPACE}", "-ojsonpath={.metadata.uid}")
    return found


def expect_no_problem_in(loadline: LoadlineProcess) -> None:
    assert loadline.process.exit_code is None
    assert "forbidden" not in loadline.process.log().lower()
    assert "Traceback" not in loadline.process.log()
