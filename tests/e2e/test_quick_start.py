"""The README, followed by a user who has a cluster and Prometheus, up to the first answer to an HPA of the user."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices
from testbed.chart_programs import start_adapter_of
from testbed.cluster import Cluster, KubectlFailed
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.e2e.documented_commands import Shell
from tests.readme import ROOT, documents

API = "v1beta2.custom.metrics.k8s.io"
NAMESPACES = ("monitoring", "shop")
# Commands until the HPA has a value: image, two charts, metric, HPA.
COMMANDS_MAX = 5


def scripts() -> list[str]:
    text = (ROOT / "README.md").read_text()
    section = text[text.index("## Install in a cluster") : text.index("## Scale on queue length")]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


class User:
    """A user with kubectl and Helm. `run_the_pod` does what a kubelet and kube-proxy would do."""

    def __init__(self, cluster: Cluster, prometheus_url: str, directory: Path) -> None:
        self.cluster, self._prometheus_url, self._directory = cluster, prometheus_url, directory
        self.shell = Shell(cluster, directory, replacements={})
        self.running: LoadlineProcess | None = None

    def run_the_pod(self) -> None:
        addresses = {"http://prometheus-server.monitoring.svc:80": self._prometheus_url}
        place = {"namespace": "monitoring", "directory": self._directory, "addresses": addresses}
        self.running = start_adapter_of(self.cluster, "loadline-adapter", **place)
        for what, change in (
            ("service/loadline-adapter", {"spec": {"type": "ExternalName", "externalName": "localhost"}}),
            *(
                (f"apiservice/{version}.custom.metrics.k8s.io", {"spec": {"service": {"port": self.running.port}}})
                for version in ("v1beta1", "v1beta2")
            ),
        ):  # fmt: skip
            patch = msgspec.json.encode(change).decode()
            self.cluster.kubectl("patch", what, "-nmonitoring", "--type=merge", f"--patch={patch}")


@pytest.fixture
def user(cluster: Cluster, prometheus, exporter, tmp_path: Path) -> Iterator[User]:
    for namespace in NAMESPACES:
        cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=2", "-nshop")
    cluster.kubectl("rollout", "status", "deployment/web", "-nshop", "--timeout=60s")
    for pod in cluster.get("/api/v1/namespaces/shop/pods")["items"]:
        exporter.increase("http_requests_total", 50, namespace="shop", pod=pod["metadata"]["name"])
    prometheus.wait_for('count(http_requests_total{namespace="shop"}) == 2')
    user = User(cluster, prometheus.url, tmp_path)
    yield user
    user.shell.run("helm uninstall loadline-adapter loadline-scaler -n monitoring --wait")
    if user.running:
        user.running.stop()
    exporter.remove("http_requests_total", namespace="shop")
    for namespace in NAMESPACES:
        cluster.kubectl("delete", "namespace", namespace, "--wait=true")


def test_an_hpa_of_the_user_is_answered_after_five_commands(user: User):
    install, _registry, _prometheus, upgrade, verify = scripts()
    values, hpa = documents()[:2]
    (user.shell.directory / "values.yaml").write_bytes(msgspec.yaml.encode(values))
    (user.shell.directory / "web.yaml").write_bytes(msgspec.yaml.encode(hpa))

    docker, *charts = install.strip().splitlines()
    assert docker.startswith("docker build")
    upgrade = "\n".join(line for line in upgrade.splitlines() if "# optional" not in line)
    assert 1 + len(charts) + len(upgrade.splitlines()) + 1 == COMMANDS_MAX
    user.shell.run("\n".join(charts))
    user.shell.run(upgrade)
    user.shell.run("kubectl apply -f web.yaml")
    user.run_the_pod()
    apiservices.wait_until_available(user.cluster, API)

    def answered() -> bool:
        try:
            listed = msgspec.json.decode(user.shell.run(verify.splitlines()[0]))["items"]
        except Exception as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        assert len(listed) == 2
        return True

    until(answered, what="the values of the pods")

    def scaled_by() -> bool:
        try:
            found = user.cluster.get(
                "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"
            )
        except KubectlFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        # An entry without a type is that of a metric that was not read yet.
        metrics = found["status"].get("currentMetrics") or ()
        names = [each["pods"]["metric"]["name"] for each in metrics if "pods" in each]
        assert names == ["http_requests_per_second"]
        return True

    until(scaled_by, what="an answer to the HPA", deadline_seconds=120)
