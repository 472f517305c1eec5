"""Run the program of an installed chart as a local process with the chart's arguments, files and permissions.

There is no kubelet to run the pod, so a local process takes its place. It gets the container's arguments, the files
of its ConfigMaps and Secrets, and a token of its ServiceAccount, so it has exactly the chart's permissions.
"""

import base64
from pathlib import Path
from typing import Any, Literal

from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess, start_program

Object = dict[str, Any]


def start_chart_program(
    cluster: Cluster,
    program: Literal["adapter", "scaler"],
    *,
    namespace: str,
    release: str,
    directory: Path,
    port: int | None = None,
    wait: bool = True,
) -> LoadlineProcess:
    """Start the program of `release` on `port`, where the chart's ExternalName Service expects it."""
    name = f"{release}-loadline-{program}"
    deployment = cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    pod: Object = deployment["spec"]["template"]["spec"]
    account = cluster.kubeconfig_for_service_account(namespace, pod["serviceAccountName"])
    mounts: dict[str, str] = {
        mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]
    }
    local_folders = {
        mounts[volume["name"]]: str(_copied(cluster, namespace, volume, directory / name))
        for volume in pod["volumes"]
    }
    return start_program(
        program,
        *[_with_local_path(argument, local_folders) for argument in pod["containers"][0]["args"]],
        log_directory=directory / "logs",
        port=port,
        environment={"KUBECONFIG": str(account)},
        wait=wait,
    )


def _copied(cluster: Cluster, namespace: str, volume: Object, directory: Path) -> Path:
    """Copy a volume to a local folder, with the files that a kubelet would mount."""
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


def _with_local_path(argument: str, local_folders: dict[str, str]) -> str:
    """Replace the mount path in a flag such as `--config=/etc/adapter/config.yaml` by its local folder."""
    flag, _, value = argument.partition("=")
    for mounted, folder in local_folders.items():
        if value.startswith(mounted + "/"):
            return f"{flag}={folder}{value.removeprefix(mounted)}"
    return argument
