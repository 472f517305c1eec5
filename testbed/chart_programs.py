"""Run the program of a Deployment as a local process with the arguments, files and permissions of its pod.

There is no kubelet to run the pod, so a local process takes its place. It gets the container's arguments, the files
of its ConfigMaps and Secrets, and a token of its ServiceAccount, so it has exactly the permissions of the pod.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from testbed import ports
from testbed.cluster import Cluster
from testbed.programs import (
    REPOSITORY,
    LoadlineProcess,
    start_program,
    start_prometheus_adapter,
)

Object = dict[str, Any]


def start_chart_program(
    cluster: Cluster,
    program: Literal["adapter", "scaler"],
    *,
    namespace: str,
    release: str,
    directory: Path,
    port: int | None = None,
    repository: Path = REPOSITORY,
    wait: bool = True,
) -> LoadlineProcess:
    """Start the program of `release` on `port`, where the chart's ExternalName Service expects it.

    `repository` is the directory with the program's code.
    """
    # The rule of both charts.
    chart = f"loadline-{program}"
    name = release if chart in release else f"{release}-{chart}"
    pod = pod_of(cluster, namespace, name)
    return start_program(
        program,
        *container_arguments(cluster, namespace, pod, directory / name),
        log_directory=directory / "logs",
        port=port,
        environment={"KUBECONFIG": str(_identity(cluster, namespace, pod))},
        repository=repository,
        wait=wait,
    )


def start_adapter_of(
    cluster: Cluster,
    name: str,
    *,
    namespace: str,
    directory: Path,
    addresses: Mapping[str, str],
    port: int | None = None,
) -> LoadlineProcess:
    """Start the adapter of the Deployment: Loadline's or prometheus-adapter, by the image of its first container.

    `addresses` maps URLs that only a pod can reach to those of local servers.
    """
    pod = pod_of(cluster, namespace, name)
    image: str = pod["containers"][0]["image"]
    port = port or ports.reserve()
    arguments = container_arguments(cluster, namespace, pod, directory / f"{name}-{port}")
    for inside, outside in addresses.items():
        arguments = [argument.replace(inside, outside) for argument in arguments]
    identity, logs = _identity(cluster, namespace, pod), directory / "logs"
    if "loadline" in image:
        environment = {"KUBECONFIG": str(identity)}
        return start_program(
            "adapter", *arguments, log_directory=logs, port=port, environment=environment
        )
    uses = ("lister", "authentication", "authorization")
    flags = [
        *[argument for argument in arguments if argument != "/adapter"],
        *[f"--{use}-kubeconfig={identity}" for use in uses],
    ]
    return LoadlineProcess(start_prometheus_adapter(flags, port=port, log_directory=logs), port)


def pod_of(cluster: Cluster, namespace: str, deployment: str) -> Object:
    """The spec of the Deployment's pods."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
    spec: Object = cluster.get(path)["spec"]["template"]["spec"]
    return spec


def _identity(cluster: Cluster, namespace: str, pod: Object) -> Path:
    return cluster.kubeconfig_for_service_account(namespace, pod["serviceAccountName"])


def container_arguments(
    cluster: Cluster, namespace: str, pod: Object, directory: Path
) -> list[str]:
    """The container's arguments, with local folders in place of the mounted ones."""
    local_folders = mounted_volumes(cluster, namespace, pod, directory)
    container = pod["containers"][0]
    return [_with_local_path(argument, local_folders) for argument in container["args"]]


def mounted_volumes(
    cluster: Cluster, namespace: str, pod: Object, directory: Path
) -> dict[str, Path]:
    """By the path in the container: copies of the volumes that it mounts, but for that with the token for kube-apiserver."""
    account = pod.get("serviceAccountName", "default")
    mounts: dict[str, str] = {
        mount["name"]: mount["mountPath"].rstrip("/")
        for mount in pod["containers"][0].get("volumeMounts", [])
    }
    return {
        mounts[volume["name"]]: _copied(cluster, namespace, volume, directory, account)
        for volume in pod.get("volumes", [])
        # The volume that every pod has for kube-apiserver is a projected one too; an identity takes its place.
        if volume["name"] in mounts and ("projected" not in volume or _tokens(volume))
    }


def _copied(
    cluster: Cluster, namespace: str, volume: Object, directory: Path, account: str
) -> Path:
    """Copy a volume to a local folder, with the files that a kubelet would mount into a pod of this ServiceAccount."""
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
    elif "projected" in volume:
        for token in _tokens(volume):
            cluster.wait_for_service_account(namespace, account)
            created = cluster.token(
                namespace,
                account,
                audiences=(token["audience"],),
                seconds=token["expirationSeconds"],
            )
            files[token["path"]] = created.encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def _tokens(volume: Object) -> list[Object]:
    """The tokens for other audiences than kube-apiserver in a projected volume."""
    found = (each.get("serviceAccountToken", {}) for each in volume["projected"]["sources"])
    return [each for each in found if "audience" in each]


def _with_local_path(argument: str, local_folders: dict[str, Path]) -> str:
    """Replace the mount path in `--config=/etc/adapter/config.yaml`, or in a path alone, by its local folder."""
    flag, equals, value = (
        argument.rpartition("=") if argument.startswith("-") else ("", "", argument)
    )
    for mounted, folder in local_folders.items():
        if value == mounted or value.startswith(mounted + "/"):
            return f"{flag}{equals}{folder}{value.removeprefix(mounted)}"
    return argument
