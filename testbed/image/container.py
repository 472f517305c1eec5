"""A program of the image as a container of a pod runs it: its user, files, arguments and limits are those of the pod."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from testbed.as_in_a_pod import pod_identity
from testbed.chart_programs import mounted_volumes, pod_of
from testbed.cluster import Cluster
from testbed.image.build import Image
from testbed.image.mounts import KERNEL, Mount, mounted
from testbed.processes import start
from testbed.programs import LoadlineProcess

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
UNITS = {"Mi": 2**20, "Gi": 2**30}


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """What a container engine is given. Nothing but what is mounted is writable."""

    image: Image
    command: Sequence[str] = ()  # instead of the entrypoint
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = {}
    mounts: Sequence[Mount] = ()
    memory_bytes: int = 0  # 0: no limit

    def command_line(self) -> list[str]:
        """A command whose process becomes that of the program.

        The limit is stricter than that of a container: it is on what is allocated (RLIMIT_DATA), also if it is never used.
        """
        variables = {**self.image.environment, **self.environment}
        return [
            *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
            *("prlimit", f"--data={self.memory_bytes or 'unlimited'}"),
            *mounted(self.image.root, [*KERNEL, *self.mounts], read_only_root=True),
            *("unshare", f"--root={self.image.root}", f"--wd={self.image.directory}"),
            *_user(self.image.user),
            *(self.command or self.image.entrypoint),
            *self.arguments,
        ]

    def run(self) -> "subprocess.CompletedProcess[str]":
        """Run it until it exits."""
        return subprocess.run(
            self.command_line(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def container_of_chart(
    image: Image, cluster: Cluster, deployment: str, *, namespace: str, directory: Path
) -> Container:
    """The only container of the Deployment's pods, with copies of its volumes in `directory`."""
    pod = pod_of(cluster, namespace, deployment)
    (container,) = pod["containers"]
    identity = pod_identity(cluster, namespace, pod["serviceAccountName"], directory / "identity")
    read_only = {
        each["mountPath"]: each.get("readOnly", False) for each in container["volumeMounts"]
    }
    mounts = [Mount(ACCOUNT, identity.account, read_only=True)]
    for path, folder in mounted_volumes(cluster, namespace, pod, directory).items():
        folder.chmod(0o755 if read_only[path] else 0o777)
        mounts.append(Mount(path, folder, read_only=read_only[path]))
    user = "{runAsUser}:{runAsGroup}".format(**pod["securityContext"])
    return Container(
        image=msgspec.structs.replace(image, user=user),
        command=container["command"],
        arguments=container["args"],
        environment=identity.environment,
        mounts=mounts,
        memory_bytes=_bytes(container["resources"]["limits"]["memory"]),
    )


def start_container(container: Container, *, port: int, log_path: Path) -> LoadlineProcess:
    """Start it on 127.0.0.1, and wait for /readyz of the port that its arguments name. The caller has reserved the port."""
    bound = msgspec.structs.replace(
        container, arguments=[*container.arguments, "--bind-address=127.0.0.1"]
    )
    started = LoadlineProcess(start("container", bound.command_line(), log_path=log_path), port)
    try:
        started.wait_until_ready()
    except BaseException:
        started.stop()
        raise
    return started


def _user(user: str) -> list[str]:
    """What runs the rest of a command as that user, with no privileges and no way to get some."""
    uid, gid = user.split(":")
    # The kernel forgets the parent death signal when the user changes.
    without = ("setpriv", "--no-new-privs", "--pdeathsig=KILL")
    if os.geteuid():
        return ["--user", f"--map-user={uid}", f"--map-group={gid}", *without]
    capabilities = ("--inh-caps=-all", "--bounding-set=-all")
    return [*without, *capabilities, f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) * UNITS[quantity[-2:]]
