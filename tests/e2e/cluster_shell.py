"""The shell of a user of a testbed cluster: kubectl with its plugin, Helm and the programs, with the rights of an administrator."""

from collections.abc import Mapping
from pathlib import Path

from testbed.cluster import Cluster
from testbed.helm import HELM
from tests.shell import Shell


def cluster_shell(
    cluster: Cluster, directory: Path, *, replacements: Mapping[str, str] | None = None
) -> Shell:
    """Its files are in `directory`."""
    folders = {f"HELM_{name}_HOME": str(directory) for name in ("CACHE", "CONFIG", "DATA")}
    return Shell(
        directory,
        programs={"kubectl": [cluster.kubectl_path], "helm": [HELM]},
        environment={
            **folders,
            "KUBECONFIG": str(cluster.kubeconfig),
            "KUBECACHEDIR": str(directory / "kubectl-cache"),
        },
        replacements={"~/.kube/config": str(cluster.kubeconfig), **(replacements or {})},
    )
