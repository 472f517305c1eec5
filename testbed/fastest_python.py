"""Print the path of the Python that the development environment is made from.

It is the first `python3` on the PATH that is new enough, or another one of its version that is clearly faster. One that was compiled
without profile-guided optimization, as pyenv does by default, needs a quarter more processor time for the tests than one of
a distribution. With `PYTHON=/path/to/python3`, make uses that one.

Any Python 3.8 can run this file, and it needs no package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Less is chance. The difference by profile-guided optimization is 0.7 to 0.8.
FASTER_RATIO = 0.9
# One after the other, so that a moment in which the machine is slow does not decide.
ROUNDS = 4
# Without `ensurepip`, no environment can be made. The shortest of several runs of 10 ms counts.
PROBE = """
import ensurepip, sys, time, venv
if sys.version_info < (3, 11):
    sys.exit(1)
def work(n):
    found = {}
    for i in range(n):
        found[str(i % 97)] = found.get(str(i % 89), 0) + i
    return sorted(found.values())
def seconds():
    began = time.process_time()
    work(30_000)
    return time.process_time() - began
print(sys.executable, sys.version_info[1], min(seconds() for _ in range(8)), sep="\\n")
"""


class Interpreter(NamedTuple):
    """A Python: its path, its minor version, and the seconds that it needs for the probe."""

    path: str
    minor: int
    seconds: float


def fastest(interpreters: Sequence[Interpreter]) -> Interpreter:
    """The first one, or the fastest one of its version if that is clearly faster."""
    first = interpreters[0]
    of_version = [each for each in interpreters if each.minor == first.minor]
    best = min(of_version, key=lambda each: each.seconds)
    return best if best.seconds < FASTER_RATIO * first.seconds else first


def on_path(directories: str) -> list[Interpreter]:
    """Each `python3` that is new enough and can make environments, in the order of these directories."""
    found: dict[str, Interpreter] = {}
    for directory in ROUNDS * directories.split(os.pathsep):
        probed = _probed(Path(directory) / "python3")
        if probed:
            path = os.path.realpath(probed.path)
            known = found.get(path, probed)
            found[path] = known._replace(seconds=min(known.seconds, probed.seconds))
    return list(found.values())


def _probed(path: Path) -> Interpreter | None:
    if not os.access(path, os.X_OK):
        return None
    probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return None
    executable, minor, seconds = probe.stdout.splitlines()
    return Interpreter(executable, int(minor), float(seconds))


if __name__ == "__main__":
    found = on_path(os.environ.get("PATH", ""))
    sys.stdout.write(f"{fastest(found).path if found else 'python3'}\n")
