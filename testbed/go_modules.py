"""Modules of the Go module proxy: which versions there are, and their sources in Go's module cache."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from testbed import toolchain

PROXY_DEADLINE_SECONDS = 300.0


class ModuleFailed(Exception):
    """The go command could not read a module; the message has its output and what to do."""


def released_versions(module: str) -> list[str]:
    """The versions of a module without pre-releases, oldest first. Raises ModuleFailed or ToolchainFailed."""
    listed: list[str] = json.loads(_go("list", "-m", "-versions", "-json", module))["Versions"]
    return [version for version in listed if "-" not in version]


def source(module: str, version: str) -> Path:
    """The directory with the sources of `module` at `version`. Raises ModuleFailed or ToolchainFailed."""
    downloaded = json.loads(_go("mod", "download", "-json", f"{module}@{version}"))
    return Path(downloaded["Dir"])


def _go(*arguments: str) -> str:
    """The output of a go command that is about no module of this repository. It may download the Go that a module needs."""
    go = toolchain.choose((1, 20, 0))
    toolchain.prepare(go, lambda _: None)
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [go.command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "auto", "GOWORK": "off"},
            timeout=PROXY_DEADLINE_SECONDS,
        )
    if done.returncode != 0:
        raise ModuleFailed(
            f"go {' '.join(arguments)}: {_cause(done)}\n"
            "Modules come from GOPROXY (`go env GOPROXY`); check that it is reachable and has this version."
        )
    return done.stdout


def _cause(done: "subprocess.CompletedProcess[str]") -> str:
    """What went wrong: with -json, `go mod download` says it in its output."""
    try:
        error = json.loads(done.stdout).get("Error")
    except (ValueError, AttributeError):
        error = None
    return str(error or done.stderr.strip())
