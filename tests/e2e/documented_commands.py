"""Run the shell commands of a documentation page as a user would, in a testbed cluster.

Commands that need a kubelet (`port-forward`, `logs`) cannot run here and are left out.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from testbed.cluster import Cluster
from testbed.helm import HELM

ROOT = Path(__file__).parents[2]
NEEDS_A_KUBELET = re.compile(r"port-forward|\blogs\b")


class CommandFailed(Exception):
    """A command of the page failed; the message has its output."""


def sections(page: Path) -> dict[str, list[str]]:
    """The shell blocks under each heading of the second level."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        found[title] = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


class Shell:
    """A user's shell: kubectl, helm and both programs on PATH, and files in `directory`."""

    def __init__(
        self, cluster: Cluster, directory: Path, *, replacements: Mapping[str, str]
    ) -> None:
        """`replacements`: texts of the page, and what this user writes instead."""
        self.directory = directory
        self._replacements = {
            "~/.kube/config": str(cluster.kubeconfig),
            "charts/": f"{ROOT}/charts/",
            **replacements,
        }
        self._programs = directory / "bin"
        self._programs.mkdir(parents=True, exist_ok=True)
        kubectl = [
            cluster.kubectl_path,
            f"--kubeconfig={cluster.kubeconfig}",
            f"--cache-dir={directory / 'kubectl-cache'}",
        ]
        self._add("kubectl", *kubectl)
        self._add("helm", HELM, f"--kubeconfig={cluster.kubeconfig}")
        self._add("loadline-adapter", sys.executable, "-m", "adapter")
        self._add("loadline-scaler", sys.executable, "-m", "scaler")
        folders = {f"HELM_{name}_HOME": str(directory) for name in ("CACHE", "CONFIG", "DATA")}
        self._environment = {
            **os.environ,
            **folders,
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }

    def _add(self, name: str, *command: str | Path) -> None:
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n')
        path.chmod(0o755)

    def run(self, block: str) -> str:
        """Run a block of the page and return its output. Raises CommandFailed at the first command that fails."""
        for text, own in self._replacements.items():
            block = block.replace(text, own)
        lines = [line for line in block.splitlines() if not NEEDS_A_KUBELET.search(line)]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=self.directory,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandFailed(f"{block}\n{done.stdout}\n{done.stderr}")
        return done.stdout
