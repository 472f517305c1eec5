"""Installs Loadline's charts into a testbed cluster with the real Helm."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from testbed.cluster import Cluster

HELM = Path(sys.executable).with_name("helm")
CHARTS = Path(__file__).parent.parent / "charts"
WAITING = ("--wait", "--timeout=60s")
# Required by the charts. No image is pulled: kwok does not run containers.
IMAGE = {"repository": "loadline-autoscaler"}


class HelmFailed(Exception):
    """Helm exited with an error; the message has its error output."""


class Helm:
    """`Helm(cluster, namespace).install("adapter", release="a", values={...})` installs and waits for the rollout."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def install(
        self,
        chart: Literal["adapter", "scaler"] | Path,
        *,
        release: str,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        """`helm install --wait` of a chart of this repository or in a folder; returns its notes. Raises HelmFailed."""
        return self._deploy("install", chart, release, values)

    def upgrade(
        self,
        chart: Literal["adapter", "scaler"] | Path,
        *,
        release: str,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        """`helm upgrade --wait` with these values and no others. Raises HelmFailed."""
        return self._deploy("upgrade", chart, release, values)

    def template(
        self,
        chart: Literal["adapter", "scaler"],
        *,
        release: str,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        """`helm template`, as tools that render charts without a cluster: the manifests, with those of hooks. Raises HelmFailed."""
        return self._run(
            ["template", release, str(CHARTS / chart), "--values=-"],
            msgspec.json.encode({"image": IMAGE, **(values or {})}).decode(),
        )

    def rollback(self, release: str, *, revision: int) -> None:
        """`helm rollback --wait`. Raises HelmFailed."""
        self._run(["rollback", release, str(revision), *WAITING])

    def uninstall(self, release: str) -> None:
        """`helm uninstall --wait`. Raises HelmFailed."""
        self._run(["uninstall", release, *WAITING])

    def test(self, release: str) -> str:
        """`helm test`; returns its report. Raises HelmFailed."""
        return self._run(["test", release, "--timeout=60s"])

    def releases(self) -> list[str]:
        """The names of the releases in the namespace."""
        return self._run(["list", "--short"]).split()

    def _deploy(
        self, verb: str, chart: str | Path, release: str, values: Mapping[str, Any] | None
    ) -> str:
        return self._run(
            [verb, release, str(CHARTS / chart), *WAITING, "--values=-"],
            msgspec.json.encode({"image": IMAGE, **(values or {})}).decode(),
        )

    def _run(self, arguments: Sequence[str], values: str = "") -> str:
        own = self._cluster.directory / "helm"  # instead of the user's caches and plugins
        folders = {f"HELM_{name}_HOME": str(own) for name in ("CACHE", "CONFIG", "DATA")}
        done = subprocess.run(
            [HELM, *arguments, f"--namespace={self._namespace}"],
            input=values,
            env={**os.environ, **folders, "KUBECONFIG": str(self._cluster.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HelmFailed(f"helm {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout
