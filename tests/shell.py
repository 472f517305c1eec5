"""Runs the shell blocks of the documents as a user would, in a folder of its own."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.documented_blocks import ROOT

NOT_RUN = {
    r"port-forward|\blogs\b": "needs a kubelet",
    r"^docker |^kind ": "needs a container runtime",
    r"^pipx install ": "installs programs for the user",
    r"^helm install .* --repo https:": "downloads a chart from the Internet",
    r"^kubectl loadline ui\b": "runs until the user stops it",
}
"""Command lines that are left out of a block, and why. The table of blocks repeats the reason."""

_NOT_RUN = re.compile("|".join(NOT_RUN))
_MODULES = {
    "loadline-adapter": "adapter",
    "loadline-scaler": "scaler",
    "kubectl-loadline": "kubectl_loadline.program",
}


class CommandFailed(Exception):
    """A command of the block failed; the message has its output."""


def lines_not_run(block: str) -> list[str]:
    """The command lines of a block that a `Shell` leaves out."""
    return [line for line in block.splitlines() if _NOT_RUN.search(line)]


class Shell:
    """A user's shell, with Loadline's programs on its PATH."""

    def __init__(
        self,
        directory: Path,
        *,
        programs: Mapping[str, Sequence[str | Path]],
        environment: Mapping[str, str] | None = None,
        replacements: Mapping[str, str] | None = None,
    ) -> None:
        """`programs`: further commands by their name; `replacements`: texts of a block, and what this user writes instead."""
        self.directory = directory
        self._replacements = {
            "charts/": f"{ROOT}/charts/",
            ".venv/bin/python": sys.executable,
            **(replacements or {}),
        }
        self._programs = directory / "bin"
        self._programs.mkdir(parents=True, exist_ok=True)
        for name, module in _MODULES.items():
            self._add(name, sys.executable, "-m", module)
        for name, command in programs.items():
            self._add(name, *command)
        self._environment = {
            **os.environ,
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            **(environment or {}),
        }

    def _add(self, name: str, *command: str | Path) -> None:
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n')
        path.chmod(0o755)

    def run(self, block: str) -> str:
        """Run a block, without the lines of `NOT_RUN`, and return its output.

        Raises CommandFailed at the first command that fails.
        """
        left_out = lines_not_run(block)
        lines = [line for line in block.splitlines() if line not in left_out]
        script = "\n".join(lines)
        for text, own in self._replacements.items():
            script = script.replace(text, own)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.directory,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandFailed(f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout
