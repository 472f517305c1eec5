"""The README, followed by a user who has a cluster and Prometheus: from the values of the adapter to the reason of a decision.

Then other documents that continue from there.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices
from testbed.chart_programs import start_adapter_of, start_chart_program
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.documented_blocks import PROMPT, ROOT, blocks_in, commands_with_output
from tests.e2e.cluster_shell import cluster_shell
from tests.shell import CommandFailed

NAMESPACES = ("monitoring", "shop")
WORKLOADS = {"web": 2, "worker": 1, "thumbnails": 1}
QUEUES = {"mail": 90, "images": 75}
# A file that a document describes begins with its name.
ADAPTER = "app.kubernetes.io/name=loadline-adapter"
FILE = re.compile(r"# (\S+\.yaml)\n")
SERIES = ("http_requests_total", "queue_messages_ready")


class User:
    """A user with kubectl and Helm. The methods `run_...` do what a kubelet and kube-proxy would do."""

    def __init__(self, cluster: Cluster, prometheus_url: str, directory: Path) -> None:
        self.cluster, self._prometheus_url, self._directory = cluster, prometheus_url, directory
        names = {
            "http://127.0.0.1:9090": prometheus_url,
            "pods/*/http_requests?": "pods/*/http_requests_per_second?",
        }
        self.shell = cluster_shell(cluster, directory, replacements=names)
        self._running: list[LoadlineProcess] = []

    def follow(self, block: str) -> None:
        """Write the file of a block, or run its commands until they succeed and print what it shows."""
        if named := FILE.match(block):
            (self.shell.directory / named[1]).write_text(block)
        elif block.startswith(PROMPT):
            for command, shown in commands_with_output(block):
                self.runs(command, expecting=lambda output, shown=shown: shows(output, shown))
        else:
            self.runs(block)

    def run_the_programs(self) -> LoadlineProcess:
        """Those of both charts. Returns the adapter."""
        forwarded = dict(self.cluster.options.forwarded_ports)
        place = {"namespace": "monitoring", "directory": self._directory}
        addresses = {"http://prometheus-server.monitoring.svc:80": self._prometheus_url}
        adapter = start_adapter_of(
            self.cluster, "loadline-adapter", port=forwarded[6443], addresses=addresses, **place
        )
        self._running.append(adapter)
        self._connect_the_apis(adapter.port)
        scaler = start_chart_program(
            self.cluster, "scaler", release="loadline-scaler", port=forwarded[10443], **place
        )
        self._running.append(scaler)
        return adapter

    def _connect_the_apis(self, port: int) -> None:
        """Let kube-apiserver reach the adapter at a local port."""
        listed = self.cluster.kubectl("get", "apiservice", f"-l{ADAPTER}", "-oname").split()
        self._patch(
            "service/loadline-adapter", {"type": "ExternalName", "externalName": "localhost"}
        )
        for name in listed:
            self._patch(name, {"service": {"port": port}})
        for name in listed:
            apiservices.wait_until_available(self.cluster, name.partition("/")[2])

    def _patch(self, name: str, spec: dict) -> None:
        change = msgspec.json.encode({"spec": spec}).decode()
        self.cluster.kubectl("patch", name, "-nmonitoring", "--type=merge", f"--patch={change}")

    def stop(self) -> None:
        for each in self._running:
            each.stop()

    def runs(self, commands: str, *, expecting: Callable[[str], bool] = lambda _: True) -> None:
        """Run the commands until they succeed with this output: programs and APIs need a moment."""

        def expected() -> bool:
            try:
                output = self.shell.run(commands)
            except CommandFailed as not_yet:
                raise AssertionError(str(not_yet)) from not_yet
            assert expecting(output), output
            return True

        until(expected, what=commands, deadline_seconds=120)


def shows(output: str, shown: str) -> bool:
    """Whether a document shows the output: of a table with ages the titles, and everything of other output."""
    if shown.startswith("NAME "):
        return output.splitlines()[0].split() == shown.splitlines()[0].split()
    return not shown or without_times(output) == without_times(shown)


def without_times(output: str) -> str:
    """The output with the same text in place of each time."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", output.strip())


@pytest.fixture(scope="module")
def cluster(forwarding_cluster: Cluster) -> Cluster:
    return forwarding_cluster


@pytest.fixture
def user(
    cluster: Cluster, prometheus: PrometheusServer, exporter: Exporter, tmp_path: Path
) -> Iterator[User]:
    for namespace in NAMESPACES:
        cluster.kubectl("create", "namespace", namespace)
    for name, replicas in WORKLOADS.items():
        cluster.kubectl(
            "create", "deployment", name, "-nshop", f"--image={name}", f"--replicas={replicas}"
        )
    cluster.kubectl("rollout", "status", "deployment/web", "-nshop", "--timeout=60s")
    for pod in cluster.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb")["items"]:
        exporter.increase("http_requests_total", 50, namespace="shop", pod=pod["metadata"]["name"])
    for queue, messages in QUEUES.items():
        exporter.set("queue_messages_ready", messages, namespace="shop", queue=queue)
    prometheus.wait_for('count(http_requests_total{namespace="shop"}) == 2')
    user = User(cluster, prometheus.url, tmp_path)
    yield user
    user.stop()
    for series in SERIES:
        exporter.remove(series, namespace="shop")


def test_the_readme_is_followed_to_the_end(user: User, documented_blocks):
    readme = [block.text for block in blocks_in(ROOT / "README.md")]
    assert documented_blocks[: len(readme)] == readme, "a block of the README is not run"
    for block in readme:
        user.follow(block)
        if "helm install loadline-adapter" in block:
            adapter = user.run_the_programs()
    expect_a_value(user.cluster, "web", "http_requests_per_second")
    follow_other_documents(user, adapter, documented_blocks[len(readme) :])


def expect_a_value(cluster: Cluster, name: str, metric: str) -> None:
    """Wait until the status of the HPA has a value of the metric."""
    path = f"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/{name}"

    def has_value() -> bool:
        # An entry without a type is that of a metric that was not read yet.
        metrics = cluster.get(path)["status"].get("currentMetrics") or ()
        assert [each["pods"]["metric"]["name"] for each in metrics if "pods" in each] == [metric]
        return True

    until(has_value, what=f"a value of {metric}", deadline_seconds=120)


def follow_other_documents(user: User, adapter: LoadlineProcess, blocks: list[str]) -> None:
    """Check, explain and convert in the cluster of the README, with the configuration of its release."""
    check, migrate, explain, *rest = blocks
    *first_autoscaler, explain_file, explain_running, convert, compare, enforce = rest
    read = (
        "kubectl -n monitoring get configmap loadline-adapter -o jsonpath='{.data.config\\.yaml}'"
    )
    user.shell.run(f"{read} > config.yaml")
    assert "config.yaml can be used" in user.shell.run(check)
    user.shell.run(migrate)
    running = f"loadline-adapter explain --server={adapter.url} --insecure-skip-tls-verify"
    for block in (explain, explain_running):
        user.runs(
            block.replace("loadline-adapter explain", running),
            expecting=lambda output: "value " in output,
        )
    assert "value " in user.shell.run(explain_file)
    for block in first_autoscaler:
        user.follow(block)
    user.shell.run(convert)
    user.runs(compare, expecting=lambda output: "shop/web" in output)
    user.shell.run(enforce)
