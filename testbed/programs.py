"""Loadline's two programs and the real prometheus-adapter as processes, started as a user would start them."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from testbed import assets, ports, web
from testbed.as_in_a_pod import PodIdentity
from testbed.processes import Process, start

REPOSITORY = Path(__file__).parent.parent
CRD = REPOSITORY / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"
READY_DEADLINE_SECONDS = 30.0
WITHOUT_SYSTEM_CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
"""aiohttp loads them at each start, which takes 45 ms of processor time; the servers of a test have a CA of their own."""


class LoadlineProcess(msgspec.Struct, frozen=True):
    """A running `python -m adapter` or `python -m scaler`."""

    process: Process
    port: int  # HTTPS on 127.0.0.1

    @property
    def url(self) -> str:
        """The URL of its HTTPS listener."""
        return f"https://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> web.Response:
        """GET without certificate verification. Raises ProcessFailed when there is no response."""
        response = web.get(self.port, path, tls=web.trusting(None), headers=headers)
        if response is None:
            raise self.process.failed(f"no response to GET {path}")
        return response

    def wait_until_ready(self, deadline_seconds: float = READY_DEADLINE_SECONDS) -> None:
        """Wait until /readyz succeeds. Raises ProcessFailed at the deadline."""
        tls = web.trusting(None)
        self.process.wait_until(
            lambda: web.is_ok(self.port, "/readyz", tls=tls),
            what="/readyz",
            deadline_seconds=deadline_seconds,
        )

    def stop(self) -> int:
        """Stop it as Kubernetes would (SIGTERM); returns the exit code."""
        code = self.process.stop()
        ports.release(self.port)
        return code

    def kill(self) -> int:
        """Kill it (SIGKILL); returns the exit code."""
        code = self.process.kill()
        ports.release(self.port)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_program(
    program: Literal["adapter", "scaler"],
    *flags: str,
    log_directory: Path,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    repository: Path = REPOSITORY,
    identity: PodIdentity | None = None,
    wait: bool = True,
    ready_deadline_seconds: float = READY_DEADLINE_SECONDS,
) -> LoadlineProcess:
    """Start `python -m <program> --secure-port=... --bind-address=127.0.0.1 <flags>` and wait for /readyz.

    `repository` is the checkout with the program's code. With `identity`, it runs as in a pod.
    """
    port = port or ports.reserve()
    environment = {**WITHOUT_SYSTEM_CERTIFICATES, **(environment or {})}
    command: list[str | Path] = [
        sys.executable,
        "-m",
        program,
        *flags,
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
    ]
    if identity:
        command = identity.command(command)
        environment = {**identity.environment, **environment}
    process = start(
        program,
        command,
        log_path=log_directory / f"{program}-{port}.log",
        environment=environment,
        directory=repository,
    )
    started = LoadlineProcess(process, port)
    if wait:
        try:
            started.wait_until_ready(ready_deadline_seconds)
        except BaseException:
            started.stop()
            raise
    return started


def start_prometheus_adapter(flags: Sequence[str], *, port: int, log_directory: Path) -> Process:
    """Start the real prometheus-adapter on 127.0.0.1 and wait for /readyz. The caller releases the port."""
    command: list[str | Path] = [
        assets.find("prometheus-adapter"),
        *flags,
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
    ]
    log_path = log_directory / f"prometheus-adapter-{port}.log"
    process = start("prometheus-adapter", command, log_path=log_path)
    tls = web.trusting(None)
    try:
        process.wait_until(lambda: web.is_ok(port, "/readyz", tls=tls), what="/readyz")
    except BaseException:
        process.stop()
        raise
    return process
