"""Runs a command of `loadline-adapter`, which is in the same wheel. The two programs share no code, so as a process."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kubectl_loadline.cluster.flags import Cluster


async def run_adapter(command: str, arguments: Sequence[str], *, stdin: bytes | None = None) -> int:
    """The exit code; it writes to this process's stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # never import a folder named adapter from the working directory
        "-m",
        "adapter",
        command,
        *arguments,
        stdin=None if stdin is None else asyncio.subprocess.PIPE,
    )
    try:
        await process.communicate(stdin)
    except asyncio.CancelledError:
        process.terminate()
        raise
    return process.returncode or 0


def cluster_arguments(cluster: Cluster) -> list[str]:
    """The flags with which the adapter's commands use the same kubeconfig and context."""
    arguments = []
    home = Path(os.environ.get("HOME", "/")) / ".kube" / "config"
    if cluster.kubeconfig is not None:
        arguments.append(f"--kubeconfig={cluster.kubeconfig}")
    elif os.environ.get("KUBECONFIG"):
        arguments.append(f"--kubeconfig={os.environ['KUBECONFIG']}")
    elif home.is_file():
        arguments.append(f"--kubeconfig={home}")
    if cluster.context is not None:
        arguments.append(f"--context={cluster.context}")
    return arguments
