"""A user who follows the README: kubectl, Helm and the files of the documents, in a cluster of the testbed."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from testbed import apiservices
from testbed.chart_programs import start_adapter_of, start_chart_program
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.documented_blocks import PROMPT, commands_with_output
from tests.e2e.cluster_shell import cluster_shell
from tests.shell import CommandFailed

NAMESPACES = ("monitoring", "shop")
ADAPTER = "app.kubernetes.io/name=loadline-adapter"
# A file that a document describes begins with its name.
FILE = re.compile(r"# (\S+\.yaml)\n")


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


def create_workloads(cluster: Cluster, workloads: Mapping[str, int]) -> None:
    """The namespaces of the README, and Deployments in `shop` with their replicas."""
    for namespace in NAMESPACES:
        cluster.create_namespace(namespace)
    for name, replicas in workloads.items():
        cluster.kubectl(
            "create", "deployment", name, "-nshop", f"--image={name}", f"--replicas={replicas}"
        )


def export_queues(exporter: Exporter, messages: Mapping[str, int]) -> None:
    """The messages that wait in each queue."""
    for queue, count in messages.items():
        exporter.set("queue_messages_ready", count, namespace="shop", queue=queue)
