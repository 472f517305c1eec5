"""A command that runs with the files of a service account where Kubernetes mounts them, in a mount namespace of its own.

With a kubeconfig, a program does not need the memory that it needs in a pod: the kubeconfig loader alone takes 37 MiB.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from testbed.cluster import Cluster

MOUNT = """\
mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io && cp -R "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"
"""
"""/var/run is a link to /run."""


class PodIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a service account, and the address of the API server as a pod gets it."""

    account: Path
    environment: Mapping[str, str]

    def command(self, command: Sequence[str | Path]) -> list[str | Path]:
        """The command with these files. Its process is that of the program."""
        namespaces = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
        return ["unshare", *namespaces, "sh", "-c", MOUNT, self.account, *command]


def administrator(cluster: Cluster, directory: Path) -> PodIdentity:
    """A service account with all permissions."""
    name, namespace = "administrator", "default"
    cluster.kubectl("create", "serviceaccount", name, f"-n{namespace}")
    cluster.kubectl(
        "create",
        "clusterrolebinding",
        name,
        "--clusterrole=cluster-admin",
        f"--serviceaccount={namespace}:{name}",
    )
    return pod_identity(cluster, namespace, name, directory)


def pod_identity(cluster: Cluster, namespace: str, name: str, directory: Path) -> PodIdentity:
    """An existing service account; `directory` gets its files."""
    account = directory / "account"
    account.mkdir(parents=True)
    token = cluster.kubectl("create", "token", name, f"-n{namespace}", "--duration=12h")
    (account / "token").write_text(token)
    (account / "ca.crt").write_bytes(cluster.authority)
    (account / "namespace").write_text(namespace)
    server = urlsplit(cluster.api_url)
    environment = {
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "KUBECONFIG": "",
    }
    return PodIdentity(account=account, environment=environment)
