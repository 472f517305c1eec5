"""The README, followed by a user who has a cluster and Prometheus: from the installation to the conversion of an HPA.

Then the commands of other documents that work in the same cluster.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices
from testbed.chart_programs import start_adapter_of, start_chart_program
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.e2e.cluster_shell import cluster_shell
from tests.e2e.scaler_objects import HPA, Workspace
from tests.shell import CommandFailed

API = "v1beta2.custom.metrics.k8s.io"
NAMESPACES = ("monitoring", "shop")
# Commands until the HPA has a value: image, two charts, metric, HPA.
COMMANDS_MAX = 5
WAITING_MESSAGES = 90  # for three workers, at 30 for each


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

    def write(self, name: str, text: str) -> None:
        (self.shell.directory / name).write_text(text)

    def run_the_adapter(self) -> LoadlineProcess:
        addresses = {"http://prometheus-server.monitoring.svc:80": self._prometheus_url}
        place = {"namespace": "monitoring", "directory": self._directory, "addresses": addresses}
        running = start_adapter_of(self.cluster, "loadline-adapter", **place)
        self._running.append(running)
        for what, change in (
            ("service/loadline-adapter", {"spec": {"type": "ExternalName", "externalName": "localhost"}}),
            *(
                (f"apiservice/{version}", {"spec": {"service": {"port": running.port}}})
                for version in self._apiservices()
            ),
        ):  # fmt: skip
            patch = msgspec.json.encode(change).decode()
            self.cluster.kubectl("patch", what, "-nmonitoring", "--type=merge", f"--patch={patch}")
        for name in self._apiservices():
            apiservices.wait_until_available(self.cluster, name)
        return running

    def _apiservices(self) -> list[str]:
        label = "app.kubernetes.io/name=loadline-adapter"
        listed = self.cluster.kubectl("get", "apiservice", f"-l{label}", "-oname").split()
        return [name.partition("/")[2] for name in listed]

    def run_the_scaler(self) -> LoadlineProcess:
        place = {"namespace": "monitoring", "directory": self._directory}
        running = start_chart_program(self.cluster, "scaler", release="loadline-scaler", **place)
        self._running.append(running)
        return running

    def stop(self) -> None:
        for each in self._running:
            each.stop()
        self._running.clear()

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

    def expect_metric(self, workspace: Workspace, name: str) -> None:
        """Wait until the status of the autoscaler has a value of the metric."""

        def has_value() -> bool:
            # An entry without a type is that of a metric that was not read yet.
            metrics = workspace.status().get("currentMetrics") or ()
            sources = [each.get("pods") or each.get("external") for each in metrics]
            assert [each["metric"]["name"] for each in sources if each] == [name]
            return True

        until(has_value, what=f"a value of {name}", deadline_seconds=120)


@pytest.fixture
def user(cluster: Cluster, prometheus, exporter, tmp_path: Path) -> Iterator[User]:
    for namespace in NAMESPACES:
        cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=2", "-nshop")
    cluster.kubectl("create", "deployment", "worker", "--image=worker", "-nshop")
    cluster.kubectl("rollout", "status", "deployment/web", "-nshop", "--timeout=60s")
    for pod in cluster.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb")["items"]:
        exporter.increase("http_requests_total", 50, namespace="shop", pod=pod["metadata"]["name"])
    exporter.set("queue_messages_ready", WAITING_MESSAGES, namespace="shop", queue="mail")
    prometheus.wait_for('count(http_requests_total{namespace="shop"}) == 2')
    user = User(cluster, prometheus.url, tmp_path)
    yield user
    user.shell.run("helm uninstall loadline-adapter loadline-scaler -n monitoring --wait")
    user.stop()
    for series in ("http_requests_total", "queue_messages_ready"):
        exporter.remove(series, namespace="shop")
    for namespace in NAMESPACES:
        cluster.kubectl("delete", "namespace", namespace, "--wait=true")


def test_the_readme_is_followed_to_the_end(user: User, documented_blocks):
    install, values, upgrade, hpa, verify, queue, worker, show, convert, *more = documented_blocks
    assert number_of_commands(install, upgrade) == COMMANDS_MAX

    user.write("values.yaml", values)
    user.write("web.yaml", hpa)
    user.shell.run(install)
    user.shell.run(upgrade)
    user.shell.run("kubectl apply -f web.yaml")
    user.run_the_adapter()
    user.runs(verify, expecting=has_a_value_of_both_pods)
    user.expect_metric(Workspace(user.cluster, "shop", HPA), "http_requests_per_second")

    user.write("values.yaml", with_metrics_of(queue, values))
    user.write("worker.yaml", worker)
    user.stop()
    user.shell.run(upgrade)
    adapter = user.run_the_adapter()
    user.shell.run("kubectl apply -f worker.yaml")
    user.run_the_scaler()
    autoscaler = Workspace(user.cluster, "shop", name="worker")
    user.expect_metric(autoscaler, "queue_length")
    autoscaler.reaches(WAITING_MESSAGES // 30)
    user.runs(show, expecting=lambda output: "30/30 (avg)" in output)

    user.runs(convert, expecting=lambda output: "shop/web" in output)
    follow_other_documents(user, adapter, more)


def has_a_value_of_both_pods(output: str) -> bool:
    """In the response of the API, which is printed first."""
    response, _ = json.JSONDecoder().raw_decode(output)
    return len(response["items"]) == 2


def number_of_commands(install: str, upgrade: str) -> int:
    """Up to the first value of an HPA: those of both blocks, and the one that creates the HPA."""
    commands = [*install.splitlines(), *upgrade.splitlines()]
    return len([line for line in commands if "# optional" not in line]) + 1


def with_metrics_of(more: str, values: str) -> str:
    """Values with the metrics of two examples, in one list."""
    first, second = msgspec.yaml.decode(values), msgspec.yaml.decode(more)
    first["rules"]["metrics"] += second["rules"]["metrics"]
    return msgspec.yaml.encode(first).decode()


def follow_other_documents(user: User, adapter: LoadlineProcess, blocks: list[str]) -> None:
    """Check, explain and convert in the cluster of the README, with the configuration of its release."""
    check, migrate, explain, convert, explain_file, explain_running = blocks
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
    user.runs(convert, expecting=lambda output: "shop/web" in output)
