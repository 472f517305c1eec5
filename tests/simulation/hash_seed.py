"""The order of a set of texts depends on PYTHONHASHSEED: with the same one, a seed is the same run each time."""

import os
import sys


def fix_hash_seed(module: str) -> None:
    """Start `python -m module` again with PYTHONHASHSEED=0, unless it has it."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})
