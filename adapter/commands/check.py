"""`loadline-adapter check FILE`: every fault of a configuration at once, for people and for CI."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapter.config import ConfigError, load
from wire.serving.flags import FlagParser

OK: Final = 0
FAULTY: Final = 2


def check(arguments: Sequence[str]) -> int:
    """Print what is wrong with a configuration file; returns the exit code."""
    parser = FlagParser(
        prog="loadline-adapter check",
        description="Find the faults of a configuration file, without a cluster or Prometheus. "
        "Exit code 0: it can be used; 2: it cannot.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file given to --config")
    file = parser.parse_args(arguments).file
    try:
        configuration = load(file)
    except ConfigError as error:
        count = len(error.problems)
        print(error, file=sys.stderr)
        print(f"{count} {'fault' if count == 1 else 'faults'} in {file}", file=sys.stderr)
        return FAULTY
    for warning in configuration.warnings:
        print(f"{file}: warning: {warning}")
    print(f"{file} can be used: {len(configuration.rules)} rules")
    return OK
