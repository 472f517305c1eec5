"""The order of a set of texts depends on PYTHONHASHSEED: with the same one, a seed is the same run each time."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "PYTHONHASHSEED"
FIXED = "0"


def fix_hash_seed(module: str) -> None:
    """Start `python -m module` again with PYTHONHASHSEED=0, unless it has it."""
    if os.environ.get(VARIABLE) != FIXED:
        restart([sys.executable, "-m", module, *sys.argv[1:]])


def restart(command: Sequence[str]) -> None:
    """Replace this process by the command, with PYTHONHASHSEED=0."""
    os.execve(command[0], list(command), {**os.environ, VARIABLE: FIXED})


def is_random(program: str, environment: Mapping[str, str]) -> bool:
    """Whether `program`, the path in `sys.argv`, is a pytest whose sets have another order each time.

    A program that runs pytest within its own process fixes the order itself.
    """
    path = Path(program)
    is_pytest = path.name == "pytest" or path.parent.name == "pytest"
    return is_pytest and environment.get(VARIABLE, "random") == "random"
