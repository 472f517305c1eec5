"""A program of an installed chart, run beside the cluster with the chart's own arguments, files and permissions.

There is no kubelet here that could run its pod, so a local process takes the pod's place: the container's arguments,
the files of its ConfigMap and Secret, and a token of its ServiceAccount, with which it may do what the chart says
and no more.
"""

import base64
from pathlib import Path
from typing import Any, Literal

from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program

Object = dict[str, Any]


def run_installed(
    cluster: Cluster,
    program: Literal["adapter", "scaler"],
    *,
    namespace: str,
    release: str,
    directory: Path,
    port: int | None = None,
    wait: bool = True,
) -> LoadlineProcess:
    """Start the program of `release`; on `port`, where the chart's ExternalName Service says that it is."""
    name = f"{release}-loadline-{program}"
    deployment = cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    pod: Object = deployment["spec"]["template"]["spec"]
    account = cluster.kubeconfig_for_service_account(namespace, pod["serviceAccountName"])
    mounts: dict[str, str] = {
        mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]
    }
    moved = {
        mounts[volume["name"]]: str(_copied(cluster, namespace, volume, directory / name))
        for volume in pod["volumes"]
    }
    return start_program(
        program,
        *[_at_its_place(argument, moved) for argument in pod["containers"][0]["args"]],
        log_directory=directory / "logs",
        port=port,
        environment={"KUBECONFIG": str(account)},
        wait=wait,
    )


def _copied(cluster: Cluster, namespace: str, volume: Object, directory: Path) -> Path:
    """A volume as a local folder with the files that a kubelet would put there."""
    folder = directory / str(volume["name"])
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    if "configMap" in volume:
        read = cluster.get(
            f"/api/v1/namespaces/{namespace}/configmaps/{volume['configMap']['name']}"
        )
        files = {name: text.encode() for name, text in read["data"].items()}
    elif "secret" in volume:
        read = cluster.get(
            f"/api/v1/namespaces/{namespace}/secrets/{volume['secret']['secretName']}"
        )
        files = {name: base64.b64decode(text) for name, text in read["data"].items()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def _at_its_place(argument: str, moved: dict[str, str]) -> str:
    """`--config=/etc/adapter/config.yaml` with the folder that /etc/adapter has become."""
    flag, _, value = argument.partition("=")
    for mounted, folder in moved.items():
        if value.startswith(mounted + "/"):
            return f"{flag}={folder}{value.removeprefix(mounted)}"
    return argument
