"""Runs a command of `loadline-adapter`, which is in the same wheel. The two programs share no code, so as a process."""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from kubectl_loadline.cluster.connecting import Session
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.cluster.port_forward import ForwardedPort
from kubectl_loadline.cluster.programs import pods_of, tunnel
from kubectl_loadline.cluster.server_identity import identity_of_adapter
from kubectl_loadline.terminal.documents import JSON, is_document, print_document
from kubectl_loadline.terminal.progress import ProgressLine


async def run_adapter(
    command: str,
    arguments: Sequence[str],
    *,
    output: str,
    progress: ProgressLine,
    stdin: bytes | None = None,
) -> int:
    """The exit code; what it prints is printed when it has ended, in the format `output` of `-o`."""
    shown = [*arguments, f"--output={JSON if is_document(output) else output}"]
    code, printed, messages = await adapter_output(command, shown, progress=progress, stdin=stdin)
    sys.stderr.write(messages.decode())
    if printed and is_document(output):
        print_document(output, printed)
    else:
        sys.stdout.write(printed.decode())
    return code


async def adapter_output(
    command: str, arguments: Sequence[str], *, progress: ProgressLine, stdin: bytes | None = None
) -> tuple[int, bytes, bytes]:
    """The exit code, and what it prints to stdout and to stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # never import a folder named adapter from the working directory
        "-m",
        "adapter",
        command,
        *arguments,
        stdin=None if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with progress.waiting_for(f"loadline-adapter {command}"):
            printed, messages = await process.communicate(stdin)
    except asyncio.CancelledError:
        # Ctrl-C ends it, too, as the terminal sends it to both.
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        raise
    return process.returncode or 0, printed, messages


@contextlib.asynccontextmanager
async def adapter_arguments(
    session: Session, adapter: RunningProgram, *, skips_verification: bool
) -> AsyncIterator[tuple[ForwardedPort, list[str]]]:
    """A port that is forwarded to the running adapter, and the flags with which `explain` reaches and verifies it.

    Raises `Unreachable`, also if its certificate cannot be verified.
    """
    verification = ["--insecure-skip-tls-verify"]
    with tempfile.TemporaryDirectory(prefix="loadline-") as folder:
        if not skips_verification:
            identity = await identity_of_adapter(session, adapter)
            ca_file = Path(folder) / "adapter-ca.crt"
            ca_file.write_text(identity.ca_pem)
            verification = [f"--ca-file={ca_file}", f"--tls-server-name={identity.server_name}"]
        pod, *_ = await pods_of(session, adapter)
        async with tunnel(session, adapter, pod) as forward:
            yield forward, [f"--server=https://127.0.0.1:{forward.local_port}", *verification]


def cluster_arguments(cluster: Cluster) -> list[str]:
    """The flags with which the adapter's commands use the same kubeconfig and the same entries of it."""
    kubeconfig = cluster.used_kubeconfig
    named = [] if kubeconfig is None else [f"--kubeconfig={kubeconfig}"]
    return [*named, *cluster.context.flags()]
