"""Run the pods of Helm hooks as local processes, in place of a kubelet: the Job before an upgrade, and `helm test`.

The pods must not be scheduled (a nodeSelector that no node has), so that kwok leaves them alone.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from testbed.background import Repeated
from testbed.chart_programs import container_arguments
from testbed.cluster import Cluster
from testbed.programs import REPOSITORY

# The chart's values for pods that `HookPods` runs.
UNSCHEDULED = {"nodeSelector": {"testbed.loadline.io/runs-as": "process"}, "replicas": 0}
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PROGRAMS = {
    "loadline-adapter": [sys.executable, "-m", "adapter"],
    "python": [sys.executable],
}
POLL_SECONDS = 0.2


class HookPods(Repeated):
    """`with HookPods(cluster, namespace, directory) as hooks:` runs each pending pod once; `hooks.output` has what they wrote."""

    def __init__(self, cluster: Cluster, namespace: str, directory: Path) -> None:
        self._cluster, self._namespace, self._directory = cluster, namespace, directory
        super().__init__(POLL_SECONDS)
        self._finished: set[str] = set()
        self.output: dict[str, str] = {}

    def once(self) -> None:
        """Run the pods that are pending now."""
        for pod in self._cluster.get(f"/api/v1/namespaces/{self._namespace}/pods")["items"]:
            uid = pod["metadata"]["uid"]
            if pod["status"].get("phase") == "Pending" and uid not in self._finished:
                self._finished.add(uid)
                self._run_pod(pod)

    def _run_pod(self, pod: dict[str, Any]) -> None:
        name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
        folder = self._directory / name
        arguments = container_arguments(self._cluster, self._namespace, pod["spec"], folder)
        server = urlsplit(self._cluster.api_url)
        done = subprocess.run(
            [
                *PROGRAMS[container["command"][0]],
                *container["command"][1:],
                *[
                    argument.replace(ACCOUNT, str(self._account(pod, folder)))
                    for argument in arguments
                ],
            ],
            cwd=REPOSITORY,
            env={
                **os.environ,
                "KUBERNETES_SERVICE_HOST": str(server.hostname),
                "KUBERNETES_SERVICE_PORT": str(server.port),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output[name] = done.stdout
        self._report(name, container["name"], done.returncode)

    def _account(self, pod: dict[str, Any], folder: Path) -> Path:
        """The token and the CA that a kubelet would mount."""
        account = folder / "account"
        account.mkdir(parents=True, exist_ok=True)
        if pod["spec"].get("automountServiceAccountToken"):
            name = pod["spec"]["serviceAccountName"]
            (account / "token").write_text(self._cluster.token(self._namespace, name))
            (account / "ca.crt").write_bytes(self._cluster.authority)
        return account

    def _report(self, pod: str, container: str, exit_code: int) -> None:
        state = {
            "terminated": {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
        }
        status = {"name": container, "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}  # fmt: skip
        phase = "Failed" if exit_code else "Succeeded"
        patch = {"status": {"phase": phase, "containerStatuses": [status]}}
        self._cluster.kubectl(
            "patch", f"pod/{pod}", f"-n{self._namespace}", "--subresource=status", "--type=merge",
            f"--patch={msgspec.json.encode(patch).decode()}",
        )  # fmt: skip
