"""Build the missing programs and show progress.

Each program is compiled under its own lock and renamed into place when complete. An interrupted build leaves its
compiled packages in Go's build cache, so the next build continues from there.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from testbed import toolchain
from testbed.assets import (
    BUILD_COMMAND,
    AssetMissing,
    GoProgram,
    WheelProgram,
    find,
    location,
    program,
)
from testbed.cache import locked, published, root
from testbed.processes import dying_with_parent
from testbed.progress import Progress

LOG_TAIL_LINES = 25


class BuildFailed(Exception):
    """A program could not be built; the message has the compiler's output and what to do."""


def build(names: Iterable[str], progress: Progress) -> None:
    """Build each named program that is missing. Raises BuildFailed, AssetMissing or ToolchainFailed."""
    for name in names:
        match program(name):
            case WheelProgram():
                progress.ready(name, find(name))
            case GoProgram() as what:
                _build_go(what, progress)


def _build_go(what: GoProgram, progress: Progress) -> None:
    path = location(what.name)
    if os.access(path, os.X_OK):
        progress.ready(what.name, path)
        return
    go = toolchain.choose(toolchain.required_by(what.directory))
    with progress.working(what.name) as step:
        toolchain.prepare(go, step.say)
        with locked(f"{what.name}-build", on_wait=step.say):
            if os.access(path, os.X_OK):
                return  # built by the process that held the lock
            step.say(
                f"compiling {what.package} with {go.version}: not in the cache yet"
                f" (about {what.expected_seconds} s on two cores, once)"
            )
            with published(path) as unfinished:
                _compile(what, go, unfinished, step.show)


def go_environment(temporary: Path) -> dict[str, str]:
    """Settings for a reproducible build: no C compiler, no other toolchain, no workspace."""
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTMPDIR": str(temporary),
    }


def _compile(
    what: GoProgram, go: toolchain.Toolchain, output: Path, show: Callable[[str], None]
) -> None:
    temporary = root() / "tmp" / what.name
    shutil.rmtree(temporary, ignore_errors=True)  # left by a killed build
    temporary.mkdir(
        parents=True, exist_ok=True
    )  # a linker may outlive its killed build by a moment
    log_path = root() / "logs" / f"build-{what.name}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [
        "nice",
        "-n",
        "10",
        go.command,
        "build",
        "-C",
        what.directory,
        "-v",
    ]
    command += ["-tags", ",".join(what.tags), "-ldflags", what.ldflags, "-o", output, what.package]
    lines: list[str] = []
    with (
        log_path.open("w") as log,
        subprocess.Popen(
            dying_with_parent(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=go_environment(temporary),
        ) as compiler,
    ):
        assert compiler.stdout is not None  # noqa: S101  for the type checker: stdout is a pipe
        for line in compiler.stdout:
            log.write(line)
            lines.append(line.rstrip())
            show(line.strip())
    shutil.rmtree(temporary, ignore_errors=True)
    if compiler.returncode != 0:
        tail = "\n".join(lines[-LOG_TAIL_LINES:])
        raise BuildFailed(
            f"{what.name} could not be built (exit code {compiler.returncode}):\n{tail}\n"
            f"The full output is in {log_path}. Modules come from GOPROXY (`go env GOPROXY`).\n"
            f"Then run it again; it continues where it stopped: {BUILD_COMMAND}"
        )


__all__ = ["AssetMissing", "BuildFailed", "build"]
