"""Vectors that another project's own code makes: its program is built here, and answers cases from stdin."""

import subprocess
from pathlib import Path
from typing import TypeVar

import msgspec

from testbed import toolchain, vectors
from testbed.build import go_environment
from testbed.cache import locked, root

VECTORS = Path(__file__).parents[2] / "tests" / "conformance" / "scaler"

T = TypeVar("T")


def answered(source: Path, cases: T, as_type: type[T]) -> T:
    """The cases with the results of the Go program in the directory `source`, which is built first."""
    given = msgspec.json.encode(cases)
    done = subprocess.run([_built(source)], input=given, capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=as_type)


def write(name: str, lines: list[T]) -> None:
    """One JSON document per line."""
    vectors.store(VECTORS / name, map(msgspec.json.encode, lines))


def read(name: str, as_type: type[T]) -> list[T]:
    """The lines of a recorded file."""
    return [msgspec.json.decode(line, type=as_type) for line in vectors.lines(VECTORS / name)]


def _built(source: Path) -> Path:
    place = root() / "oracle" / source.name
    place.mkdir(parents=True, exist_ok=True)
    go = toolchain.choose(toolchain.required_by(source))
    toolchain.prepare(go, print)
    with locked(f"oracle-{source.name}", on_wait=print):
        command: list[str | Path] = ["nice", go.command, "build", "-C", source]
        command += ["-o", place / "oracle", "."]
        subprocess.run(command, env=go_environment(place), check=True)
    return place / "oracle"
